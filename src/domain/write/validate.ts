// Validates an incoming representation with the rules of its collection.

import type { Rules } from "../../model/collection.ts";
import { type Definition, definitionOf } from "../../model/definition.ts";
import type { Draft } from "../../model/draft.ts";
import { addFileMembers, readFiles, type StoredFile, writeFiles } from "../../model/file.ts";
import { isResourceId } from "../../model/id.ts";
import { type FieldError, Problem } from "../../model/problem.ts";
import { entryErrors } from "../../model/query/entry-limit.ts";
import type { Resource } from "../../model/resource.ts";
import { separateFiles } from "../../model/retained-files.ts";
import { validatorOf } from "../../model/validator.ts";
import type { Put } from "../../store/store.ts";
import type { CollectionAccess } from "../access.ts";

/** Where a draft will be stored, and what is known about that address. */
export interface WriteTarget {
  /** The address of the resource. */
  readonly address: string;
  /** The current state. */
  readonly current: Resource | undefined;
  /** The files that were sent with the draft. */
  readonly files?: readonly StoredFile[];
  /** Whether the caller may not read the current state. */
  readonly isUnread?: boolean;
}

/** The properties of the caller that affect validation. */
type Writer = { readonly isAdmin: boolean } & Required<Pick<WriteTarget, "isUnread">>;

/** What will be stored, with the files that the representation still names. */
export type Accepted = Pick<Resource, "fields" | "files"> & Pick<Put, "setOwner">;

/** Returns the text to store: the sent fields and the defaults of the schema. */
export function accept(
  { isAdmin, rules }: CollectionAccess,
  fields: string,
  { address, current, files = readFiles(current?.files), isUnread = false }: WriteTarget,
): Accepted | Problem {
  const writer = { isAdmin, isUnread };
  if (files.length === 0) return validate(writer, rules, fields, current?.fields);
  // The schema validates the whole representation, with files as they are shown.
  const shown = current === undefined ? { fields, files } : separateFiles(fields, files);
  const whole = addFileMembers(shown.fields, shown.files, address);
  const before = current && addFileMembers(current.fields, files, address);
  return validate(writer, rules, whole, before, files);
}

function validate(
  writer: Writer,
  rules: Rules | undefined,
  fields: string,
  before: string | undefined,
  files: readonly StoredFile[] = [],
): Accepted | Problem {
  if (rules === undefined) return splitFiles(fields, files);
  const definition = definitionOf(rules);
  const text = definition.schema ? complete(writer, definition, fields, before) : fields;
  if (typeof text !== "string") return invalid(text);
  const accepted = splitFiles(text, files);
  const { maxBytes, indexed, unique } = definition;
  const isIndexed = indexed.length > 0 || unique.length > 0;
  const tooMany = isIndexed ? entryErrors(definition, accepted.fields) : [];
  if (tooMany.length > 0) return invalid(tooMany);
  const isTooLarge = maxBytes !== undefined && Buffer.byteLength(accepted.fields) > maxBytes;
  return isTooLarge ? tooLarge(maxBytes) : accepted;
}

/** Validates with the schema and returns the text with its defaults, or all errors. */
function complete(
  { isAdmin, isUnread }: Writer,
  definition: Definition,
  fields: string,
  before: string | undefined,
): string | readonly FieldError[] {
  const validator = validatorOf(definition);
  // A client that writes back what it read must not lose hidden fields.
  const whole = before && validator.hasHidden ? validator.withHidden(fields, before) : fields;
  return validator.accept(whole, before, isAdmin, isUnread);
}

function splitFiles(whole: string, candidates: readonly StoredFile[]): Accepted {
  if (candidates.length === 0) return { fields: whole };
  const { fields, files } = separateFiles(whole, candidates);
  const text = writeFiles(files);
  return text === undefined ? { fields } : { fields, files: text };
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
export function checkPutDraft(id: string, draft: Draft): Problem | undefined {
  if (!isResourceId(id)) return invalidId;
  return draft.id !== undefined && draft.id !== id ? idMismatch : undefined;
}

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
