// A principal: who is calling, its subject, and what it may do.

import type { Scope } from "./token.ts";

/** What a caller proved itself with. It is stored; its secret is not. */
export interface Credential {
  readonly kind: "token";
  readonly id: string;
  /** Of its secret, by which it is found. */
  readonly hash: string;
  readonly name: string;
  readonly expiresAt: number | null;
}

export interface Principal {
  readonly kind: "anonymous" | "token" | "user" | "system";
  /** The owner of what the caller creates. Undefined for anonymous callers. */
  readonly subject: string | undefined;
  /** Those of its credential and of its roles. */
  readonly scopes: readonly Scope[];
  readonly roles: readonly string[];
  readonly credential: Credential | undefined;
  /** The version of the access document that its roles are from; undefined for a caller without roles. */
  readonly accessVersion?: number;
}

/** A caller without a credential. It may use what a collection opens to everyone. */
export const anonymous: Principal = Object.freeze({
  kind: "anonymous",
  subject: undefined,
  scopes: Object.freeze([]),
  roles: Object.freeze([]),
  credential: undefined,
});

/** The server itself: it applies definitions at start and runs commands of the operator. */
export const system: Principal = Object.freeze({
  kind: "system",
  subject: undefined,
  scopes: Object.freeze(["admin"]),
  roles: Object.freeze([]),
  credential: undefined,
});

/**
 * Whose Idempotency-Keys a caller uses, and for whom its requests are counted: a token for itself, a user
 * with all its credentials together. Undefined for anonymous callers and the server.
 */
export const callerIdOf = ({ kind, credential, subject }: Principal): string | undefined =>
  kind === "user" ? subject : (credential?.id ?? subject);

/**
 * The token that a commit of the caller is compared with. What another kind of credential is, and the account
 * behind it, are rows of collections: a commit is compared with them by `unchanged`.
 */
export const callerTokenOf = ({ credential }: Principal): string | undefined =>
  credential?.kind === "token" ? credential.id : undefined;
