// References to resources: which fields a definition declares as references, and which resources they name.

import { type Path, pointerTo } from "../lib/json/error-report.ts";
import { isObject, readTree, type Tree, writeTree } from "../lib/json/tree.ts";
import { memberOf } from "../lib/own-property.ts";
import { plainName } from "./field-kind.ts";
import type { FieldError } from "./problem.ts";

/** What happens to a resource when the one that it refers to is deleted. */
export const deletionRules = ["restrict", "cascade", "unset"] as const;

export type DeletionRule = (typeof deletionRules)[number];

/** A field that contains the id of a resource, or with `[]` in its path several. */
export interface Reference {
  readonly field: string;
  readonly collection: string;
  readonly onDelete: DeletionRule;
}

/** References by field, as a definition lists them. */
export type ListedReferences = Readonly<
  Record<string, { readonly collection: string; readonly onDelete?: DeletionRule }>
>;

const none: readonly Reference[] = [];
const cache = new WeakMap<ListedReferences, readonly Reference[]>();

/** Returns the same list for the same object. */
export function referencesOf(listed: ListedReferences | undefined): readonly Reference[] {
  if (listed === undefined) return none;
  const cached = cache.get(listed);
  if (cached !== undefined) return cached;
  const references = Object.entries(listed).map(([field, { collection, onDelete }]) => ({
    field,
    collection,
    onDelete: onDelete ?? "restrict",
  }));
  cache.set(listed, references);
  return references;
}

/** Returns the reference that a path begins with. One can begin with another, so the longest counts. */
export const firstReference = (
  references: readonly Reference[],
  path: string,
): Reference | undefined =>
  references
    .filter(({ field }) => path === field || path.startsWith(`${field}.`))
    .sort((a, b) => b.field.length - a.field.length)[0];

/** The address of a resource. */
export interface ResourceAddress {
  readonly collection: string;
  readonly id: string;
}

/** A value of a reference in a resource. */
export interface FoundReference {
  readonly reference: Reference;
  readonly path: Path;
  /** The id. Without a schema it can be of any type. */
  readonly value: unknown;
}

/** Returns the values of all references in parsed fields. A missing value and null refer to nothing. */
export const findReferences = (
  references: readonly Reference[],
  fields: unknown,
): readonly FoundReference[] =>
  references.flatMap((reference) =>
    valuesAt(fields, reference.field.split("."), []).map(({ path, value }) => ({
      reference,
      path,
      value,
    })),
  );

/** The error of a value that names no resource, or none that the caller may read. */
export const danglingError = ({ reference, path, value }: FoundReference): FieldError => ({
  pointer: pointerTo(path),
  detail:
    typeof value === "string"
      ? `there is no resource with this id in ${reference.collection}`
      : `must be the id of a resource in ${reference.collection}, as text`,
});

/** Returns the resources that parsed fields refer to, each once. */
export function targetsIn(
  references: readonly Reference[],
  fields: unknown,
): readonly ResourceAddress[] {
  const targets = new Map<string, ResourceAddress>();
  for (const { reference, value } of findReferences(references, fields)) {
    if (typeof value !== "string") continue;
    const { collection } = reference;
    targets.set(`${collection}/${value}`, { collection, id: value });
  }
  return [...targets.values()];
}

/** Returns the addresses of the resources that the text of fields refers to. */
export const addressesIn = (
  references: readonly Reference[],
  fields: string,
): ReadonlySet<string> =>
  new Set(
    targetsIn(references, JSON.parse(fields)).map(({ collection, id }) => `${collection}/${id}`),
  );

/** Returns the fields without the references to this id: the member, or the element of an array. */
export function withoutReference(fields: string, { field }: Reference, id: string): string {
  const tree = readTree(fields);
  removeAt(tree, field.split("."), id);
  return writeTree(tree);
}

function removeAt(tree: Tree | undefined, [name = "", ...rest]: readonly string[], id: string) {
  if (!isObject(tree)) return;
  const plain = plainName(name);
  const member = tree.members.get(plain);
  if (plain === name) {
    if (rest.length > 0) removeAt(member, rest, id);
    else if (isText(member, id)) tree.members.delete(plain);
    return;
  }
  if (typeof member !== "object" || member.kind !== "array") return;
  if (rest.length > 0) for (const item of member.items) removeAt(item, rest, id);
  else
    tree.members.set(plain, { ...member, items: member.items.filter((item) => !isText(item, id)) });
}

const isText = (tree: Tree | undefined, text: string): boolean =>
  typeof tree === "string" && tree.startsWith('"') && JSON.parse(tree) === text;

interface LocatedValue {
  readonly path: Path;
  readonly value: unknown;
}

function valuesAt(value: unknown, names: readonly string[], path: Path): readonly LocatedValue[] {
  const [name, ...rest] = names;
  if (name === undefined) return value === undefined || value === null ? [] : [{ path, value }];
  const plain = plainName(name);
  const member = memberOf(value, plain);
  const memberPath = [...path, plain];
  if (plain === name) return valuesAt(member, rest, memberPath);
  if (!Array.isArray(member)) return [];
  return member.flatMap((item: unknown, index) => valuesAt(item, rest, [...memberPath, index]));
}
