import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import {
  type ClientCredentials,
  clientCredentialsLogin,
  fileLogin,
} from "../../../../../src/log/kafka/sasl/oidc-token.ts";
import { TokenIssuer } from "../../../../rig/token-issuer.ts";

async function open(t: TestContext, changes: Partial<ClientCredentials> = {}) {
  const issuer = await TokenIssuer.start();
  t.after(() => issuer.close());
  const clock = { now: Date.now(), nowMs: () => clock.now };
  const settings: ClientCredentials = {
    ...{ tokenUrl: issuer.tokenUrl, clientId: issuer.client.id, clientSecret: issuer.client.secret },
    ...{ clientAuth: "basic", scope: "", parameters: {}, timeoutMs: 5_000, ...changes },
  };
  return { issuer, clock, login: clientCredentialsLogin(settings, {}, clock) };
}

function expiryIn(token: string): number {
  return JSON.parse(Buffer.from(token.split(".")[1], "base64url").toString()).exp * 1000;
}

test("a token is fetched with the client credentials, and once for many connections", async (t) => {
  const { issuer, login } = await open(t, { scope: "kafka read", parameters: { audience: "a&b" } });
  const tokens = await Promise.all([login.token(), login.token()]);
  assert.equal(await login.token(), tokens[0]);
  assert.equal(tokens[0], tokens[1]);
  assert.equal(issuer.issued, 1);
  const [{ form, authorization }] = issuer.requests;
  assert.deepEqual(Object.fromEntries(form), {
    ...{ grant_type: "client_credentials", scope: "kafka read", audience: "a&b" },
  });
  assert.match(authorization ?? "", /^Basic /);
});

test("id and secret are sent in the form if the endpoint expects them there", async (t) => {
  const { issuer, login } = await open(t, { clientAuth: "post" });
  await login.token();
  const [{ form, authorization }] = issuer.requests;
  assert.equal(authorization, undefined);
  assert.deepEqual(
    [form.get("client_id"), form.get("client_secret")],
    [issuer.client.id, issuer.client.secret],
  );
});

test("a token is replaced before it expires", async (t) => {
  const { issuer, clock, login } = await open(t);
  const first = await login.token();
  clock.now = expiryIn(first) - 59_000;
  await login.token();
  assert.equal(issuer.issued, 2);
});

test("a token that a broker refuses is replaced, once", async (t) => {
  const { issuer, login } = await open(t);
  await login.token();
  await login.token();
  assert.equal(login.refused(), true, "one that was held may have been revoked");
  await login.token();
  assert.equal(issuer.issued, 2);
  assert.equal(login.refused(), false, "another new one would fare no better");
});

test("a refusal of the endpoint is quoted without the secret", async (t) => {
  const clientSecret = "hunter2 &more";
  for (const clientAuth of ["basic", "post"] as const) {
    const { login } = await open(t, { clientSecret, clientAuth });
    await assert.rejects(login.token(), (error: Error & { isRetriable: boolean }) => {
      assert.equal(error.isRetriable, false);
      assert.match(
        error.message,
        /gave no token for client forecastnet: it answered 401: invalid_client, client/,
      );
      assert.match(error.message, /with secret \*\*\* is not known/);
      assert.doesNotMatch(error.message, /hunter2/);
      return true;
    });
  }
});

test("a failure of an endpoint that is down or busy is retriable", async (t) => {
  const { issuer, login } = await open(t, { timeoutMs: 30_000 });
  for (const status of [429, 500, 503]) {
    issuer.failure = { status, body: "<html>" };
    await assert.rejects(login.token(), { message: new RegExp(`it answered ${status}$`), isRetriable: true });
  }
  issuer.close();
  await assert.rejects(login.token(), { message: /cannot be reached: .*ECONNREFUSED/, isRetriable: true });
});

test("an answer without a token is refused with a hint", async (t) => {
  const { issuer, login } = await open(t);
  for (const body of [
    "<html>",
    "{}",
    "[]",
    '{"access_token":""}',
    '{"access_token":"a\\u0001b"}',
    '{"access_token":7}',
  ]) {
    issuer.failure = { status: 200, body };
    await assert.rejects(login.token(), {
      message: /no access_token; is this the address/,
      isRetriable: false,
    });
  }
});

test("a lifetime that the endpoint does not state is read from the token, or is a minute", async (t) => {
  const { issuer, clock, login } = await open(t);
  issuer.failure = { status: 200, body: JSON.stringify({ access_token: issuer.sign("a", 600) }) };
  await login.token();
  clock.now += 479_000;
  await login.token();
  assert.equal(issuer.requests.length, 1);
  clock.now += 3_000;
  issuer.failure = { status: 200, body: '{"access_token":"opaque"}' };
  assert.equal(await login.token(), "opaque");
  clock.now += 31_000;
  await login.token();
  assert.equal(issuer.requests.length, 3);
});

test("a token file is read at every login, and an expired token is a retriable failure", async (t) => {
  const { issuer, clock } = await open(t);
  let held = "opaque";
  const login = fileLogin(() => held, { a: "b" }, clock);
  assert.equal(await login.token(), "opaque");
  held = issuer.sign("a", 60);
  assert.equal(await login.token(), held);
  clock.now += 61_000;
  await assert.rejects(login.token(), { message: /tokenFile expired at 20/, isRetriable: true });
  assert.deepEqual(login.extensions, { a: "b" });
});
