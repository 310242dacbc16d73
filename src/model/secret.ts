// Secrets that the server makes: a prefix for what each is good for, 256 random bits and a checksum.

import { hash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

/** `rst` is a token, which authenticates requests; `rsc` a code, which signs the console in once. */
export type SecretKind = "rst" | "rsc";

/** Documented for secret scanners: a prefix, 43 base62 characters and a checksum of 6. */
export const secretPattern = /rs[tc]_[0-9A-Za-z]{49}/;
/** In any letters, because what a client has changed is still secret. */
export const secretPrefix = /rs[tc]_/i;
const secrets = /(rs[tc]_)[0-9a-z]{49}/gi;
/** A percent-encoded character that can be part of a secret. */
const encodedCharacter = /%(?:3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff])/g;
/** A percent sign that was encoded one or more times. */
const encodedPercent = /%(?:25)+/g;

/** Replaces the secrets in a text with their prefix, such as `rst_...`, also when they are percent-encoded. */
export function redactSecrets(text: string): string {
  const decodedText = text.includes("%") ? decoded(text) : text;
  const redacted = secretPrefix.test(decodedText)
    ? decodedText.replace(secrets, "$1...")
    : decodedText;
  return redacted === decodedText ? text : redacted;
}

const decoded = (text: string): string =>
  text
    .replace(encodedPercent, "%")
    .replace(encodedCharacter, ([, ...hex]) =>
      String.fromCharCode(Number.parseInt(hex.join(""), 16)),
    );

/** Whether a text contains a secret, plain or percent-encoded. */
export const holdsSecret = (text: string): boolean => redactSecrets(text) !== text;

const wholeSecret = /^rs[tc]_[0-9A-Za-z]{49}$/;

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

function base62(value: bigint, width: number): string {
  let text = "";
  for (let rest = value; text.length < width; rest /= 62n)
    text = alphabet[Number(rest % 62n)] + text;
  return text;
}

/** CRC-32 in base62. Uses numbers instead of bigints, because it is computed for every request. */
function checksum(text: string): string {
  let sum = "";
  for (let rest = crc32(text); sum.length < 6; rest = Math.floor(rest / 62)) {
    sum = alphabet[rest % 62] + sum;
  }
  return sum;
}

/** A new secret: 256 random bits and a checksum that detects typing errors without a lookup. */
export function newSecret(kind: SecretKind = "rst"): string {
  const body = `${kind}_${base62(BigInt(`0x${randomBytes(32).toString("hex")}`), 43)}`;
  return body + checksum(body);
}

/** Whether the text has the format and checksum of a secret of this kind. */
export const isSecret = (text: string, kind: SecretKind = "rst"): boolean =>
  text.startsWith(kind) && wholeSecret.test(text) && checksum(text.slice(0, -6)) === text.slice(-6);

/** SHA-256, in hex. 256 random bits need no slow hash. */
export const hashSecret = (secret: string): string => hash("sha256", secret);
