// A broker that lets nobody in without a password and grants nothing that was not granted: settings for
// `startBroker`, over those of an open one.

/** May do everything, and grants the others their rights. */
export const superUser = "admin";

export function passwordOf(user: string): string {
  return `${user}-secret`;
}

export function guardedSettings(
  users: readonly string[],
  { port, controllerPort }: { readonly port: number; readonly controllerPort: number },
): Record<string, string> {
  const logins = [superUser, ...users].map((user) => `user_${user}="${passwordOf(user)}"`);
  return {
    listeners: `SASL_PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    "advertised.listeners": `SASL_PLAINTEXT://127.0.0.1:${port}`,
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT",
    "inter.broker.listener.name": "SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": [
      "org.apache.kafka.common.security.plain.PlainLoginModule required",
      `username="${superUser}" password="${passwordOf(superUser)}"`,
      `${logins.join(" ")};`,
    ].join(" "),
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    // The second is the broker itself on the listener of the controller.
    "super.users": `User:${superUser};User:ANONYMOUS`,
  };
}
