// Access tokens: the stored record, the format of the secret, and what the scopes allow.

import { hash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

/** The stored record of a token. The secret is returned once and never stored. */
export interface Token {
  readonly id: string;
  /** SHA-256 of the secret, in hex. A 256-bit random secret needs no slow hash. */
  readonly hash: string;
  readonly name: string;
  /** The owner of what the token creates. By default the id of the token. */
  readonly subject: string;
  readonly scopes: readonly Scope[];
  /** Names of roles. Those in the access document give further scopes. */
  readonly roles: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly usedAt: number | null;
  readonly revokedAt: number | null;
}

/** A subject has 1 to 128 printable ASCII characters. */
export const subjectPattern = /^[ -~]{1,128}$/;

export const subjectMessage = "must have 1 to 128 printable ASCII characters";

export const verbs = ["read", "create", "update", "delete"] as const;
export type Verb = (typeof verbs)[number];

/** `admin`, `metrics`, `{collection|*}:{verb|*}`, or `action:{name|*}`. No action has the name of a verb. */
export type Scope = string;

export const scopePattern =
  /^(?:admin|metrics|action:(?:\*|[a-z0-9][a-z0-9-]{0,62})|(?:\*|[a-z0-9][a-z0-9_-]{0,62}):(?:\*|read|create|update|delete))$/;

/** Allows every action. It does not allow every verb on a collection named `action`. */
const everyAction = "action:*";

/** A token, or a principal that came by one. */
interface Scoped {
  readonly scopes: readonly Scope[];
}

export const isAdmin = ({ scopes }: Scoped): boolean => scopes.includes("admin");

export const readsMetrics = (scoped: Scoped): boolean =>
  isAdmin(scoped) || scoped.scopes.includes("metrics");

/** Whether the scopes allow the verb on the collection. */
export function allows({ scopes }: Scoped, collection: string, verb: Verb): boolean {
  for (const scope of scopes) {
    if (scope === "admin") return true;
    const colon = scope.indexOf(":");
    const scopeCollection = scope.slice(0, colon);
    const scopeVerb = scope.slice(colon + 1);
    const isMatch = scopeCollection === "*" || scopeCollection === collection;
    if (isMatch && (scopeVerb === verb || (scopeVerb === "*" && scope !== everyAction)))
      return true;
  }
  return false;
}

/** Whether the scopes allow the action. `*:*` covers collections only. */
export const allowsAction = ({ scopes }: Scoped, name: string): boolean =>
  scopes.some((scope) => scope === "admin" || scope === everyAction || scope === actionScope(name));

/** Whether the scopes allow whatever this one allows. */
export function allowsScope(scoped: Scoped, scope: Scope): boolean {
  if (scoped.scopes.includes(scope) || isAdmin(scoped)) return true;
  const colon = scope.indexOf(":");
  const [collection, verb] = [scope.slice(0, colon), scope.slice(colon + 1)];
  if (isVerb(verb)) return allows(scoped, collection, verb);
  return collection === "action" && allowsAction(scoped, verb);
}

const isVerb = (name: string): name is Verb => (verbs as readonly string[]).includes(name);

export const actionScope = (name: string): Scope => `action:${name}`;

export const isAlive = (token: Token, now: number): boolean =>
  token.revokedAt === null && (token.expiresAt === null || token.expiresAt > now);

/** Documented for secret scanners: a prefix, 43 base62 characters and a checksum of 6. */
export const secretPattern = /rst_[0-9A-Za-z]{49}/;
/** In any letters, because what a client has changed is still secret. */
export const secretPrefix = /rst_/i;
const secrets = /rst_[0-9a-z]{49}/gi;
/** A percent-encoded character that can be part of a secret. */
const encodedCharacter = /%(?:3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff])/g;
/** A percent sign that was encoded one or more times. */
const encodedPercent = /%(?:25)+/g;

/** Replaces the secrets in a text with `rst_...`, also when they are percent-encoded. */
export function redactSecrets(text: string): string {
  const decodedText = text.includes("%") ? decoded(text) : text;
  const redacted = secretPrefix.test(decodedText)
    ? decodedText.replace(secrets, "rst_...")
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

const wholeSecret = /^rst_[0-9A-Za-z]{49}$/;

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
export function newSecret(): string {
  const body = `rst_${base62(BigInt(`0x${randomBytes(32).toString("hex")}`), 43)}`;
  return body + checksum(body);
}

/** Whether the text has the format and checksum of a secret. */
export const isSecret = (text: string): boolean =>
  wholeSecret.test(text) && checksum(text.slice(0, -6)) === text.slice(-6);

export const hashSecret = (secret: string): string => hash("sha256", secret);
