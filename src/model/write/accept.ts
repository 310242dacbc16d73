// Validates the fields of a resource with the definition of its collection, and returns what is stored.

import { pointerTo } from "../../lib/json/error-report.ts";
import {
  emptyObject,
  isEmptyList,
  isObject,
  readTree,
  sameTree,
  type Tree,
  writeTree,
} from "../../lib/json/tree.ts";
import type { Rules } from "../collection.ts";
import { type Definition, definitionOf } from "../definition.ts";
import {
  addFileMembers,
  memberOf,
  noFiles,
  readFiles,
  type StoredFile,
  writeFiles,
} from "../file.ts";
import type { FieldError } from "../problem.ts";
import { entryErrors } from "../query/entry-limit.ts";
import type { Resource } from "../resource.ts";
import { type SeparatedFiles, separateFiles, staleMembers } from "../retained-files.ts";
import { adminOnlyChange, validatorOf } from "../validator.ts";

/** The text and the files of a resource. */
export type ResourceContent = Pick<Resource, "fields" | "files">;

/** Where the fields will be stored, and what is known about that address. */
export interface WriteTarget {
  /** The address of the resource. */
  readonly address: string;
  /** The current state. */
  readonly current: ResourceContent | undefined;
  /** The files that were sent. The fields have a member for each. */
  readonly files?: readonly StoredFile[];
  /** Whether the caller may not read the current state. */
  readonly isUnread?: boolean;
  /** Whether descriptions of files are taken without their bytes, as those of an export are. */
  readonly isImport?: boolean;
  /** The values that the server sets, also those of read-only fields. */
  readonly set?: Readonly<Record<string, unknown>>;
}

/** Why fields are not accepted. */
export interface RejectedFields {
  readonly errors: readonly FieldError[];
  /** The limit of the definition that the resource exceeds. */
  readonly maxBytes?: number;
}

/** The properties of the caller that affect validation. */
interface WriterRights extends Required<Pick<WriteTarget, "isUnread" | "isImport">> {
  readonly isAdmin: boolean;
  readonly set: WriteTarget["set"] | undefined;
}

/** Returns the content to store: the fields with the defaults of the schema, and the files that they still name. */
export function acceptFields(
  rules: Rules | undefined,
  fields: string,
  isAdmin: boolean,
  target: WriteTarget,
): ResourceContent | RejectedFields {
  const { current, files: sent = noFiles, isUnread = false, isImport = false, set } = target;
  const writer = { isAdmin, isUnread, isImport, set };
  return sent.length === 0 && current?.files === undefined
    ? validate(writer, rules, fields, current?.fields)
    : acceptWithFiles(writer, rules, fields, target);
}

function acceptWithFiles(
  writer: WriterRights,
  rules: Rules | undefined,
  fields: string,
  { address, current, files: sent = [] }: WriteTarget,
): ResourceContent | RejectedFields {
  const stored = readFiles(current?.files);
  const isReplaced = ({ slot }: StoredFile) => sent.some((file) => file.slot === slot);
  const files = [...sent, ...stored.filter((file) => !isReplaced(file))];
  if (files.length === 0) return validate(writer, rules, fields, current?.fields);
  // The schema validates the whole representation, with files as they are shown.
  const shown = withProtected(writer, rules, separateFiles(fields, files), files);
  if ("errors" in shown) return shown;
  const kept = new Set(shown.files);
  const lost = files.filter((file) => !kept.has(file));
  const stale = staleMembers(shown.fields, lost);
  if (stale.length > 0) return { errors: stale.map(staleFile) };
  const whole = addFileMembers(shown.fields, shown.files, address);
  const before = current && addFileMembers(current.fields, stored, address);
  const accepted = validate(writer, rules, whole, before, files);
  if ("errors" in accepted) return accepted;
  // A rule may replace a stored file as a whole.
  const { set = {} } = writer;
  const isReplacing = (file: StoredFile) => Object.hasOwn(set, memberOf(file));
  const named = shown.files.filter((file) => sent.includes(file) || !isReplacing(file));
  return refuseLost(named, accepted) ?? accepted;
}

/** Rejects a changed or old description of a file, because it would replace the bytes. */
const staleFile = (member: string): FieldError => ({
  pointer: pointerTo([member]),
  detail:
    "this describes a stored file, but not as it is: send the file's member as the resource shows it, null to delete the file, or new bytes",
});

/** A file of which only an administrator sets a part stays when it is left out, as a read-only field does. */
function withProtected(
  { isAdmin, set = {} }: WriterRights,
  rules: Rules | undefined,
  { fields, files }: SeparatedFiles,
  candidates: readonly StoredFile[],
): SeparatedFiles | RejectedFields {
  const validator = rules && validatorOf(definitionOf(rules));
  if (isAdmin || !validator?.dependsOnStored) return { fields, files };
  const known = new Set(files.map(memberOf));
  const isProtected = (member: string) =>
    !known.has(member) && !Object.hasOwn(set, member) && validator.holdsReadOnly(member);
  const left = candidates.filter((file) => isProtected(memberOf(file)));
  const tree = left.length === 0 ? undefined : readTree(fields);
  const changed = left.filter((file) => isObject(tree) && tree.members.has(memberOf(file)));
  const errors = changed.map((file) => ({
    pointer: pointerTo([memberOf(file)]),
    detail: adminOnlyChange,
  }));
  return errors.length > 0 ? { errors } : { fields, files: [...files, ...left] };
}

/** Rejects files that the rules of the collection change, because their bytes would be lost. */
function refuseLost(
  named: readonly StoredFile[],
  { files }: ResourceContent,
): RejectedFields | undefined {
  const kept = new Set(readFiles(files).map(({ key }) => key));
  const lost = named.filter(({ key }) => !kept.has(key));
  const detail = "the collection sets a value inside this file, which only the server describes";
  const errors = lost.map((file) => ({ pointer: pointerTo([memberOf(file)]), detail }));
  return errors.length === 0 ? undefined : { errors };
}

function validate(
  writer: WriterRights,
  rules: Rules | undefined,
  sent: string,
  stored: string | undefined,
  files: readonly StoredFile[] = noFiles,
): ResourceContent | RejectedFields {
  if (rules === undefined) return splitFiles(sent, files);
  const definition = definitionOf(rules);
  const { set } = writer;
  const { text: given, errors: forged } = checkFiles(writer, definition, sent, stored, files);
  const fields = set ? withValues(given, set) : given;
  // An equal value of a read-only field is no change.
  const before = set ? withValues(stored ?? "{}", set) : stored;
  const whole = definition.schema && before ? withHidden(definition, fields, before) : fields;
  const text = definition.schema ? complete(writer, definition, whole, before) : whole;
  if (typeof text !== "string" || forged.length > 0) return { errors: joined(forged, text) };
  const accepted = splitFiles(withFilesOf(whole, text, files), files);
  const { maxBytes, indexed, unique } = definition;
  const isIndexed = indexed.length > 0 || unique.length > 0;
  const errors = isIndexed ? entryErrors(definition, accepted.fields) : [];
  if (errors.length > 0) return { errors };
  const isTooLarge = maxBytes !== undefined && Buffer.byteLength(accepted.fields) > maxBytes;
  return isTooLarge ? { errors, maxBytes } : accepted;
}

/**
 * Finds members that the schema marks as files, and that are neither a file of the resource nor what is stored.
 * An import keeps them without their URL, because there is nothing at it.
 */
function checkFiles(
  { isImport }: WriterRights,
  definition: Definition,
  text: string,
  stored: string | undefined,
  files: readonly StoredFile[],
): { readonly text: string; readonly errors: readonly FieldError[] } {
  const { fileMembers } = validatorOf(definition);
  const tree = fileMembers.length === 0 ? undefined : readTree(separateFiles(text, files).fields);
  if (!isObject(tree)) return { text, errors: [] };
  const before = stored === undefined ? undefined : readTree(stored);
  const isNew = (member: string): boolean => {
    const value = tree.members.get(member);
    const isEmpty = value === undefined || value === "null" || isEmptyList(value);
    const former = isObject(before) ? before.members.get(member) : undefined;
    return !isEmpty && !(former !== undefined && sameTree(value, former));
  };
  const forged = fileMembers.filter(isNew);
  if (!isImport || forged.length === 0) return { text, errors: forged.map(notUploaded) };
  const whole = readTree(text);
  const given = isObject(whole) ? whole.members : new Map<string, Tree>();
  for (const value of forged.map((member) => given.get(member)))
    for (const item of typeof value === "object" && value.kind === "array" ? value.items : [value])
      if (isObject(item)) item.members.delete("url");
  return { text: writeTree(whole), errors: [] };
}

const notUploaded = (member: string): FieldError => ({
  pointer: pointerTo([member]),
  detail:
    "this is a file, which only an upload sets: send its bytes in a form or with PUT, or the member as the resource shows it",
});

/** What the schema says about such a member says nothing more. */
const joined = (
  forged: readonly FieldError[],
  others: string | readonly FieldError[],
): readonly FieldError[] => [
  ...forged,
  ...(typeof others === "string" ? [] : others).filter(
    ({ pointer }) =>
      !forged.some((each) => pointer === each.pointer || pointer.startsWith(`${each.pointer}/`)),
  ),
];

/** A client that writes back what it read must not lose hidden fields. */
function withHidden(definition: Definition, fields: string, before: string): string {
  const validator = validatorOf(definition);
  return validator.hasHidden ? validator.withHidden(fields, before) : fields;
}

/** Validates with the schema and returns the text with its defaults, or all errors. */
const complete = (
  { isAdmin, isUnread }: WriterRights,
  definition: Definition,
  fields: string,
  before: string | undefined,
): string | readonly FieldError[] =>
  validatorOf(definition).accept(fields, before, isAdmin, isUnread);

/** Returns the completed text with the files as they were before: a default within one is not stored. */
function withFilesOf(whole: string, completed: string, candidates: readonly StoredFile[]): string {
  const { files } = whole === completed ? { files: noFiles } : separateFiles(whole, candidates);
  const [from, tree] = files.length === 0 ? [] : [readTree(whole), readTree(completed)];
  if (!isObject(from) || !isObject(tree)) return completed;
  for (const member of files.map(memberOf))
    tree.members.set(member, from.members.get(member) ?? "null");
  return writeTree(tree);
}

/** Sets fields by their paths. What is no object on the way to one is replaced by an object. */
function withValues(text: string, values: Readonly<Record<string, unknown>>): string {
  const tree = readTree(text);
  if (!isObject(tree)) return text;
  for (const [field, value] of Object.entries(values)) {
    const steps = field.split(".");
    const last = steps.pop() ?? "";
    let level = tree;
    for (const step of steps) {
      const next = level.members.get(step);
      const inner = isObject(next) ? next : emptyObject();
      level.members.set(step, inner);
      level = inner;
    }
    level.members.set(last, readTree(JSON.stringify(value)));
  }
  return writeTree(tree);
}

function splitFiles(whole: string, candidates: readonly StoredFile[]): ResourceContent {
  if (candidates.length === 0) return { fields: whole };
  const { fields, files } = separateFiles(whole, candidates);
  const text = writeFiles(files);
  return text === undefined ? { fields } : { fields, files: text };
}
