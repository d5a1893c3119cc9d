// Training works on its thread for as long as it takes; here messages get their turn, a cancellation among them.

export function breathe(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
