// Validates an incoming representation with the rules of its collection.

import type { Rules } from "../../model/collection.ts";
import { definitionOf } from "../../model/definition.ts";
import type { Draft } from "../../model/draft.ts";
import { isResourceId } from "../../model/id.ts";
import { type FieldError, Problem } from "../../model/problem.ts";
import type { Resource } from "../../model/resource.ts";
import { validatorOf } from "../../model/validator.ts";
import { acceptFields, type ResourceContent, type WriteTarget } from "../../model/write/accept.ts";
import type { Put } from "../../store/store.ts";
import type { CollectionAccess } from "../collection-access.ts";
import { type AddressedOperation, filesOf } from "./operation.ts";

/** What will be stored. */
export type Accepted = ResourceContent & Pick<Put, "setOwner"> & NamedAddresses;

export interface NamedAddresses {
  /** The addresses that a caller refers to anew, when it does not see the whole state before. */
  readonly named?: ReadonlySet<string>;
}

/** Returns what will be stored, or a problem with all errors. */
export function accept(
  { isAdmin, rules, principal }: CollectionAccess,
  fields: string,
  target: WriteTarget,
): Accepted | Problem {
  const accepted = acceptFields(rules, fields, isAdmin, {
    ...target,
    // Only the commands of the operator write as the server itself.
    isImport: principal.kind === "system",
  });
  if (!("errors" in accepted)) return accepted;
  const { errors, maxBytes } = accepted;
  return maxBytes === undefined ? invalid(errors) : tooLarge(maxBytes);
}

/** Returns whether validation depends on the current state. */
export const needsCurrent = (rules: Rules | undefined): boolean =>
  rules !== undefined && validatorOf(definitionOf(rules)).dependsOnStored;

const invalid = (errors: readonly FieldError[]): Problem =>
  new Problem("invalid-body", "The resource is not valid; `errors` lists each error.", { errors });

const tooLarge = (maxBytes: number): Problem =>
  new Problem(
    "content-too-large",
    `A resource of this collection may have at most ${maxBytes} bytes. Nothing was stored.`,
  );

/** Checks what does not depend on the current state. */
export const checkPutDraft = (id: string, draft: Draft): Problem | undefined =>
  checkId(id) ?? (draft.id !== undefined && draft.id !== id ? idMismatch : undefined);

/** Checks the id in a URL, which may be that of a new resource. */
export const checkId = (id: string): Problem | undefined =>
  isResourceId(id) ? undefined : invalidId;

const invalidId = new Problem("invalid-parameter", "The id in the URL is not valid.", {
  errors: [
    {
      parameter: "id",
      detail:
        "an id has 1 to 128 characters of A-Z a-z 0-9 . _ ~ -, and starts with a letter or digit",
    },
  ],
});

export const idMismatch = new Problem(
  "conflict",
  "The id in the body does not match the id in the URL.",
  {
    errors: [{ pointer: "/id", detail: "leave it out, or send the id of the URL" }],
  },
);

/** Whether the change is right for any current state without files, so that it is hardly ever repeated. */
export function isPlain(
  operation: AddressedOperation,
  access: CollectionAccess,
  current: Resource | undefined,
): boolean {
  if (operation.kind !== "put" && operation.kind !== "remove") return false;
  // The files of the former state must be known, because they are removed.
  const hasFiles = current?.files !== undefined || filesOf(operation).length > 0;
  if (access.isOwned || !access.caller.writesWhole || hasFiles) return false;
  if (operation.kind === "remove") return true;
  const isFreeToPut = (access.require("create") ?? access.require("update")) === undefined;
  return isFreeToPut && !needsCurrent(access.rules);
}
