// Shows and replaces the access document.

import { type MaybePromise, then } from "../lib/maybe-promise.ts";
import { setsOf } from "../model/access/rule-fields.ts";
import type { Principal } from "../model/principal.ts";
import { type FieldError, Problem } from "../model/problem.ts";
import {
  type AccessDocument,
  accessDocumentOf,
  accessName,
  readAccessDocument,
} from "../model/schemas/access.ts";
import type { Store } from "../store/store.ts";
import { requireAdmin } from "./access.ts";
import { checkSets } from "./check-rules.ts";
import { preconditionFailed, tokenEnded } from "./problems.ts";
import { retryOnConflict } from "./retry.ts";
import type { SetDefinitions } from "./sets.ts";

/** Whether the document may be replaced, as it is now. */
export type DocumentCondition = (current: AccessDocument) => boolean;

export class AccessDocuments {
  readonly #store: Store;
  readonly #clock: () => number;

  constructor(store: Store, clock: () => number) {
    this.#store = store;
    this.#clock = clock;
  }

  find(principal: Principal): MaybePromise<AccessDocument | Problem> {
    return requireAdmin(principal) ?? then(this.#store.collection(accessName), accessDocumentOf);
  }

  /** Replaces the document by one that is not yet validated, if the condition holds at the commit. */
  async replace(
    principal: Principal,
    text: string,
    condition?: DocumentCondition,
  ): Promise<AccessDocument | Problem> {
    const forbidden = requireAdmin(principal);
    if (forbidden !== undefined) return forbidden;
    const document = readAccessDocument(text);
    if (!("roles" in document)) return invalid(document);
    const errors = [
      ...(await checkSets(this.#store, document.sets)),
      ...(await this.#missingSets(document.sets)),
    ];
    if (errors.length > 0) return invalid(errors);
    const definition = JSON.stringify(document);
    return retryOnConflict(async () => {
      const stored = await this.#store.collection(accessName);
      if (condition?.(accessDocumentOf(stored)) === false) return preconditionFailed;
      if (stored?.definition === definition) return document;
      const callerToken = principal.token?.id;
      const change = { kind: "define", collection: accessName, definition, callerToken } as const;
      const expected = condition && { replaces: stored?.definition ?? null };
      const [outcome] = await this.#store.commit([{ ...change, ...expected, at: this.#clock() }]);
      if (outcome?.kind === "revoked") return tokenEnded;
      return outcome?.kind === "outdated" ? undefined : document;
    });
  }

  /** Returns an error for each set that rules name and the document does not have. */
  async #missingSets(sets: SetDefinitions): Promise<readonly FieldError[]> {
    const collections = await this.#store.collections();
    return collections.flatMap((collection) =>
      setsOf(collection)
        .filter((name) => !Object.hasOwn(sets, name))
        .map((name) => ({
          pointer: "/sets",
          detail: `the rules of ${collection.name} name the set ${name}; change them first`,
        })),
    );
  }
}

const invalid = (errors: readonly FieldError[]): Problem =>
  new Problem("invalid-body", "The access document is not valid; `errors` lists each error.", {
    errors,
  });
