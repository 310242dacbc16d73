// Finds the caller of a request by the credential that it sends, of whatever kind.

import { type MaybePromise, then } from "../lib/maybe-promise.ts";
import { ownText } from "../lib/own-text.ts";
import { RecentMap } from "../lib/recent-map.ts";
import { anonymous, type Credential, type Principal } from "../model/principal.ts";
import type { Problem } from "../model/problem.ts";
import { hashSecret, isSecret } from "../model/secret.ts";
import type { Store } from "../store/store.ts";
import type { CallerKind } from "./caller-kind.ts";
import { tokenEnded, unauthenticated } from "./problems.ts";
import { TokenCallers } from "./token-callers.ts";
import { TokenUses } from "./token-uses.ts";

/** To find a token takes as long as a whole GET, so recent callers are cached. */
const maxCallers = 200_000;

export class Callers {
  readonly #clock: () => number;
  readonly #kinds: Readonly<Record<Credential["kind"], CallerKind>>;
  /** By secret. Only those with valid credentials, so that guesses do not fill the cache. */
  readonly #recent = new RecentMap<string, Principal>(maxCallers);

  constructor(store: Store, clock: () => number, uses: TokenUses = new TokenUses(store)) {
    this.#clock = clock;
    this.#kinds = { token: new TokenCallers(store, clock, uses) };
  }

  /** Returns the principal of a valid secret. The lookup is by hash, so its timing reveals nothing. */
  identify(secret: string): MaybePromise<Principal | undefined> {
    const last = this.#recent.get(secret);
    if (last === undefined && !isSecret(secret)) return undefined;
    const { kind = "token", hash = hashSecret(secret) } = last?.credential ?? {};
    const found = this.#kinds[kind].find(hash, last);
    return found instanceof Promise
      ? found.then((principal) => this.#admit(secret, last, principal))
      : this.#admit(secret, last, found);
  }

  #admit(secret: string, last: Principal | undefined, principal: Principal | undefined) {
    if (principal?.credential === undefined) return undefined;
    this.#kinds[principal.credential.kind].use(principal.credential, this.#clock());
    if (principal !== last) this.#recent.set(ownText(secret), principal);
    return principal;
  }

  /** Returns the principal as it is now. Its credential can have ended, and its roles can have changed. */
  renew(principal: Principal): MaybePromise<Principal | Problem> {
    const { credential } = principal;
    if (credential === undefined) return principal;
    const found = this.#kinds[credential.kind].find(credential.hash, principal);
    return then(found, (current) => current ?? tokenEnded);
  }

  /** Returns who holds the credential with this hash now; the anonymous caller for none, undefined when it has ended. */
  holder(hash: string): MaybePromise<Principal | undefined> {
    return hash === "" ? anonymous : this.#kinds.token.find(hash);
  }

  /** Records a use by a principal that was identified before; false when its credential has expired since. */
  use({ credential }: Principal, now: number): boolean {
    if (credential === undefined) return false;
    const { kind, expiresAt } = credential;
    if (expiresAt !== null && expiresAt <= now) return false;
    this.#kinds[kind].use(credential, now);
    return true;
  }

  /** Ends the credential that the caller has sent, at once in every process. */
  async end({ credential }: Principal): Promise<Problem | undefined> {
    return credential === undefined
      ? unauthenticated
      : this.#kinds[credential.kind].end(credential.id);
  }
}
