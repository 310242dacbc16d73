// Reads Idempotency-Key (draft-ietf-httpapi-idempotency-key-header) and fingerprints the request.

import { createHash } from "node:crypto";
import { anonymousOwner, type IdempotencyKey } from "../../model/idempotency-key.ts";
import { callerIdOf, type Principal } from "../../model/principal.ts";
import { Problem } from "../../model/problem.ts";

/** A Structured Field String; older clients send it without quotes. */
const quoted = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\]){1,255})"$/;
const bare = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]{1,255}$/;

/** Returns the key, or undefined when the request has none. */
export function readKey(headers: Headers): string | Problem | undefined {
  const field = headers.get("idempotency-key");
  return field === null ? undefined : readKeyField(field);
}

/** Returns the key in the value of the field. */
export function readKeyField(field: string): string | Problem {
  const [, inner] = quoted.exec(field) ?? [];
  if (inner !== undefined) return inner.replaceAll(/\\(["\\])/g, "$1");
  return bare.test(field) ? field : invalidKey;
}

const invalidKey = new Problem(
  "malformed-request",
  'Idempotency-Key must be one string of 1 to 255 ASCII characters, like "8e03978e-40d5-43dd-bc93-6894a57f9324".',
);

interface KeyedRequest {
  readonly request: { readonly method: string };
  readonly path: string;
  readonly query: string;
  readonly principal: Principal;
  readonly keyOwner?: string | null | undefined;
  readonly services: { readonly keyLifetimeMs: number };
}

/** Binds a key to the caller, the method, the target and the bytes of the body. */
export function idempotencyKeyOf(
  context: KeyedRequest,
  key: string,
  body: Uint8Array,
): IdempotencyKey {
  const at = Date.now();
  const fingerprint = createHash("sha256")
    .update(`${context.request.method} ${context.path}?${context.query}\n`)
    .update(body)
    .digest("base64url");
  const owner = keyOwnerOf(context) ?? anonymousOwner(fingerprint);
  return { owner, key, fingerprint, at, expiresAt: at + context.services.keyLifetimeMs };
}

/** Returns whose keys the caller uses; null for one who is known by what it sends. */
export const keyOwnerOf = ({
  principal,
  keyOwner,
}: Pick<KeyedRequest, "principal" | "keyOwner">) =>
  keyOwner === undefined ? (callerIdOf(principal) ?? null) : keyOwner;

/** Marks the response as the stored one of an earlier request. */
export const replayedHeader = "Idempotency-Replayed";
