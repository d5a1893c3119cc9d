// The settings of the login to the brokers.

import { filePath, listOf, oneOf, optionalText, setting, text, url } from "./formats.ts";

const pairs = listOf(
  "comma-separated list of name=value",
  text("name=value", /^[A-Za-z][\w.:-]*=[\x20-\x7e]{0,1000}$/),
  0,
);

export const passwordMechanisms = ["plain", "scram-sha-256", "scram-sha-512"] as const;

export const loginSchema = {
  mechanism: setting(
    "How to log in to the brokers: with user and password, with an OAuth token, or with IAM on Amazon MSK.",
    oneOf("none", ...passwordMechanisms, "oauthbearer", "aws-msk-iam"),
    "none",
  ),
  username: setting("User name for the mechanisms with a password.", optionalText, ""),
  passwordFile: setting("File with the password.", filePath, ""),
  oauth: {
    tokenFile: setting(
      "File with a token for oauthbearer that another program renews, such as a projected service account token. It is read for every connection.",
      filePath,
      "",
    ),
    tokenUrl: setting(
      "Token endpoint for oauthbearer. Tokens are fetched with the client credentials below (OpenID Connect).",
      url,
      "",
    ),
    clientId: setting("Client id for the token endpoint.", optionalText, ""),
    clientSecretFile: setting("File with the client secret.", filePath, ""),
    clientAuth: setting(
      "How client id and secret are sent: basic in the header, post in the form.",
      oneOf("basic", "post"),
      "basic",
    ),
    scope: setting("Scope of the requested token; empty for none.", optionalText, ""),
    parameters: setting("Additional fields of the token request, such as audience=kafka.", pairs, []),
    caFile: setting(
      "Certificate authority of the token endpoint (PEM). If empty, the system's authorities are trusted.",
      filePath,
      "",
    ),
    extensions: setting(
      "SASL extensions sent with the token, such as logicalCluster=lkc-1 and identityPoolId=pool-1 for Confluent Cloud.",
      pairs,
      [],
    ),
  },
  aws: {
    region: setting(
      "Region of the MSK cluster; if empty, it is taken from the broker names, then from AWS_REGION.",
      optionalText,
      "",
    ),
  },
};
