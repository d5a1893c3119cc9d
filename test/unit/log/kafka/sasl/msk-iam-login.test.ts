import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import {
  awsCredentials,
  mskIamLogin,
  mskToken,
  presign,
} from "../../../../../src/log/kafka/sasl/msk-iam-login.ts";

const secretAccessKey = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5);

/** The tokens of aws-msk-iam-sasl-signer-js 1.0.3 for that time. */
const signatures = [
  {
    ...{ region: "eu-central-1", accessKeyId: "AKIDEXAMPLE", sessionToken: null },
    signature: "00629abe90095b91c1a9e460b67a01a8e4e7499b99f571276b99dd9258dd65e5",
  },
  {
    ...{ region: "us-east-1", accessKeyId: "ASIAEXAMPLE", sessionToken: "IQoJb3JpZ2luX2VjEA==/+token=" },
    signature: "c05dfea11aef58634b3800d5833da88ae54314cd62ecb49175ab04be897d492e",
  },
] as const;

for (const { region, accessKeyId, sessionToken, signature } of signatures) {
  test(`the token for ${region} equals that of AWS's signer`, () => {
    const token = mskToken(region, { accessKeyId, secretAccessKey, sessionToken }, nowMs);
    assert.match(token, /^[\w-]+$/);
    const url = new URL(Buffer.from(token, "base64url").toString());
    assert.equal(url.origin, `https://kafka.${region}.amazonaws.com`);
    assert.deepEqual(Object.fromEntries([...url.searchParams].sort()), {
      Action: "kafka-cluster:Connect",
      "User-Agent": "forecastnet",
      "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
      "X-Amz-Credential": `${accessKeyId}/20260102/${region}/kafka-cluster/aws4_request`,
      "X-Amz-Date": "20260102T030405Z",
      "X-Amz-Expires": "900",
      ...(sessionToken === null ? {} : { "X-Amz-Security-Token": sessionToken }),
      "X-Amz-Signature": signature,
      "X-Amz-SignedHeaders": "host",
    });
  });
}

test("a signed URL equals the published example for Signature Version 4", () => {
  // "Authenticating Requests: Using Query Parameters" of the Amazon S3 API reference.
  const url = presign({
    ...{
      host: "examplebucket.s3.amazonaws.com",
      path: "/test.txt",
      query: {},
      service: "s3",
      region: "us-east-1",
    },
    credentials: {
      accessKeyId: "AKIAIOSFODNN7EXAMPLE",
      secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
      sessionToken: null,
    },
    ...{ payloadHash: "UNSIGNED-PAYLOAD", nowMs: Date.UTC(2013, 4, 24), seconds: 86_400 },
  });
  const signature = "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404";
  assert.equal(new URL(url).searchParams.get("X-Amz-Signature"), signature);
});

test("every login has a token with its own time, signed with the credentials of the environment", async () => {
  const clock = { now: nowMs, nowMs: () => clock.now };
  const environment = { AWS_ACCESS_KEY_ID: "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY: secretAccessKey };
  const login = mskIamLogin("eu-central-1", { environment, timeoutMs: 1_000, clock });
  const first = await login.token();
  assert.equal(
    first,
    mskToken("eu-central-1", { accessKeyId: "AKIDEXAMPLE", secretAccessKey, sessionToken: null }, nowMs),
  );
  clock.now += 1_000;
  assert.notEqual(await login.token(), first);
});

const clock = { nowMs: () => 1_000 };
/** An environment without any credentials of the machine that runs the tests. */
const nowhere = { AWS_SHARED_CREDENTIALS_FILE: "/nowhere/credentials", AWS_EC2_METADATA_DISABLED: "true" };

function find(environment: Readonly<Record<string, string | undefined>>, region = "eu-central-1") {
  return awsCredentials(region, { environment: { ...nowhere, ...environment }, timeoutMs: 2_000, clock });
}

interface Asked {
  readonly line: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

async function serve(t: TestContext, answer: (line: string) => { status: number; body: string }) {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const line = `${request.method} ${request.url}`;
    asked.push({ line, headers: request.headers, body });
    const reply = answer(line);
    response.writeHead(reply.status).end(reply.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function fileWith(t: TestContext, content: string): string {
  const folder = mkdtempSync(join(tmpdir(), "forecastnet-aws-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "file");
  writeFileSync(path, content);
  return path;
}

const temporary = {
  ...{ AccessKeyId: "ASIA1", SecretAccessKey: "s1", Token: "t1", Expiration: "2026-01-02T03:04:05Z" },
};
const taken = {
  value: { accessKeyId: "ASIA1", secretAccessKey: "s1", sessionToken: "t1" },
  expiresMs: Date.UTC(2026, 0, 2, 3, 4, 5),
};

test("environment variables come first, with or without a session token", async () => {
  const keys = {
    AWS_ACCESS_KEY_ID: "AKID",
    AWS_SECRET_ACCESS_KEY: "s",
    AWS_WEB_IDENTITY_TOKEN_FILE: "/x",
    AWS_ROLE_ARN: "r",
  };
  const { value } = await find({ ...keys, AWS_SESSION_TOKEN: "" });
  assert.deepEqual(value, { accessKeyId: "AKID", secretAccessKey: "s", sessionToken: null });
  assert.equal((await find({ ...keys, AWS_SESSION_TOKEN: "t" })).value.sessionToken, "t");
});

test("a web identity is exchanged for the credentials of a role, with the current token of the file", async (t) => {
  const fields = Object.entries({ ...temporary, SessionToken: "t1", Token: undefined });
  const xml = fields.map(([name, value]) => `<${name}>${value}</${name}>`).join("");
  const sts = await serve(t, () => ({ status: 200, body: `<R><Credentials>${xml}</Credentials></R>` }));
  const environment = {
    ...{
      AWS_WEB_IDENTITY_TOKEN_FILE: fileWith(t, "projected.token\n"),
      AWS_ROLE_ARN: "arn:aws:iam::1:role/r",
    },
    AWS_ENDPOINT_URL_STS: sts.url,
  };
  assert.deepEqual(await find(environment), taken);
  assert.deepEqual(Object.fromEntries(new URLSearchParams(sts.asked[0].body)), {
    ...{ Action: "AssumeRoleWithWebIdentity", Version: "2011-06-15", RoleArn: "arn:aws:iam::1:role/r" },
    ...{ RoleSessionName: "forecastnet", WebIdentityToken: "projected.token" },
  });
});

test("a refused web identity is reported with the message of STS, without the token", async (t) => {
  const body =
    "<ErrorResponse><Error><Code>AccessDenied</Code><Message>Not you</Message></Error></ErrorResponse>";
  const sts = await serve(t, () => ({ status: 403, body }));
  const environment = {
    ...{
      AWS_WEB_IDENTITY_TOKEN_FILE: fileWith(t, "projected.token"),
      AWS_ROLE_ARN: "r",
      AWS_ENDPOINT_URL_STS: sts.url,
    },
  };
  await assert.rejects(find(environment), {
    message: /refused to let us assume the role r: it answered 403: AccessDenied, Not you$/,
    isRetriable: false,
  });
  await assert.rejects(find({ ...environment, AWS_WEB_IDENTITY_TOKEN_FILE: "/nowhere/token" }), {
    message: /^file \/nowhere\/token cannot be read/,
    isRetriable: true,
  });
});

test("the shared file provides the keys of the selected profile", async (t) => {
  const file = fileWith(
    t,
    "# mine\n[default]\naws_access_key_id = A\naws_secret_access_key=B+/=\n[ plant ]\naws_access_key_id=C\naws_secret_access_key = D\naws_session_token = E\n[empty]\n",
  );
  const of = async (profile: string | undefined) =>
    (await find({ AWS_SHARED_CREDENTIALS_FILE: file, AWS_PROFILE: profile })).value;
  assert.deepEqual(await of(undefined), { accessKeyId: "A", secretAccessKey: "B+/=", sessionToken: null });
  assert.deepEqual(await of("plant"), { accessKeyId: "C", secretAccessKey: "D", sessionToken: "E" });
  await assert.rejects(of("empty"), /no AWS credentials found/);
});

test("a container's endpoint gets the token of its file, which is read each time", async (t) => {
  const agent = await serve(t, () => ({ status: 200, body: JSON.stringify(temporary) }));
  const file = fileWith(t, "first\n");
  const environment = {
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${agent.url}/v1/credentials`,
    AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file,
  };
  assert.deepEqual(await find(environment), taken);
  writeFileSync(file, "second");
  await find(environment);
  assert.deepEqual(
    agent.asked.map(({ line, headers }) => [line, headers.authorization]),
    [
      ["GET /v1/credentials", "first"],
      ["GET /v1/credentials", "second"],
    ],
  );
});

test("a container's endpoint on another host must use https", async () => {
  await assert.rejects(find({ AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://example.com/c" }), {
    message: /use https or a local address/,
    isRetriable: false,
  });
});

test("an instance is asked for a session of its metadata, then for its role", async (t) => {
  const path = "/latest/meta-data/iam/security-credentials/";
  const metadata = await serve(t, (line) => {
    if (line === "PUT /latest/api/token") return { status: 200, body: "session" };
    return { status: 200, body: line === `GET ${path}` ? "my-role\n" : JSON.stringify(temporary) };
  });
  const environment = { AWS_EC2_METADATA_DISABLED: "", AWS_EC2_METADATA_SERVICE_ENDPOINT: metadata.url };
  assert.deepEqual(await find(environment), taken);
  assert.deepEqual(
    metadata.asked.map(({ line }) => line),
    ["PUT /latest/api/token", `GET ${path}`, `GET ${path}my-role`],
  );
  assert.equal(metadata.asked[2].headers["x-aws-ec2-metadata-token"], "session");
});

test("without credentials, the failure lists what was tried and is retriable", async () => {
  await assert.rejects(find({}), {
    message: /^no AWS credentials found; tried environment/,
    isRetriable: true,
  });
});
