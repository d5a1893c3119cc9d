// Tokens for OAUTHBEARER: from a file that another program keeps up to date, or from an OpenID Connect token endpoint
// with the client-credentials grant (RFC 6749, section 4.4).

import type { Clock } from "../../../runtime/clock.ts";
import { type HttpAnswer, objectIn, sendHttp } from "../../../runtime/http-request.ts";
import { type BearerLogin, type Expiring, LoginFailure, Renewed } from "./login.ts";

type Extensions = BearerLogin["extensions"];

/** `read` returns the current content of the file. */
export function fileLogin(read: () => string, extensions: Extensions, clock: Clock): BearerLogin {
  return {
    mechanism: "oauthbearer",
    extensions,
    async token() {
      const token = read();
      const expiresMs = expiryOf(token);
      if (expiresMs === null || expiresMs > clock.nowMs()) return token;
      const since = new Date(expiresMs).toISOString();
      throw new LoginFailure(
        `the token in the file kafka.sasl.oauth.tokenFile expired at ${since}: replace the file`,
        true,
      );
    },
    // Only another token in the file can help, so the refusal is reported.
    refused: () => false,
  };
}

export interface ClientCredentials {
  readonly tokenUrl: string;
  readonly clientId: string;
  /** Read for every request, like `ca`, so a getter can supply rotated secrets. */
  readonly clientSecret: string;
  /** Where the endpoint expects id and secret: in the header or in the form. */
  readonly clientAuth: "basic" | "post";
  readonly scope: string;
  /** Additional form fields. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly ca?: string | undefined;
  readonly timeoutMs: number;
}

export function clientCredentialsLogin(
  settings: ClientCredentials,
  extensions: Extensions,
  clock: Clock,
): BearerLogin {
  let isFresh = false;
  const tokens = new Renewed(async () => {
    const fetched = await requestToken(settings, clock);
    isFresh = true;
    return fetched;
  }, clock);
  return {
    mechanism: "oauthbearer",
    extensions,
    async token() {
      isFresh = false;
      return tokens.get();
    },
    /** A token that was accepted before may have been revoked, or its key replaced. A new one may be accepted. */
    refused() {
      tokens.drop();
      return !isFresh;
    },
  };
}

async function requestToken(settings: ClientCredentials, clock: Clock): Promise<Expiring<string>> {
  const { tokenUrl, clientId, clientSecret, clientAuth, scope, parameters, ca, timeoutMs } = settings;
  const where = `token endpoint ${tokenUrl}`;
  const form = new URLSearchParams({ grant_type: "client_credentials", ...parameters });
  if (scope !== "") form.set("scope", scope);
  const headers: Record<string, string> = {
    accept: "application/json",
    "content-type": "application/x-www-form-urlencoded",
  };
  if (clientAuth === "post") {
    form.set("client_id", clientId);
    form.set("client_secret", clientSecret);
  } else headers.authorization = basic(clientId, clientSecret);
  const askedMs = clock.nowMs();
  const answer = await sendHttp({
    method: "POST",
    url: tokenUrl,
    headers,
    body: form.toString(),
    ca,
    timeoutMs,
  }).catch((error: unknown) => {
    throw new LoginFailure(`${where} cannot be reached: ${(error as Error).message}`, true, error);
  });
  return readToken(answer, askedMs, (why, isRetriable) => {
    const redacted = why.replaceAll(clientSecret, "***").replaceAll(encodeURIComponent(clientSecret), "***");
    return new LoginFailure(`${where} gave no token for client ${clientId}: ${redacted}`, isRetriable);
  });
}

/** Both parts are form-encoded before they are joined (RFC 6749, section 2.3.1). */
function basic(clientId: string, clientSecret: string): string {
  const encode = (text: string) => new URLSearchParams({ "": text }).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString("base64")}`;
}

function readToken(
  { status, body }: HttpAnswer,
  askedMs: number,
  failure: (why: string, isRetriable: boolean) => LoginFailure,
): Expiring<string> {
  const fields = objectIn(body);
  const { access_token: token, expires_in: lifeSeconds } = fields;
  if (status !== 200) {
    const { error, error_description: description } = fields;
    const why = [error, description].filter((part) => typeof part === "string").join(", ");
    const isRetriable = status === 408 || status === 429 || status >= 500;
    throw failure(`it answered ${status}${why === "" ? "" : `: ${why.slice(0, 300)}`}`, isRetriable);
  }
  if (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token)) {
    throw failure("its answer has no access_token; is this the address of the token endpoint?", false);
  }
  const stated = Number(lifeSeconds ?? Number.NaN);
  const expiresMs = Number.isFinite(stated) ? askedMs + stated * 1000 : expiryOf(token);
  return { value: token, expiresMs: expiresMs ?? askedMs + unstatedLifeMs };
}

/** How long a token without a stated lifetime is used. */
const unstatedLifeMs = 60_000;

/** The expiry of a JSON web token; null for any other token. */
function expiryOf(token: string): number | null {
  const [, claims] = token.split(".");
  if (claims === undefined) return null;
  const { exp } = objectIn(Buffer.from(claims, "base64url").toString("utf8"));
  return typeof exp === "number" ? exp * 1000 : null;
}
