// How the commands reach a Kafka cluster, from the configuration.

import type { KafkaLogOptions } from "../log/kafka/kafka-log.ts";
import { systemClock } from "../runtime/clock.ts";
import type { AppConfig } from "../runtime/config/schema.ts";
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
      : { sasl: { mechanism: sasl.mechanism, username: sasl.username, password: sasl.password.reveal() } }),
    clock: systemClock,
    logger,
  };
}

function tlsOf({ ca, cert, key }: AppConfig["kafka"]["ssl"]): NonNullable<KafkaLogOptions["ssl"]> {
  return {
    ...(ca === null ? {} : { ca: ca.reveal() }),
    ...(cert === null ? {} : { cert: cert.reveal() }),
    ...(key === null ? {} : { key: key.reveal() }),
  };
}
