// Idempotency-Key (draft-ietf-httpapi-idempotency-key-header): a retry is answered, not done again.

import { createHash } from "node:crypto";
import { Problem } from "../../model/problem.ts";
import type { IdempotencyKey } from "../../store/store.ts";
import type { RequestContext } from "../context.ts";

/** Long enough for a client that was offline over a week-end and a holiday. */
const keptMs = 7 * 24 * 60 * 60 * 1000;

/** A Structured Field String; without quotes too, as older clients send it. */
const quoted = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\]){1,255})"$/;
const bare = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]{1,255}$/;

/** The key of the request; undefined when it has none. */
export function readKey(headers: Headers): string | Problem | undefined {
  const field = headers.get("idempotency-key");
  if (field === null) return undefined;
  const [, inner] = quoted.exec(field) ?? [];
  if (inner !== undefined) return inner.replaceAll(/\\(["\\])/g, "$1");
  return bare.test(field) ? field : badKey;
}

const badKey = new Problem(
  "malformed-request",
  'Idempotency-Key is one string of 1 to 255 ASCII characters, like "8e03978e-40d5-43dd-bc93-6894a57f9324".',
);

type Asked = Pick<RequestContext, "path" | "query" | "caller"> & {
  readonly request: { readonly method: string };
};

/**
 * Bound to the caller, the method, the target and the very bytes of the body. Callers without a token
 * are told apart by what they send: nobody learns of another's key, or is refused because of it.
 */
export function onceOf(context: Asked, key: string, body: Uint8Array): IdempotencyKey {
  const at = Date.now();
  const fingerprint = createHash("sha256")
    .update(`${context.request.method} ${context.path}?${context.query}\n`)
    .update(body)
    .digest("base64url");
  const owner = context.caller?.id ?? `anonymous:${fingerprint}`;
  return { owner, key, fingerprint, at, keptUntil: at + keptMs };
}

/** Tells the client that this answer is the one from before. */
export const replayedField = "idempotency-replayed";
