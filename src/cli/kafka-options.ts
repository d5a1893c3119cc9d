// How the commands reach a Kafka cluster, from the configuration.

import type { KafkaLogOptions } from "../log/kafka/kafka-log.ts";
import { systemClock } from "../runtime/clock.ts";
import type { AppConfig } from "../runtime/config/schema.ts";
import type { Secret } from "../runtime/config/secret.ts";
import type { Logger } from "../runtime/logging.ts";

type TransactionListener = KafkaLogOptions["transactions"]["onEnd"];

export function kafkaOptions(
  { kafka }: AppConfig,
  logger: Logger,
  onTransaction: TransactionListener = () => {},
): KafkaLogOptions {
  const { brokers, clientId, ssl, sasl, sessionTimeoutMs, transactionTimeoutMs, replicationFactor } = kafka;
  return {
    ...{ brokers, clientId, sessionTimeoutMs, replicationFactor },
    transactions: { timeoutMs: transactionTimeoutMs, onEnd: onTransaction },
    ...(ssl.enabled ? { ssl: tlsOf(ssl) } : {}),
    ...(sasl.mechanism === "none" || sasl.password === null
      ? {}
      : { sasl: loginOf(sasl.mechanism, sasl.username, sasl.password) }),
    clock: systemClock,
    logger,
  };
}

type Login = NonNullable<KafkaLogOptions["sasl"]>;

/** Getters: what is rotated is used from the next connection on. */
function loginOf(mechanism: Login["mechanism"], username: string, password: Secret): Login {
  return {
    mechanism,
    username,
    get password() {
      return password.reveal();
    },
  };
}

function tlsOf({ ca, cert, key }: AppConfig["kafka"]["ssl"]): NonNullable<KafkaLogOptions["ssl"]> {
  const tls = {};
  for (const [name, secret] of Object.entries({ ca, cert, key })) {
    if (secret !== null) Object.defineProperty(tls, name, { enumerable: true, get: () => secret.reveal() });
  }
  return tls;
}
