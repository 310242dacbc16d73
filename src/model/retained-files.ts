// Separates the files that a written representation retains from its fields: a member equal to a file's representation retains the file.

import { isObject, readTree, sameTree, type Tree, textOf, writeTree } from "../lib/json/tree.ts";
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

/** The files that the value represents, in order. Returns none when the value contains anything else. */
function filesIn(value: Tree | undefined, several: readonly StoredFile[]): readonly StoredFile[] {
  if (value === undefined || typeof value === "string") return [];
  const remaining = several.filter((file) => isNumbered(file) === (value.kind === "array"));
  const shown: StoredFile[] = [];
  for (const item of value.kind === "array" ? value.items : [value]) {
    const same = remaining.filter((file) => isShownBy(item, file));
    const file = same.find((each) => isAt(item, each)) ?? same[0];
    if (file === undefined) return [];
    shown.push(...remaining.splice(remaining.indexOf(file), 1));
  }
  return shown;
}

/** Tells equal files of a list apart. */
const isAt = (tree: Tree, { slot }: StoredFile): boolean =>
  isObject(tree) && textOf(tree, "url")?.endsWith(`/${slot}`) === true;

/** Ignores the URL, because it depends on the host name that the client used. */
function isShownBy(tree: Tree, { name, type, size, sha256 }: StoredFile): boolean {
  if (!isObject(tree)) return false;
  const expected = Object.entries({ name, type, size, sha256 });
  const others = [...tree.members.keys()].filter((member) => member !== "url");
  return (
    others.length === expected.length &&
    expected.every(([member, value]) => {
      const given = tree.members.get(member);
      return given !== undefined && sameTree(given, JSON.stringify(value));
    })
  );
}
