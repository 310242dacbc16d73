// A principal: who is calling, its subject, and what it may do.

import type { Scope, Token } from "./token.ts";

export interface Principal {
  readonly kind: "anonymous" | "token" | "user" | "system";
  /** The owner of what the caller creates. Undefined for anonymous callers. */
  readonly subject: string | undefined;
  /** Those of its token and of its roles. */
  readonly scopes: readonly Scope[];
  readonly roles: readonly string[];
  /** The token that the caller sent. */
  readonly token: Token | undefined;
  /** The version of the tokens before it was read, where the store tells. */
  readonly tokenVersion?: number | undefined;
  /** The version of the access document that its roles are from; undefined for a token without roles. */
  readonly accessVersion?: number;
}

/** A caller without a token. It may use what a collection opens to everyone. */
export const anonymous: Principal = Object.freeze({
  kind: "anonymous",
  subject: undefined,
  scopes: Object.freeze([]),
  roles: Object.freeze([]),
  token: undefined,
});

/** The server itself: it applies definitions at start and runs commands of the operator. */
export const system: Principal = Object.freeze({
  kind: "system",
  subject: undefined,
  scopes: Object.freeze(["admin"]),
  roles: Object.freeze([]),
  token: undefined,
});
