// What is kept of the former states of resources, so that a feed knows what its caller saw.

import { createHash } from "node:crypto";
import { isObject, readTree, type Tree, writeTree } from "../../lib/json/tree.ts";
import type { Fields } from "../../lib/schema/fields.ts";
import { fileMembers, readFiles } from "../file.ts";
import type { Resource } from "../resource.ts";
import { hide, hidingFieldsOf } from "../write-only.ts";
import { type FieldMask, maskOf } from "./field-mask.ts";
import { grantsOf, hasRules, type ListedRules } from "./grant.ts";
import { namedFields } from "./rule-fields.ts";

/** The fields that matter to the rules of a collection. */
export interface FormerFields {
  /** By these it is decided who sees a resource. */
  readonly deciding: FieldMask | undefined;
  /** Whether times are among them. */
  readonly times: readonly ("createdAt" | "updatedAt")[];
  /** The fields that each grant shows; undefined for all. */
  readonly shown: readonly (readonly string[] | undefined)[];
  /** The fields of the schema, where some of them are shown to nobody. */
  readonly hiding: Fields | undefined;
}

/** The stored columns of a resource that a former state consists of. */
export interface EndedState extends Pick<Resource, "createdAt" | "updatedAt" | "fields"> {
  readonly owner: string | null;
  readonly files: string | null;
}

/** A former state, with the fields that decide. */
export interface FormerResource {
  readonly resource: Resource;
  /** A hash of what each grant showed; null for a grant that shows all fields. */
  readonly shown: readonly (string | null)[];
}

/** Returns undefined where no rule decides who reads what, or where former owners tell it. */
export function formerFieldsOf(
  listed: ListedRules & { readonly schema?: unknown },
): FormerFields | undefined {
  const { access, boundary, schema } = listed;
  const { read = "token" } = access ?? {};
  const isOpen = boundary === undefined && (read === "token" || read === "public");
  // With grants for any verb, `owner` is read as a grant, too.
  if (isOpen || !hasRules(listed)) return undefined;
  const grants = grantsOf(listed, "read");
  const named = [boundary, ...grants.map(({ where }) => where)].flatMap((each) =>
    namedFields(each),
  );
  return {
    deciding: maskOf(named),
    times: (["createdAt", "updatedAt"] as const).filter((time) => named.includes(time)),
    shown: grants.map(({ fields }) => fields),
    hiding: hidingFieldsOf(schema),
  };
}

/** Writes the state as text. */
export function writeFormerState(former: FormerFields, state: EndedState): string {
  const { deciding, times, shown } = former;
  const tree = readTree(state.fields);
  const { owner } = state;
  return JSON.stringify({
    fields: writeTree(pick(tree, deciding)),
    ...(owner !== null && { owner }),
    ...Object.fromEntries(times.map((time) => [time, state[time]])),
    ...(shown.some((fields) => fields !== undefined) && { shown: hashesIn(tree, former, state) }),
  });
}

export function readFormerState(id: string, text: string): FormerResource {
  const { shown = [], ...state } = JSON.parse(text);
  return { resource: { id, revision: 0, createdAt: 0, updatedAt: 0, ...state }, shown };
}

/** The hashes of what each grant shows of a resource. */
export const shownHashes = (former: FormerFields, resource: Resource): FormerResource["shown"] =>
  hashesIn(readTree(resource.fields), former, { files: null, ...resource });

/** Changes the tree to what can be shown: with the files, and without write-only fields. */
function hashesIn(
  tree: Tree,
  { shown, hiding }: FormerFields,
  { files, createdAt, updatedAt }: Omit<EndedState, "fields" | "owner">,
): FormerResource["shown"] {
  if (isObject(tree)) {
    for (const [member, view] of fileMembers(readFiles(files ?? undefined), ""))
      tree.members.set(member, readTree(view));
    if (hiding !== undefined) hide(hiding, tree);
  }
  return shown.map((fields) => {
    if (fields === undefined) return null;
    const times = [createdAt, ...(fields.includes("updatedAt") ? [updatedAt] : [])];
    const text = JSON.stringify([writeTree(pick(tree, maskOf(fields))), times]);
    return createHash("sha256").update(text).digest("base64url").slice(0, hashChars);
  });
}

/** 96 bits. */
const hashChars = 16;

/** Returns the values that a mask names. Where it goes into a value that is no object, that value is an id. */
function pick(tree: Tree, mask: FieldMask | undefined): Tree {
  if (mask === undefined || mask.isWhole || typeof tree === "string") return tree;
  if (!isObject(tree)) return { ...tree, items: tree.items.map((item) => pick(item, mask)) };
  const members = new Map<string, Tree>();
  for (const [name, value] of tree.members) {
    const inner = mask.inner.get(name);
    if (inner !== undefined) members.set(name, pick(value, inner));
  }
  return { ...tree, members };
}
