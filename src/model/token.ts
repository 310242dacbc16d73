// A bearer secret's record, the shape of the secret, and what its scopes allow.

import { hash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

/** What is kept of a token. The secret itself is shown once and never stored. */
export interface Token {
  readonly id: string;
  /** SHA-256 of the secret, in hex. A 256-bit random secret needs no slow hash. */
  readonly hash: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly usedAt: number | null;
  readonly revokedAt: number | null;
}

export const verbs = ["read", "create", "update", "delete"] as const;
export type Verb = (typeof verbs)[number];

/** `admin`, `{collection|*}:{verb|*}`, or `action:{name|*}`. No action is called like a verb. */
export type Scope = string;

export const scopeShape =
  /^(?:admin|action:(?:\*|[a-z0-9][a-z0-9-]{0,62})|(?:\*|[a-z0-9][a-z0-9_-]{0,62}):(?:\*|read|create|update|delete))$/;

/** Every action; and not every verb in a collection that is called so. */
const everyAction = "action:*";

export const isScope = (text: string): boolean => scopeShape.test(text);

export const isAdmin = (token: Token): boolean => token.scopes.includes("admin");

/** Whether the token's scopes cover the verb on the collection. */
export function allows(token: Token, collection: string, verb: Verb): boolean {
  for (const scope of token.scopes) {
    if (scope === "admin") return true;
    const colon = scope.indexOf(":");
    const place = scope.slice(0, colon);
    const deed = scope.slice(colon + 1);
    const isHere = place === "*" || place === collection;
    if (isHere && (deed === verb || (deed === "*" && scope !== everyAction))) return true;
  }
  return false;
}

/** Whether the token's scopes cover the action. `*:*` is about collections only. */
export const allowsAction = (token: Token, name: string): boolean =>
  token.scopes.some(
    (scope) => scope === "admin" || scope === everyAction || scope === actionScope(name),
  );

export const actionScope = (name: string): Scope => `action:${name}`;

export const isAlive = (token: Token, now: number): boolean =>
  token.revokedAt === null && (token.expiresAt === null || token.expiresAt > now);

/** Published so that secret scanners can find leaks: prefix, 43 base62 characters, 6 of checksum. */
export const secretPattern = /rst_[0-9A-Za-z]{49}/;
const secrets = /rst_[0-9A-Za-z]{49}/g;
/** Of what a secret is made of, percent-encoded as in a URL. */
const encodedCharacter = /%(?:3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff])/g;
/** What was encoded over and over: the percent sign of an encoding, itself encoded. */
const encodedPercent = /%(?:25)+/g;

/** The text with three dots for what follows the beginning of a secret, however it is encoded. */
export function redactSecrets(text: string): string {
  const plain = text.includes("%") ? decoded(text) : text;
  const shown = plain.includes("rst_") ? plain.replace(secrets, "rst_…") : plain;
  return shown === plain ? text : shown;
}

const decoded = (text: string): string =>
  text
    .replace(encodedPercent, "%")
    .replace(encodedCharacter, ([, ...hex]) =>
      String.fromCharCode(Number.parseInt(hex.join(""), 16)),
    );

/** Whether there is a secret in a text, however it is encoded. */
export const holdsSecret = (text: string): boolean => redactSecrets(text) !== text;

const secretShape = /^rst_[0-9A-Za-z]{49}$/;

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

function base62(value: bigint, width: number): string {
  let text = "";
  for (let rest = value; text.length < width; rest /= 62n)
    text = alphabet[Number(rest % 62n)] + text;
  return text;
}

/** CRC-32 in base62. In numbers, not bigints: it is computed for every request. */
function checksum(text: string): string {
  let sum = "";
  for (let rest = crc32(text); sum.length < 6; rest = Math.floor(rest / 62)) {
    sum = alphabet[rest % 62] + sum;
  }
  return sum;
}

/** A new secret: 256 random bits and a checksum, so that a typo is recognised without a look-up. */
export function newSecret(): string {
  const body = `rst_${base62(BigInt(`0x${randomBytes(32).toString("hex")}`), 43)}`;
  return body + checksum(body);
}

/** Whether the text can be one of our secrets at all. */
export const isSecret = (text: string): boolean =>
  secretShape.test(text) && checksum(text.slice(0, -6)) === text.slice(-6);

export const hashSecret = (secret: string): string => hash("sha256", secret);
