// Makes self-signed certificates, which neither Node nor Bun can.

import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Certificate } from "../src/runtime/runtime.ts";

export interface CertificateOptions {
  readonly name?: string;
  readonly from?: Date;
  readonly to?: Date;
  /** Another pair of keys. The certificate says that it is signed by one on a curve, which nobody checks. */
  readonly keys?: { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
}

const dayMs = 86_400_000;

/** A certificate of the subject `CN=name` for localhost and 127.0.0.1, on the curve P-256. */
export function makeCertificate(options: CertificateOptions = {}): Certificate {
  const { publicKey, privateKey } =
    options.keys ?? generateKeyPairSync("ec", { namedCurve: "P-256" });
  const body = toBeSigned(publicKey, options);
  const signature = sign("sha256", body, privateKey);
  const whole = sequence(body, ecdsaWithSha256, element(0x03, Buffer.of(0), signature));
  const lines = whole.toString("base64").replace(/.{64}(?=.)/g, "$&\n");
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/** RFC 5280 §4.1, in DER. */
function toBeSigned(publicKey: KeyObject, options: CertificateOptions): Buffer {
  const { name = "localhost", from, to } = options;
  const subject = sequence(element(0x31, sequence(commonName, element(0x0c, Buffer.from(name)))));
  const now = Date.now();
  return sequence(
    element(0xa0, element(0x02, Buffer.of(2))),
    element(0x02, Buffer.of(1), randomBytes(15)),
    ecdsaWithSha256,
    subject,
    sequence(time(from ?? new Date(now - dayMs)), time(to ?? new Date(now + 30 * dayMs))),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    element(0xa3, sequence(sequence(subjectAltName, element(0x04, localNames)))),
  );
}

const element = (tag: number, ...parts: readonly Buffer[]): Buffer => {
  const content = Buffer.concat(parts);
  const { length } = content;
  const head =
    length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length];
  return Buffer.concat([Buffer.of(tag, ...head), content]);
};

const sequence = (...parts: readonly Buffer[]): Buffer => element(0x30, ...parts);
const identifier = (hex: string): Buffer => element(0x06, Buffer.from(hex, "hex"));
const ecdsaWithSha256 = sequence(identifier("2a8648ce3d040302"));
const commonName = identifier("550403");
const subjectAltName = identifier("551d11");
const localNames = sequence(
  element(0x82, Buffer.from("localhost")),
  element(0x87, Buffer.of(127, 0, 0, 1)),
);

const time = (date: Date): Buffer =>
  element(0x18, Buffer.from(date.toISOString().replace(/[-:T]|\.\d+/g, "")));

export interface CertificateFolder {
  /** The paths of the two files. */
  readonly cert: string;
  readonly key: string;
  /** The flags of the server. */
  readonly flags: readonly string[];
  write(certificate: Partial<Certificate>): void;
  remove(): void;
}

/** A folder with the files of a certificate. */
export function certificateFolder(certificate: Partial<Certificate>): CertificateFolder {
  const folder = mkdtempSync(join(tmpdir(), "restante-tls-"));
  const cert = join(folder, "cert.pem");
  const key = join(folder, "key.pem");
  const write = (next: Partial<Certificate>) => {
    if (next.cert !== undefined) writeFileSync(cert, next.cert);
    if (next.key !== undefined) writeFileSync(key, next.key);
  };
  write(certificate);
  const flags = ["--tls-cert", cert, "--tls-key", key];
  return { cert, key, flags, write, remove: () => rmSync(folder, { recursive: true }) };
}
