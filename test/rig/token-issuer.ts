// An OpenID Connect issuer on loopback: a token endpoint for client credentials, the keys to check its tokens by, and
// the settings with which a real broker accepts them.

import { createSign, generateKeyPairSync, type KeyObject } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { BrokerOptions } from "./kafka-broker.ts";

const audience = "kafka";
const issuer = "forecastnet-tests";

export interface TokenRequest {
  readonly authorization: string | undefined;
  readonly form: URLSearchParams;
}

export class TokenIssuer {
  readonly requests: TokenRequest[] = [];
  /** How many tokens the endpoint has given out. */
  issued = 0;
  lifeSeconds = 300;
  /** Expected of a client; both are changed at will. */
  client = { id: "forecastnet", secret: "s3cret+/ for the endpoint" };
  /** Answers in place of a token, while it is set. */
  failure: { readonly status: number; readonly body: string } | null = null;
  readonly #keys = generateKeyPairSync("rsa", { modulusLength: 2048 });
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  static async start(): Promise<TokenIssuer> {
    const started = new TokenIssuer();
    await new Promise<void>((resolve) => started.#server.listen(0, "127.0.0.1", resolve));
    return started;
  }

  get tokenUrl(): string {
    return `${this.#url}/token`;
  }

  get #url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** A token as the endpoint gives it out; signed with another key it is a forgery. */
  sign(subject: string, lifeSeconds = this.lifeSeconds, key: KeyObject = this.#keys.privateKey): string {
    const nowSeconds = Math.floor(Date.now() / 1000);
    const header = { alg: "RS256", typ: "JWT", kid: "first" };
    const times = { iat: nowSeconds, exp: nowSeconds + lifeSeconds };
    const claims = { iss: issuer, aud: audience, sub: subject, scope: "kafka", ...times };
    const signed = [header, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
      .join(".");
    return `${signed}.${createSign("RSA-SHA256").update(signed).sign(key, "base64url")}`;
  }

  /** A broker that lets in the bearers of our tokens, `superUser` with all rights, and asks for a new one in time. */
  brokerOptions(superUser: string): BrokerOptions {
    const jwks = `${this.#url}/keys`;
    const listener = "listener.name.sasl_plaintext";
    const oauth = "org.apache.kafka.common.security.oauthbearer";
    return {
      users: [],
      settings: {
        "sasl.enabled.mechanisms": "PLAIN,OAUTHBEARER",
        [`${listener}.oauthbearer.sasl.jaas.config`]: `${oauth}.OAuthBearerLoginModule required;`,
        [`${listener}.oauthbearer.sasl.server.callback.handler.class`]: `${oauth}.OAuthBearerValidatorCallbackHandler`,
        [`${listener}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url`]: jwks,
        [`${listener}.oauthbearer.sasl.oauthbearer.expected.audience`]: audience,
        [`${listener}.oauthbearer.sasl.oauthbearer.expected.issuer`]: issuer,
        [`${listener}.oauthbearer.sasl.oauthbearer.clock.skew.seconds`]: "0",
        // A session then ends with the token it began with.
        [`${listener}.oauthbearer.connections.max.reauth.ms`]: "3600000",
        "super.users": `User:admin;User:ANONYMOUS;User:${superUser}`,
      },
      java: [`-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=${jwks}`],
    };
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const chunk of request) body += chunk;
    const reply = (status: number, fields: object | string) =>
      response.writeHead(status).end(typeof fields === "string" ? fields : JSON.stringify(fields));
    if (request.url === "/keys") {
      const key = {
        ...this.#keys.publicKey.export({ format: "jwk" }),
        kid: "first",
        use: "sig",
        alg: "RS256",
      };
      return void reply(200, { keys: [key] });
    }
    const form = new URLSearchParams(body);
    const { authorization } = request.headers;
    this.requests.push({ authorization, form });
    if (this.failure !== null) return void reply(this.failure.status, this.failure.body);
    const [id, secret] = credentialsIn(authorization, form);
    if (id !== this.client.id || secret !== this.client.secret) {
      const why = `client ${id} with secret ${secret} is not known`;
      return void reply(401, { error: "invalid_client", error_description: why });
    }
    this.issued += 1;
    return void reply(200, {
      access_token: this.sign(id),
      token_type: "Bearer",
      expires_in: this.lifeSeconds,
    });
  }
}

function credentialsIn(authorization: string | undefined, form: URLSearchParams): readonly (string | null)[] {
  const [, encoded] = /^Basic (.+)$/.exec(authorization ?? "") ?? [];
  if (encoded === undefined) return [form.get("client_id"), form.get("client_secret")];
  const decode = (text: string) => decodeURIComponent(text.replaceAll("+", " "));
  return Buffer.from(encoded, "base64").toString().split(":").map(decode);
}
