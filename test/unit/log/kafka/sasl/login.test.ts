// The whole login over a socket, with the client on one end and a scripted broker on the other.

import assert from "node:assert/strict";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import kafkajs from "kafkajs";
import {
  type BearerLogin,
  bearerAuthentication,
  clientLogin,
  type KafkaLogin,
  LoginFailure,
  Renewed,
} from "../../../../../src/log/kafka/sasl/login.ts";
import { mskIamLogin, mskToken } from "../../../../../src/log/kafka/sasl/msk-iam-login.ts";

const apiVersions = 18;
const saslHandshake = 17;
const saslAuthenticate = 36;

interface ScriptedBroker {
  readonly address: string;
  /** The contents of SaslHandshake and SaslAuthenticate requests, in order. */
  readonly sent: string[];
}

/** Implements what a login needs. Each SaslAuthenticate gets the next answer: an error message or bytes. */
async function startBroker(
  t: TestContext,
  answers: readonly { readonly error?: string; readonly bytes?: string }[],
): Promise<ScriptedBroker> {
  const sent: string[] = [];
  let answered = 0;
  const respond = (apiKey: number, body: Buffer): Buffer => {
    if (apiKey === apiVersions) {
      const ranges = [apiVersions, saslHandshake, saslAuthenticate].map((key) => int16s(key, 0, 1));
      return Buffer.concat([int16s(0), int32(ranges.length), ...ranges, int32(0)]);
    }
    if (apiKey === saslHandshake) {
      sent.push(body.subarray(2).toString());
      return Buffer.concat([int16s(0), int32(1), text("OAUTHBEARER")]);
    }
    sent.push(body.subarray(4).toString());
    const { error, bytes = "" } = answers[answered++] ?? assert.fail("one message too many");
    const message = error === undefined ? int16s(-1) : text(error);
    const payload = Buffer.concat([int32(Buffer.byteLength(bytes)), Buffer.from(bytes)]);
    return Buffer.concat([int16s(error === undefined ? 0 : 58), message, payload, Buffer.alloc(8)]);
  };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let held = Buffer.alloc(0);
    socket.on("error", () => {}); // The client may disconnect at any time.
    socket.on("data", (chunk) => {
      held = Buffer.concat([held, chunk]);
      while (held.length >= 4 && held.length >= 4 + held.readInt32BE(0)) {
        const request = held.subarray(4, 4 + held.readInt32BE(0));
        held = held.subarray(4 + held.readInt32BE(0));
        const body = request.subarray(10 + Math.max(0, request.readInt16BE(8)));
        const answer = Buffer.concat([request.subarray(4, 8), respond(request.readInt16BE(0), body)]);
        socket.write(Buffer.concat([int32(answer.length), answer]));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, sent };
}

function int16s(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(2 * values.length);
  for (const [at, value] of values.entries()) bytes.writeInt16BE(value, 2 * at);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function text(value: string): Buffer {
  return Buffer.concat([int16s(Buffer.byteLength(value)), Buffer.from(value)]);
}

async function logIn(address: string, login: KafkaLogin): Promise<void> {
  const client = new kafkajs.Kafka({
    ...{ brokers: [address], clientId: "c", sasl: clientLogin(login), logLevel: kafkajs.logLevel.NOTHING },
    retry: { retries: 2, initialRetryTime: 1 },
  });
  const admin = client.admin();
  try {
    await admin.connect();
  } finally {
    await admin.disconnect();
  }
}

const keys = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "EXAMPLEKEY", sessionToken: null };
const environment = { AWS_ACCESS_KEY_ID: keys.accessKeyId, AWS_SECRET_ACCESS_KEY: keys.secretAccessKey };
const clock = { nowMs: () => Date.UTC(2026, 0, 2, 3, 4, 5) };
const mskLogin = () => mskIamLogin("eu-central-1", { environment, timeoutMs: 1_000, clock });

test("a login to MSK with IAM sends a signed URL as its token", async (t) => {
  const { address, sent } = await startBroker(t, [{}]);
  await logIn(address, mskLogin());
  const token = mskToken("eu-central-1", keys, clock.nowMs());
  assert.deepEqual(sent, ["OAUTHBEARER", `n,,\x01auth=Bearer ${token}\x01\x01`]);
});

test("a refused login to MSK is reported once, and without the key", async (t) => {
  const refusal = "[4b6e]: Access denied";
  const { address, sent } = await startBroker(t, [
    { bytes: '{"status":"access_denied"}' },
    { error: refusal },
  ]);
  await assert.rejects(logIn(address, mskLogin()), (error: Error) => {
    assert.match(error.message, /refused the token \(OAUTHBEARER\): {"status":"access_denied"}/);
    assert.doesNotMatch(error.message, /EXAMPLEKEY/);
    return true;
  });
  assert.deepEqual([sent.length, sent[2]], [3, "\x01"]);
});

test("a broker that refuses a cached token gets a new one", async (t) => {
  const { address, sent } = await startBroker(t, [{ error: "revoked" }, {}]);
  let tokens = 0;
  const login: KafkaLogin = {
    ...{ mechanism: "oauthbearer", extensions: {}, token: async () => `token-${++tokens}` },
    refused: () => true,
  };
  await logIn(address, login);
  assert.deepEqual(
    sent.filter((message) => message.startsWith("n,,")),
    ["n,,\x01auth=Bearer token-1\x01\x01", "n,,\x01auth=Bearer token-2\x01\x01"],
  );
});

type Args = Parameters<ReturnType<typeof bearerAuthentication>>[0];

/** The broker's side of the exchange: the messages it got, and its answers. Errors are thrown as by the client. */
function scripted(answers: readonly (string | Error)[]) {
  const sent: string[] = [];
  const saslAuthenticate: Args["saslAuthenticate"] = async ({ request, response }) => {
    const frame = await request.encode();
    assert.equal(frame.readInt32BE(0), frame.length - 4);
    const answer =
      answers[sent.push(frame.subarray(4).toString()) - 1] ?? assert.fail("one message too many");
    if (answer instanceof Error) throw answer;
    const bytes = Buffer.from(answer);
    const size = Buffer.alloc(4);
    size.writeInt32BE(bytes.length);
    assert.ok(response !== undefined);
    return response.parse(await response.decode(Buffer.concat([size, bytes])));
  };
  const args = { host: "broker", port: 9, saslAuthenticate } as Args;
  return { sent, args };
}

function loginWith(changes: Partial<BearerLogin> = {}): BearerLogin {
  return {
    mechanism: "oauthbearer",
    token: async () => "t0ken",
    refused: () => false,
    extensions: {},
    ...changes,
  };
}

function protocolError(message: string): Error {
  return new kafkajs.KafkaJSProtocolError(
    Object.assign(new Error(message), { type: "SASL_AUTHENTICATION_FAILED" }),
  );
}

test("the token and the extensions are sent in one message, and an empty answer is a success", async () => {
  const { sent, args } = scripted([""]);
  const extensions = { logicalCluster: "lkc-1", identityPoolId: "pool-1" };
  await bearerAuthentication(loginWith({ extensions }))(args).authenticate();
  assert.deepEqual(sent, [
    "n,,\x01auth=Bearer t0ken\x01logicalCluster=lkc-1\x01identityPoolId=pool-1\x01\x01",
  ]);
});

test("a refusal in the answer is acknowledged as the broker expects, and reported with its reason", async () => {
  const { sent, args } = scripted(['{"status":"invalid_token"}', protocolError("closing")]);
  await assert.rejects(bearerAuthentication(loginWith())(args).authenticate(), (error: Error) => {
    assert.equal((error as { retriable?: boolean }).retriable, false);
    assert.match(
      error.message,
      /^the broker broker:9 refused the token \(OAUTHBEARER\): {"status":"invalid_token"}$/,
    );
    assert.doesNotMatch(error.message, /t0ken/);
    return true;
  });
  assert.deepEqual(sent.slice(1), ["\x01"]);
});

test("a refusal by error code is reported, too", async () => {
  const { args } = scripted([protocolError("no such principal")]);
  await assert.rejects(
    bearerAuthentication(loginWith())(args).authenticate(),
    /refused the token.*no such principal/,
  );
});

test("a refusal is retriable if the next token may be another one", async () => {
  const { args } = scripted(['{"status":"invalid_token"}', ""]);
  const login = loginWith({ refused: () => true });
  await assert.rejects(bearerAuthentication(login)(args).authenticate(), {
    name: "KafkaJSConnectionError",
    retriable: true,
  });
});

test("a lost connection is left to the client", async () => {
  const lost = new kafkajs.KafkaJSConnectionError("Connection closed by the server");
  const { args } = scripted([lost]);
  await assert.rejects(bearerAuthentication(loginWith())(args).authenticate(), lost);
});

test("without a token nothing is sent, and the failure states whether it is retriable", async () => {
  for (const [isRetriable, retriable] of [
    [true, true],
    [false, false],
  ]) {
    const { sent, args } = scripted([]);
    const token = () => Promise.reject(new LoginFailure("no token today", isRetriable));
    await assert.rejects(bearerAuthentication(loginWith({ token }))(args).authenticate(), {
      message: "no token today",
      retriable,
    });
    assert.deepEqual(sent, []);
  }
});

function open(lifeMs: number) {
  const clock = { now: 1_000, nowMs: () => clock.now };
  const state = { fetches: 0, failure: null as Error | null };
  const renewed = new Renewed(async () => {
    state.fetches += 1;
    if (state.failure !== null) throw state.failure;
    return { value: `value ${state.fetches}`, expiresMs: clock.now + lifeMs };
  }, clock);
  return { clock, state, renewed };
}

test("a value is fetched once for concurrent callers, and cached", async () => {
  const { clock, state, renewed } = open(600_000);
  const all = await Promise.all([renewed.get(), renewed.get(), renewed.get()]);
  assert.deepEqual(all, ["value 1", "value 1", "value 1"]);
  clock.now += 479_000;
  assert.equal(await renewed.get(), "value 1");
  assert.equal(state.fetches, 1);
});

test("a value is renewed when a fifth of its life, a minute, or half of a short life is left", async () => {
  for (const [lifeMs, renewalMs] of [
    [600_000, 480_000],
    [120_000, 60_000],
    [10_000, 5_000],
  ]) {
    const { clock, renewed } = open(lifeMs);
    await renewed.get();
    clock.now += renewalMs - 1;
    assert.equal(await renewed.get(), "value 1");
    clock.now += 1;
    assert.equal(await renewed.get(), "value 2");
  }
});

test("a failed renewal leaves the old value in use until it expires", async () => {
  const { clock, state, renewed } = open(100_000);
  await renewed.get();
  state.failure = new Error("down");
  clock.now += 60_000;
  assert.equal(await renewed.get(), "value 1");
  assert.equal(await renewed.get(), "value 1");
  assert.equal(state.fetches, 2, "the next try waits a while");
  clock.now += 10_000;
  await renewed.get();
  assert.equal(state.fetches, 3);
  clock.now += 30_000;
  await assert.rejects(renewed.get(), /down/);
  state.failure = null;
  assert.equal(await renewed.get(), "value 5");
});

test("a dropped value is fetched again", async () => {
  const { renewed } = open(100_000);
  await renewed.get();
  renewed.drop();
  assert.equal(await renewed.get(), "value 2");
});
