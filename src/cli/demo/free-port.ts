// Finds out whether a port can be had.

import { createServer } from "node:net";

/** The port asked for, or 0 (any free one) when it is taken or not allowed. */
export function portOrAny(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE" || error.code === "EACCES") resolve(0);
      else reject(error);
    });
    probe.listen(port, host, () => probe.close(() => resolve(port)));
  });
}
