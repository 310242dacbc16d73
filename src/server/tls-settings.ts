// The settings of TLS.

import { folderPath as filePath, type Setting } from "./setting-values.ts";

export interface TlsConfig {
  /** Absolute path of the certificate chain. Undefined means plain HTTP. */
  readonly tlsCert: string | undefined;
  /** Absolute path of the private key. */
  readonly tlsKey: string | undefined;
}

export const tlsSettings = {
  tlsCert: {
    flag: "--tls-cert",
    variable: "RESTANTE_TLS_CERT",
    type: "string",
    placeholder: "file",
    about:
      "The certificate of the server, followed by those of its issuers, in PEM; the server then speaks TLS only. A new one on disk is used within seconds. Default: plain HTTP.",
    allowed: "the path of a file",
    fallback: undefined,
    read: filePath,
  },
  tlsKey: {
    flag: "--tls-key",
    variable: "RESTANTE_TLS_KEY",
    type: "string",
    placeholder: "file",
    about: "The private key of the certificate, in PEM, not encrypted.",
    allowed: "the path of a file",
    fallback: undefined,
    read: filePath,
  },
} satisfies { readonly [Name in keyof TlsConfig]: Setting<TlsConfig[Name]> };
