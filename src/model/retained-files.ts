// Separates the files that a written representation retains from its fields: a member equal to a file's representation retains the file.

import { isObject, normalText, readTree, type Tree, textOf, writeTree } from "../lib/json/tree.ts";
import { isNumbered, memberOf, type StoredFile } from "./file.ts";

export interface SeparatedFiles {
  /** The fields without the members that represent files. */
  readonly fields: string;
  readonly files: readonly StoredFile[];
}

/** Separates files from fields. A member that differs from the file's representation is ordinary data. */
export function separateFiles(fields: string, candidates: readonly StoredFile[]): SeparatedFiles {
  const tree = candidates.length === 0 ? undefined : readTree(fields);
  if (!isObject(tree)) return { fields, files: [] };
  const files: StoredFile[] = [];
  for (const [member, several] of Map.groupBy(candidates, memberOf)) {
    const shown = filesIn(tree.members.get(member), several);
    if (shown.length === 0) continue;
    files.push(...shown);
    tree.members.delete(member);
  }
  return files.length === 0 ? { fields, files } : { fields: writeTree(tree), files };
}

/** The members that still describe one of the lost files: the description would stay, and the bytes would not. */
export function staleMembers(fields: string, lost: readonly StoredFile[]): readonly string[] {
  const tree = lost.length === 0 ? undefined : readTree(fields);
  if (!isObject(tree)) return [];
  const isStale = (member: string, several: readonly StoredFile[]) => {
    const value = tree.members.get(member);
    if (value === undefined || typeof value === "string") return false;
    const sums = new Set(several.map(({ sha256 }) => sha256));
    const slots = new Set(several.map(({ slot }) => slot));
    return (value.kind === "array" ? value.items : [value]).some((item) => {
      const sum = isObject(item) ? textOf(item, "sha256") : undefined;
      return sum !== undefined && (sums.has(sum) || slots.has(slotOf(item)));
    });
  };
  return [...Map.groupBy(lost, memberOf)]
    .filter(([member, several]) => isStale(member, several))
    .map(([member]) => member);
}

/** The files that the value represents, in order. Returns none when the value contains anything else. */
function filesIn(value: Tree | undefined, several: readonly StoredFile[]): readonly StoredFile[] {
  if (value === undefined || typeof value === "string") return [];
  const candidates = several.filter((file) => isNumbered(file) === (value.kind === "array"));
  const remaining = bySlot(candidates);
  const shown: StoredFile[] = [];
  for (const item of value.kind === "array" ? value.items : [value]) {
    const same = remaining.get(lookOf(item) ?? "");
    // The slot tells equal files of a list apart.
    const file = same?.get(slotOf(item)) ?? same?.values().next().value;
    if (file === undefined) return [];
    same?.delete(file.slot);
    shown.push(file);
  }
  return shown;
}

/** The files of each look by their slots. A list can have a thousand, so none is compared with all others. */
function bySlot(files: readonly StoredFile[]): ReadonlyMap<string, Map<string, StoredFile>> {
  const groups = Map.groupBy(files, ({ name, type, size, sha256 }) =>
    JSON.stringify([name, type, size, sha256]),
  );
  const slots = [...groups].map(
    ([look, group]) => [look, new Map(group.map((file) => [file.slot, file]))] as const,
  );
  return new Map(slots);
}

const shownMembers = ["name", "type", "size", "sha256"];

/** What tells files apart. Ignores the URL, because it depends on the host name that the client used. */
function lookOf(tree: Tree): string | undefined {
  if (!isObject(tree)) return undefined;
  const { members } = tree;
  const values = shownMembers.map((name) => members.get(name));
  const count = members.size - (members.has("url") ? 1 : 0);
  if (count !== shownMembers.length || values.includes(undefined)) return undefined;
  return `[${values.map((value) => normalText(value ?? "null")).join(",")}]`;
}

const slotOf = (tree: Tree): string =>
  (isObject(tree) ? textOf(tree, "url") : undefined)?.split("/").at(-1) ?? "";
