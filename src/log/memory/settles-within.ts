/** Whether the promise settles in time. */
export function settlesWithin(ms: number, settled: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms);
    const answer = () => {
      clearTimeout(timer);
      resolve(true);
    };
    settled.then(answer, answer);
  });
}
