// Finds single resources and their files.

import { type MaybePromise, then } from "../lib/maybe-promise.ts";
import type { Rules } from "../model/collection.ts";
import { definitionOf } from "../model/definition.ts";
import { memberOf, readFiles, type StoredFile } from "../model/file.ts";
import { Problem } from "../model/problem.ts";
import type { Resource } from "../model/resource.ts";
import type { Verb } from "../model/token.ts";
import { validatorOf } from "../model/validator.ts";
import type { Store } from "../store/store.ts";
import type { CollectionAccess } from "./collection-access.ts";
import { resourceNotFound } from "./problems.ts";

/** A resource, and the rules that decide how it is shown. */
export interface ResourceWithRules {
  readonly resource: Resource;
  readonly rules: Rules;
}

export class Resources {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Finds a resource that the caller may access with this verb. */
  find(
    access: CollectionAccess,
    id: string,
    verb: Verb = "read",
  ): MaybePromise<ResourceWithRules | Problem> {
    const { name, rules } = access;
    const forbidden = access.require(verb);
    if (forbidden !== undefined) return forbidden;
    if (rules === undefined) return resourceNotFound;
    return then(this.#store.find(name, id), (resource) => {
      if (resource === undefined) return resourceNotFound;
      return then(
        access.decide(() => access.includes(verb, resource)),
        (isSeen) => (isSeen ? { resource, rules } : resourceNotFound),
      );
    });
  }

  /** Whether the caller may read a resource that was found earlier, and it has not changed since. */
  isCurrentFor(access: CollectionAccess, earlier: ResourceWithRules): boolean {
    const found = this.find(access, earlier.resource.id);
    return (
      "resource" in found && found.resource === earlier.resource && found.rules === earlier.rules
    );
  }
}

/** Returns the file in a slot of a resource that the caller may read. */
export function fileAt({ resource, rules }: ResourceWithRules, slot: string): StoredFile | Problem {
  const part = readFiles(resource.files).find((one) => one.slot === slot);
  const isHidden = part && validatorOf(definitionOf(rules)).isHidden(memberOf(part));
  return part === undefined || isHidden ? fileNotFound : part;
}

const fileNotFound = new Problem("not-found", "The resource has no file at this address.");
