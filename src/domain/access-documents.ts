// Shows and replaces the access document.

import { type MaybePromise, then } from "../lib/maybe-promise.ts";
import { setsOf } from "../model/access/rule-fields.ts";
import type { Collection, Rules } from "../model/collection.ts";
import { callerTokenOf, type Principal } from "../model/principal.ts";
import { type FieldError, Problem } from "../model/problem.ts";
import {
  type AccessDocument,
  accessDocumentOf,
  accessName,
  readAccessDocument,
} from "../model/schemas/access.ts";
import type { Store } from "../store/store.ts";
import { requireAdmin } from "./access.ts";
import { checkSets, type RulesView } from "./check-rules.ts";
import { notBefore } from "./contract.ts";
import { preconditionFailed, tokenEnded } from "./problems.ts";
import { retryOnConflict } from "./retry.ts";
import type { SetDefinitions } from "./sets.ts";

/** A collection as it is, or as it will be. */
export type NamedRules = Collection | (Rules & Pick<Collection, "name">);

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
    const collections = await this.#store.collections();
    const document = await checkedDocument(this.#store, principal, text, collections);
    if (document instanceof Problem) return document;
    const definition = JSON.stringify(document);
    return retryOnConflict(async () => {
      const stored = await this.#store.collection(accessName);
      if (condition?.(accessDocumentOf(stored)) === false) return preconditionFailed;
      if (stored?.definition === definition) return document;
      const callerToken = callerTokenOf(principal);
      const change = { kind: "define", collection: accessName, definition, callerToken } as const;
      const expected = condition && { replaces: stored?.definition ?? null };
      const at = notBefore(this.#clock(), collections);
      const [outcome] = await this.#store.commit([{ ...change, ...expected, at }]);
      if (outcome?.kind === "revoked") return tokenEnded;
      return outcome?.kind === "outdated" ? undefined : document;
    });
  }
}

/** Reads an access document. Rules of these collections may name no other sets than it has. */
export async function checkedDocument(
  store: RulesView,
  principal: Principal,
  text: string,
  collections: readonly NamedRules[],
): Promise<AccessDocument | Problem> {
  const forbidden = requireAdmin(principal);
  if (forbidden !== undefined) return forbidden;
  const document = readAccessDocument(text);
  if (!("roles" in document)) return invalid(document);
  const errors = [
    ...(await checkSets(store, document.sets)),
    ...missingSets(document.sets, collections),
  ];
  return errors.length > 0 ? invalid(errors) : document;
}

/** Returns an error for each set that rules name and the document does not have. */
const missingSets = (
  sets: SetDefinitions,
  collections: readonly NamedRules[],
): readonly FieldError[] =>
  collections.flatMap((collection) =>
    setsOf(collection)
      .filter((name) => !Object.hasOwn(sets, name))
      .map((name) => ({
        pointer: "/sets",
        detail: `the rules of ${collection.name} name the set ${name}; change them first`,
      })),
  );

const invalid = (errors: readonly FieldError[]): Problem =>
  new Problem("invalid-body", "The access document is not valid; `errors` lists each error.", {
    errors,
  });
