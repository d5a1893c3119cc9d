// One HTTP request to another service. Unlike the built-in fetch it accepts a certificate authority. Every request has its
// own connection, a time limit and a size limit for the answer. Redirects are not followed, because a request may carry a
// secret.

import { type RequestOptions, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Certificate authority (PEM) instead of the system's. */
  readonly ca?: string | undefined;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

const mostAnswerBytes = 4 * 1024 * 1024;

/** Rejects when there is no answer, or none in time. */
export function sendHttp({ url, body, timeoutMs, signal, ...given }: HttpRequest): Promise<HttpAnswer> {
  const limit = AbortSignal.timeout(timeoutMs);
  const { method, headers, ca } = given;
  const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
  const options: RequestOptions & { ca?: string } = {
    method,
    headers: { ...headers, ...length },
    agent: false,
    signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    ...(ca === undefined ? {} : { ca }),
  };
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      if (signal?.aborted) reject(named(signal.reason));
      else if (limit.aborted) reject(new Error(`no answer within ${timeoutMs} ms`, { cause: error }));
      else reject(named(error));
    };
    try {
      const send = new URL(url).protocol === "https:" ? requestHttps : requestHttp;
      const request = send(url, options, (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on("data", (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > mostAnswerBytes)
            request.destroy(new Error(`the answer is larger than ${mostAnswerBytes} bytes`));
          else chunks.push(chunk);
        });
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8") }),
        );
        response.on("error", fail);
      });
      request.on("error", fail);
      request.end(body);
    } catch (error) {
      fail(error);
    }
  });
}

/** The error of a host with several addresses has no message of its own, only one per address. */
function named(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  const [first] = error instanceof AggregateError ? error.errors : [];
  return error.message === "" && first instanceof Error ? new Error(first.message, { cause: error }) : error;
}

/** The fields of a JSON object. Any other text has none, so that the caller reports the missing field. */
export function objectIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null ? { ...parsed } : {};
  } catch {
    return {};
  }
}
