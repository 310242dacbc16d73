// Finds the callers that send a token.

import { type MaybePromise, then } from "../lib/maybe-promise.ts";
import type { Rules } from "../model/collection.ts";
import type { Credential, Principal } from "../model/principal.ts";
import type { Problem } from "../model/problem.ts";
import {
  accessDocumentOf,
  accessName,
  accessVersionOf,
  withRoleScopes,
} from "../model/schemas/access.ts";
import { isAlive, type Token } from "../model/token.ts";
import type { Store } from "../store/store.ts";
import type { CallerKind } from "./caller-kind.ts";
import { tokenEnded } from "./problems.ts";
import type { TokenUses } from "./token-uses.ts";

class TokenCredential implements Credential {
  readonly kind = "token";
  readonly id: string;
  readonly hash: string;
  readonly name: string;
  readonly expiresAt: number | null;
  /** As it was read last. */
  token: Token;
  /** The version of the tokens before it was read, where the store tells. */
  version: number | undefined;

  constructor(token: Token, version: number | undefined) {
    this.id = token.id;
    this.hash = token.hash;
    this.name = token.name;
    this.expiresAt = token.expiresAt;
    this.token = token;
    this.version = version;
  }
}

export class TokenCallers implements CallerKind {
  readonly #store: Store;
  readonly #clock: () => number;
  readonly #uses: TokenUses;

  constructor(store: Store, clock: () => number, uses: TokenUses) {
    this.#store = store;
    this.#clock = clock;
    this.#uses = uses;
  }

  find(hash: string, last?: Principal): MaybePromise<Principal | undefined> {
    const known = last?.credential instanceof TokenCredential ? last.credential : undefined;
    // First, because a commit after it has another number.
    const version = this.#store.tokenVersion?.();
    const isSame = known !== undefined && version !== undefined && version === known.version;
    const read = isSame ? known.token : this.#store.token(hash);
    return read instanceof Promise
      ? read.then((token) => this.#admit(token, version, known, last))
      : this.#admit(read, version, known, last);
  }

  /** Nothing of a token changes but its end and its last use. */
  #admit(
    token: Token | undefined,
    version: number | undefined,
    known: TokenCredential | undefined,
    last: Principal | undefined,
  ): MaybePromise<Principal | undefined> {
    if (token === undefined || !isAlive(token, this.#clock())) return undefined;
    if (known !== undefined) {
      known.token = token;
      known.version = version;
    }
    const credential = known ?? new TokenCredential(token, version);
    if (token.roles.length === 0) return last ?? principalOf(credential);
    return then(this.#store.rules(accessName), (document) =>
      last?.accessVersion === accessVersionOf(document) ? last : principalOf(credential, document),
    );
  }

  use(credential: Credential, now: number): void {
    if (credential instanceof TokenCredential) this.#uses.add(credential.token, now);
  }

  async end(id: string): Promise<Problem | undefined> {
    const revocation = { kind: "revoke-token", id, at: this.#clock(), callerToken: id } as const;
    const [outcome] = await this.#store.commit([revocation]);
    return outcome?.kind === "done" ? undefined : tokenEnded;
  }
}

function principalOf(credential: TokenCredential, document?: Rules): Principal {
  const { subject, scopes, roles } = credential.token;
  if (roles.length === 0) return { kind: "token", subject, scopes, roles, credential };
  const held = withRoleScopes(credential.token, accessDocumentOf(document));
  return {
    kind: "token",
    subject,
    ...held,
    credential,
    accessVersion: accessVersionOf(document),
  };
}
