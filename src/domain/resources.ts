// Finds single resources and their files.

import { type MaybePromise, then } from "../lib/maybe-promise.ts";
import { definitionOf } from "../model/definition.ts";
import { memberOf, readFiles, type StoredFile } from "../model/file.ts";
import { Problem } from "../model/problem.ts";
import type { Resource } from "../model/resource.ts";
import type { Verb } from "../model/token.ts";
import { type ResourceValidator, validatorOf } from "../model/validator.ts";
import type { Store } from "../store/store.ts";
import type { CollectionAccess } from "./collection-access.ts";
import type { Mask } from "./mask.ts";
import { resourceNotFound } from "./problems.ts";

/** A resource, and how the caller sees it. */
export interface ShownResource {
  readonly resource: Resource;
  readonly mask: Mask;
}

export class Resources {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Finds a resource that the caller may read. */
  find(access: CollectionAccess, id: string): MaybePromise<ShownResource | Problem>;
  /** Finds a resource that the caller may access with this verb. */
  find(
    access: CollectionAccess,
    id: string,
    verb: Verb,
  ): MaybePromise<Pick<ShownResource, "resource"> | Problem>;
  find(
    access: CollectionAccess,
    id: string,
    verb: Verb = "read",
  ): MaybePromise<Pick<ShownResource, "resource"> | Problem> {
    const forbidden = access.require(verb);
    if (forbidden !== undefined) return forbidden;
    if (access.rules === undefined) return resourceNotFound;
    return then(access.takeEarly(id) ?? this.#store.find(access.name, id), (resource) => {
      if (resource === undefined) return notFound(access, id, verb);
      return verb === "read"
        ? then(access.mask(resource), (mask) =>
            mask ? { resource, mask } : notFound(access, id, verb),
          )
        : then(
            access.decide(() => access.includes(verb, resource)),
            (isSeen) => (isSeen ? { resource } : notFound(access, id, verb)),
          );
    });
  }

  /** Whether the caller sees a resource that was found earlier in the same way, and it has not changed since. */
  isCurrentFor(access: CollectionAccess, earlier: ShownResource): boolean {
    const found = this.find(access, earlier.resource.id);
    return (
      "resource" in found && found.resource === earlier.resource && found.mask === earlier.mask
    );
  }
}

/** The same answer after the same reads, whether the resource is hidden or missing. */
export const notFound = (access: CollectionAccess, id: string, verb: Verb): MaybePromise<Problem> =>
  then(
    access.decide(() => access.askForUnseen(verb, id)),
    () => resourceNotFound,
  );

/** Returns the file in a slot of a resource that the caller may read, without a name that nobody is shown. */
export function fileAt({ resource, mask }: ShownResource, slot: string): StoredFile | Problem {
  const part = readFiles(resource.files).find((one) => one.slot === slot);
  if (part === undefined || !showsFile(mask, slot)) return fileNotFound;
  const isNameHidden = validatorIn(mask)?.isHidden(`${memberOf(part)}.name`) === true;
  return isNameHidden ? { ...part, name: "" } : part;
}

const validatorIn = ({ rules }: Mask): ResourceValidator | undefined =>
  rules && validatorOf(definitionOf(rules));

/** When the bytes of a file came, and whether no other state has the same HTTP date. */
export const dateOf = (resource: Resource, { uploadedAt, sharesDate }: StoredFile) =>
  uploadedAt === undefined
    ? { updatedAt: resource.createdAt, isDateExact: resource.sharesDate !== true }
    : { updatedAt: uploadedAt, isDateExact: sharesDate !== true };

/** Whether a caller sees the member that a file is in. */
export function showsFile(mask: Mask, slot: string): boolean {
  const member = memberOf({ slot });
  return mask.shows(member) && validatorIn(mask)?.isHidden(member) !== true;
}

export const fileNotFound = new Problem("not-found", "The resource has no file at this address.");
