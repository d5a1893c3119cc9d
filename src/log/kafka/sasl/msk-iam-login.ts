// Logs in to Amazon MSK with IAM. The OAUTHBEARER token is a URL for kafka-cluster:Connect, signed with the AWS
// credentials of this process (Signature Version 4, in the query). The broker lets IAM check the signature; no
// request goes to the URL. It is the same URL that AWS's own signer for JavaScript creates.
//
// Credentials come from the first source that has any, in the order of AWS's client for Java: environment variables,
// a role by web identity (IRSA), the shared credentials file, a container's endpoint (ECS, EKS Pod Identity), the
// metadata service of an EC2 instance (version 2 only). Variables and addresses are AWS's own. Logins that need a
// browser or another program (SSO, credential_process, chained roles) are not supported.

import { createHash, createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Clock } from "../../../runtime/clock.ts";
import { type HttpAnswer, type HttpRequest, objectIn, sendHttp } from "../../../runtime/http-request.ts";
import { type BearerLogin, type Expiring, LoginFailure, Renewed } from "./login.ts";

/** The longest lifetime that MSK accepts. */
const tokenSeconds = 900;

/** `region` is the region of the cluster. */
export function mskIamLogin(region: string, surroundings: AwsSurroundings): BearerLogin {
  const { clock } = surroundings;
  const credentials = new Renewed(() => awsCredentials(region, surroundings), clock);
  return {
    mechanism: "oauthbearer",
    extensions: {},
    token: async () => mskToken(region, await credentials.get(), clock.nowMs()),
    refused() {
      credentials.drop();
      return false;
    },
  };
}

export function mskToken(region: string, credentials: AwsCredentials, nowMs: number): string {
  const url = presign({
    host: `kafka.${region}.amazonaws.com`,
    path: "/",
    service: "kafka-cluster",
    region,
    query: { Action: "kafka-cluster:Connect" },
    payloadHash: sha256(""),
    credentials,
    nowMs,
    seconds: tokenSeconds,
  });
  // Not signed; brokers log it.
  return Buffer.from(`${url}&User-Agent=forecastnet`).toString("base64url");
}

interface Presigned {
  readonly host: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly service: string;
  readonly region: string;
  readonly payloadHash: string;
  readonly credentials: AwsCredentials;
  readonly nowMs: number;
  /** How long the signature is valid. */
  readonly seconds: number;
}

/** The URL of a GET request with its signature in the query. The host is the only signed header. */
export function presign(request: Presigned): string {
  const { host, path, service, region, credentials, payloadHash, seconds } = request;
  const time = new Date(request.nowMs).toISOString().replace(/[-:]|\.\d+/g, "");
  const day = time.slice(0, 8);
  const scope = `${day}/${region}/${service}/aws4_request`;
  const query = canonicalQuery({
    ...request.query,
    "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
    "X-Amz-Credential": `${credentials.accessKeyId}/${scope}`,
    "X-Amz-Date": time,
    "X-Amz-Expires": String(seconds),
    ...(credentials.sessionToken === null ? {} : { "X-Amz-Security-Token": credentials.sessionToken }),
    "X-Amz-SignedHeaders": "host",
  });
  const canonical = ["GET", path, query, `host:${host}`, "", "host", payloadHash].join("\n");
  const toSign = ["AWS4-HMAC-SHA256", time, scope, sha256(canonical)].join("\n");
  let key: Buffer = Buffer.from(`AWS4${credentials.secretAccessKey}`);
  for (const part of [day, region, service, "aws4_request"]) key = hmac(key, part);
  return `https://${host}${path}?${query}&X-Amz-Signature=${hmac(key, toSign).toString("hex")}`;
}

function canonicalQuery(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${escapeUri(name)}=${escapeUri(value)}`)
    .sort()
    .join("&");
}

/** RFC 3986 escapes more than encodeURIComponent does. */
function escapeUri(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | null;
}

interface AwsSurroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Timeout of one request to an endpoint. */
  readonly timeoutMs: number;
  readonly clock: Clock;
}

type Found = Expiring<AwsCredentials> | null;
/** Returns null if this source is not set up. Throws if it is set up but provides no credentials. */
type CredentialSource = (surroundings: AwsSurroundings, region: string) => Promise<Found>;

export async function awsCredentials(
  region: string,
  surroundings: AwsSurroundings,
): Promise<Expiring<AwsCredentials>> {
  for (const source of sources) {
    const found = await source(surroundings, region);
    if (found !== null) return found;
  }
  const tried =
    "environment variables, a web identity, the shared credentials file, a container's endpoint, instance metadata";
  throw new LoginFailure(`no AWS credentials found; tried ${tried}`, true);
}

const fromEnvironment: CredentialSource = async ({ environment, clock }) => {
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: token } = environment;
  const value = { accessKeyId: id ?? "", secretAccessKey: secret ?? "", sessionToken: token || null };
  return id && secret ? lasting(value, clock) : null;
};

const fromWebIdentity: CredentialSource = async ({ environment, timeoutMs, clock }, region) => {
  const { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: role, AWS_ROLE_SESSION_NAME: name } = environment;
  if (!file || !role) return null;
  const domain = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
  const url =
    environment.AWS_ENDPOINT_URL_STS || environment.AWS_ENDPOINT_URL || `https://sts.${region}.${domain}`;
  const form = new URLSearchParams({
    Action: "AssumeRoleWithWebIdentity",
    Version: "2011-06-15",
    RoleArn: role,
    RoleSessionName: name || "forecastnet",
    WebIdentityToken: await readText(file),
  });
  const { status, body } = await ask(`STS at ${url}`, {
    method: "POST",
    url,
    timeoutMs,
    body: form.toString(),
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });
  const field = (fieldName: string) => new RegExp(`<${fieldName}>([^<]*)</`).exec(body)?.[1] ?? null;
  if (status !== 200) {
    const why = [field("Code"), field("Message")].filter((part) => part !== null).join(", ");
    throw refused(`STS at ${url} refused to let us assume the role ${role}`, status, why);
  }
  const fields = {
    AccessKeyId: field("AccessKeyId"),
    SecretAccessKey: field("SecretAccessKey"),
    Token: field("SessionToken"),
    Expiration: field("Expiration"),
  };
  return readCredentials(`STS at ${url}`, fields, clock);
};

const fromSharedFile: CredentialSource = async ({ environment, clock }) => {
  const path = environment.AWS_SHARED_CREDENTIALS_FILE || join(homedir(), ".aws", "credentials");
  const text = await readFile(path, "utf8").catch(() => null);
  if (text === null) return null;
  const profile = environment.AWS_PROFILE || "default";
  const fields = readProfile(text, profile);
  const { aws_access_key_id: id, aws_secret_access_key: secret, aws_session_token: token } = fields;
  const value = { accessKeyId: id ?? "", secretAccessKey: secret ?? "", sessionToken: token || null };
  return id && secret ? lasting(value, clock) : null;
};

/** The only hosts that may use plain HTTP: loopback, ECS and EKS Pod Identity. */
const trustedHosts = new Set([
  "localhost",
  "127.0.0.1",
  "[::1]",
  "169.254.170.2",
  "169.254.170.23",
  "[fd00:ec2::23]",
]);

const fromContainer: CredentialSource = async ({ environment, timeoutMs, clock }) => {
  const { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: relative, AWS_CONTAINER_CREDENTIALS_FULL_URI: full } =
    environment;
  const url = relative ? `http://169.254.170.2${relative}` : full;
  if (!url) return null;
  const { protocol, hostname } = new URL(url);
  if (protocol !== "https:" && !trustedHosts.has(hostname)) {
    throw new LoginFailure(
      `AWS_CONTAINER_CREDENTIALS_FULL_URI is ${url}; use https or a local address`,
      false,
    );
  }
  const file = environment.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE;
  const token = file ? await readText(file) : environment.AWS_CONTAINER_AUTHORIZATION_TOKEN;
  const where = `container credentials at ${url}`;
  const answer = await ask(where, {
    method: "GET",
    url,
    timeoutMs,
    headers: token ? { authorization: token } : {},
  });
  if (answer.status !== 200) throw refused(where, answer.status, "");
  return readCredentials(where, objectIn(answer.body), clock);
};

const fromInstance: CredentialSource = async ({ environment, timeoutMs, clock }) => {
  if (environment.AWS_EC2_METADATA_DISABLED?.toLowerCase() === "true") return null;
  const base = (environment.AWS_EC2_METADATA_SERVICE_ENDPOINT || "http://169.254.169.254").replace(
    /\/+$/,
    "",
  );
  const latest = `${base}/latest`;
  const token = await sendHttp({
    method: "PUT",
    url: `${latest}/api/token`,
    timeoutMs: Math.min(timeoutMs, 2_000),
    headers: { "x-aws-ec2-metadata-token-ttl-seconds": "300" },
  }).catch(() => null); // Outside EC2, nothing answers there.
  if (token === null || token.status !== 200) return null;
  const where = `instance metadata at ${base}`;
  const get = (path: string) =>
    ask(where, {
      method: "GET",
      url: `${latest}/meta-data/iam/security-credentials/${path}`,
      timeoutMs,
      headers: { "x-aws-ec2-metadata-token": token.body.trim() },
    });
  const roles = await get("");
  if (roles.status === 404) return null;
  const [role] = roles.body.trim().split("\n");
  const answer = roles.status === 200 ? await get(encodeURIComponent(role)) : roles;
  if (answer.status !== 200) throw refused(where, answer.status, "");
  return readCredentials(where, objectIn(answer.body), clock);
};

const sources: readonly CredentialSource[] = [
  fromEnvironment,
  fromWebIdentity,
  fromSharedFile,
  fromContainer,
  fromInstance,
];

/** Credentials without an expiry are read again after this, because they may have changed. */
const lastingMs = 15 * 60_000;

function lasting(value: AwsCredentials, clock: Clock): Found {
  return { value, expiresMs: clock.nowMs() + lastingMs };
}

function readCredentials(where: string, fields: Readonly<Record<string, unknown>>, clock: Clock): Found {
  const { AccessKeyId: id, SecretAccessKey: secret, Token: token, Expiration: expiration } = fields;
  if (typeof id !== "string" || typeof secret !== "string") {
    throw new LoginFailure(`${where} answered without credentials`, true);
  }
  const value = {
    accessKeyId: id,
    secretAccessKey: secret,
    sessionToken: typeof token === "string" ? token : null,
  };
  const expiresMs = typeof expiration === "string" ? Date.parse(expiration) : Number.NaN;
  return Number.isNaN(expiresMs) ? lasting(value, clock) : { value, expiresMs };
}

async function ask(where: string, request: HttpRequest): Promise<HttpAnswer> {
  return sendHttp(request).catch((error: unknown) => {
    throw new LoginFailure(`${where} cannot be reached: ${(error as Error).message}`, true, error);
  });
}

function refused(what: string, status: number, why: string): LoginFailure {
  const isRetriable = status === 408 || status === 429 || status >= 500;
  return new LoginFailure(
    `${what}: it answered ${status}${why === "" ? "" : `: ${why.slice(0, 300)}`}`,
    isRetriable,
  );
}

async function readText(path: string): Promise<string> {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (error) {
    throw new LoginFailure(`file ${path} cannot be read: ${(error as Error).message}`, true, error);
  }
}

/** The keys of one section of an INI file. */
function readProfile(text: string, profile: string): Readonly<Record<string, string | undefined>> {
  const fields: Record<string, string> = {};
  let section = "";
  for (const line of text.split("\n").map((raw) => raw.trim())) {
    const [, heading] = /^\[([^\]]+)\]/.exec(line) ?? [];
    if (heading !== undefined) section = heading.trim();
    const [, name, value] = /^([^#;=\s]+)\s*=\s*(.*)$/.exec(line) ?? [];
    if (section === profile && name !== undefined) fields[name] = value;
  }
  return fields;
}
