// What lies on a topic may be damaged, and stays so: whoever must come to a decision all the same takes that in words.

import { ForecastnetError } from "../runtime/errors.ts";

/** What `act` gives, or the message of an error that trying again cannot mend. */
export async function orWhyNot<T>(act: () => T | Promise<T>): Promise<T | string> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof ForecastnetError) || error.retryable) throw error;
    return error.message;
  }
}
