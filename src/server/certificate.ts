// Reads the certificate of the server and its key, and finds every reason why they cannot be used.

import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { messageOf, usageError } from "../lib/cli-error.ts";
import { codeOf, reasonOf } from "../lib/system-error.ts";
import type { Certificate } from "../runtime/runtime.ts";
import type { Config, ConfigError } from "./config.ts";

export interface CheckedCertificate extends Certificate {
  /** In milliseconds since 1970. */
  readonly expiresAt: number;
}

/** The paths of the two files. */
export type CertificateFiles = Certificate;

/** The texts of the two files; undefined where one cannot be read. */
export type CertificateTexts = { readonly [Name in keyof Certificate]: string | undefined };

export const certificateFiles = ({ tlsCert, tlsKey }: Config): CertificateFiles | undefined =>
  tlsCert === undefined || tlsKey === undefined ? undefined : { cert: tlsCert, key: tlsKey };

/** Throws when one of the two settings of TLS is there without the other. */
export function checkTlsSettings(config: Config): void {
  if ((config.tlsCert === undefined) !== (config.tlsKey === undefined))
    throw usageError([{ where: "--tls-cert, --tls-key", detail: "set both or none" }]);
}

/** Returns undefined without TLS. Throws all errors at once. */
export function readCertificate(config: Config): CheckedCertificate | undefined {
  checkTlsSettings(config);
  const files = certificateFiles(config);
  if (files === undefined) return undefined;
  const errors: ConfigError[] = [];
  const read = (name: keyof CertificateFiles): string | undefined => {
    try {
      return readFileSync(files[name], "utf8");
    } catch (error) {
      errors.push(unreadable(files, name, error));
      return undefined;
    }
  };
  const pair = { cert: read("cert"), key: read("key") };
  const checked = checkCertificate(pair, files, errors);
  if (checked === undefined) throw usageError(errors);
  return checked;
}

/** Adds to `errors` and returns undefined when the pair cannot be used now. */
export function checkCertificate(
  { cert, key }: CertificateTexts,
  files: CertificateFiles,
  errors: ConfigError[],
  now = Date.now(),
): CheckedCertificate | undefined {
  const before = errors.length;
  const adder =
    (name: keyof CertificateFiles): Add =>
    (detail) => {
      errors.push({ where: whereOf(files, name), detail });
      return undefined;
    };
  const parsed = cert === undefined ? undefined : parseChain(cert, now, adder("cert"));
  const privateKey = key === undefined ? undefined : parseKey(key, adder("key"));
  if (parsed && privateKey && !parsed.checkPrivateKey(privateKey))
    adder("key")("does not belong to the certificate");
  if (errors.length > before || !parsed || cert === undefined || key === undefined)
    return undefined;
  const weakness = weaknessOf({ cert, key });
  if (weakness !== undefined) return adder("cert")(`cannot be used: ${weakness}`);
  return { cert, key, expiresAt: Date.parse(parsed.validTo) };
}

export const unreadable = (
  files: CertificateFiles,
  name: keyof CertificateFiles,
  error: unknown,
): ConfigError => ({
  where: whereOf(files, name),
  detail: `cannot be read: ${reasonOf(error)}`,
});

const whereOf = (files: CertificateFiles, name: keyof CertificateFiles): string =>
  `--tls-${name} ${JSON.stringify(files[name])}`;

type Add = (detail: string) => undefined;

const blocks = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Returns the first certificate of the chain, also when it is not valid now. */
function parseChain(pem: string, now: number, add: Add): X509Certificate | undefined {
  const chain = pem.match(blocks) ?? [];
  if (chain.length === 0) return add("has no certificate; it must be a PEM file");
  try {
    const [certificate] = chain.map((block) => new X509Certificate(block));
    if (certificate !== undefined) checkTimes(certificate, now, add);
    return certificate;
  } catch {
    return add("has a certificate that is damaged");
  }
}

function checkTimes({ validFrom, validTo }: X509Certificate, now: number, add: Add): void {
  if (Date.parse(validTo) <= now) add(`expired on ${validTo}; renew it`);
  if (Date.parse(validFrom) > now) add(`is not valid before ${validFrom}`);
}

function parseKey(pem: string, add: Add): KeyObject | undefined {
  if (/BEGIN ENCRYPTED|Proc-Type: 4,ENCRYPTED/.test(pem))
    return add("is encrypted; write it without a passphrase: openssl pkey -in … -out …");
  try {
    return createPrivateKey(pem);
  } catch {
    return add("has no private key; it must be a PEM file");
  }
}

/** The runtime refuses keys and hashes that are too weak. */
function weaknessOf(pair: Certificate): string | undefined {
  try {
    createSecureContext(pair);
    return undefined;
  } catch (error) {
    return codeOf(error) === "ERR_SSL_EE_KEY_TOO_SMALL" ? shortKey : messageOf(error);
  }
}

const shortKey = "its key is too short; use RSA with 2048 bits or more, or EC P-256";
