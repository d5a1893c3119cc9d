// The options of the Kafka log, from the configuration: brokers, TLS, login, limits.

import type { KafkaLogOptions } from "../log/kafka/kafka-log.ts";
import type { KafkaLogin } from "../log/kafka/sasl/login.ts";
import { mskIamLogin } from "../log/kafka/sasl/msk-iam-login.ts";
import { clientCredentialsLogin, fileLogin } from "../log/kafka/sasl/oidc-token.ts";
import { systemClock } from "../runtime/clock.ts";
import { processEnvironment } from "../runtime/config/load.ts";
import type { AppConfig } from "../runtime/config/schema.ts";
import type { Secret } from "../runtime/config/secret.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import type { Logger } from "../runtime/logging.ts";
import type { Metrics } from "../runtime/metric-groups.ts";

type LogMetrics = Pick<Metrics, "transaction" | "inputGap">;
const notCounted: LogMetrics = { transaction: () => {}, inputGap: () => {} };
type KafkaSection = AppConfig["kafka"];

/** Time limit for an answer of a token endpoint or of AWS. */
const endpointMs = 10_000;

export function kafkaOptions(
  { kafka, limits }: AppConfig,
  logger: Logger,
  metrics: LogMetrics = notCounted,
): KafkaLogOptions {
  const { brokers, clientId, ssl, sessionTimeoutMs, replicationFactor, compression } = kafka;
  const login = loginOf(kafka);
  return {
    brokers,
    clientId,
    sessionTimeoutMs,
    replicationFactor,
    compression,
    transactions: { timeoutMs: kafka.transactionTimeoutMs, onEnd: metrics.transaction },
    positionRule: kafka.positions,
    maxBatchBytes: limits.batchBytes,
    onInputGap: (gap) => {
      const lost = gap.kind === "retention" ? gap.resumedAt - (gap.position ?? gap.resumedAt) : 0;
      metrics.inputGap(gap.kind, lost);
      logger.warn({ ...gap }, "input is missing, reading continues after the gap");
    },
    ...(ssl.enabled ? { ssl: tlsOf(ssl) } : {}),
    ...(login === null ? {} : { sasl: login }),
    clock: systemClock,
    logger,
  };
}

/** Risks of the connection settings, for the log at start. */
export function connectionWarnings({ kafka }: AppConfig): readonly string[] {
  const { mechanism, oauth } = kafka.sasl;
  const warnings: string[] = [];
  if (!kafka.ssl.enabled && (mechanism === "plain" || mechanism === "oauthbearer")) {
    const what = mechanism === "plain" ? "password" : "token";
    warnings.push(`the ${what} for the brokers is sent unencrypted: set kafka.ssl.enabled`);
  }
  if (oauth.tokenUrl.startsWith("http:")) {
    warnings.push("the client secret is sent unencrypted: use https in kafka.sasl.oauth.tokenUrl");
  }
  return warnings;
}

/** Secrets are getters: a rotated one is used from the next connection on. */
function loginOf(kafka: KafkaSection): KafkaLogin | null {
  const { mechanism, username, password, oauth } = kafka.sasl;
  switch (mechanism) {
    case "none":
      return null;
    case "oauthbearer":
      return bearerOf(oauth);
    case "aws-msk-iam": {
      const environment = processEnvironment();
      const region = regionOf(kafka, environment);
      return mskIamLogin(region, { environment, timeoutMs: endpointMs, clock: systemClock });
    }
    default:
      if (password === null) throw new TypeError("the configuration rules require a password here");
      return {
        mechanism,
        username,
        get password() {
          return password.reveal();
        },
      };
  }
}

function bearerOf(oauth: KafkaSection["sasl"]["oauth"]): KafkaLogin {
  const { token, tokenUrl, clientId, clientSecret, clientAuth, scope, ca } = oauth;
  const extensions = fieldsOf(oauth.extensions);
  if (token !== null) return fileLogin(() => token.reveal(), extensions, systemClock);
  const settings = {
    tokenUrl,
    clientId,
    clientAuth,
    scope,
    parameters: fieldsOf(oauth.parameters),
    timeoutMs: endpointMs,
    get clientSecret() {
      return clientSecret?.reveal() ?? "";
    },
    get ca() {
      return ca?.reveal();
    },
  };
  return clientCredentialsLogin(settings, extensions, systemClock);
}

/** From name=value pairs. */
function fieldsOf(pairs: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    pairs.map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]),
  );
}

/** The host names of MSK brokers contain their region. */
function regionOf(
  { brokers, sasl }: KafkaSection,
  { AWS_REGION, AWS_DEFAULT_REGION }: Readonly<Record<string, string | undefined>>,
): string {
  const [, ofBroker] = /\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?:\d+$/.exec(brokers[0]) ?? [];
  const region = sasl.aws.region || ofBroker || AWS_REGION || AWS_DEFAULT_REGION;
  if (region) return region;
  const message =
    'kafka.sasl.aws.region: "" given, and neither the brokers\' names nor AWS_REGION state the region: set this key';
  throw new ForecastnetError("CONFIG_INVALID", message);
}

function tlsOf({ ca, cert, key }: KafkaSection["ssl"]): NonNullable<KafkaLogOptions["ssl"]> {
  const tls = {};
  const secrets: Readonly<Record<string, Secret | null>> = { ca, cert, key };
  for (const [name, secret] of Object.entries(secrets)) {
    if (secret !== null) Object.defineProperty(tls, name, { enumerable: true, get: () => secret.reveal() });
  }
  return tls;
}
