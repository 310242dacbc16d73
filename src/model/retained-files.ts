// Which files a representation still shows: a member that says of a file just what is shown stands for it.

import { isObject, readTree, sameTree, type Tree, writeTree } from "../lib/json/tree.ts";
import { isNumbered, memberOf, type StoredFile } from "./file.ts";

export interface Split {
  /** Without the members that show files. */
  readonly fields: string;
  readonly parts: readonly StoredFile[];
}

/** Takes the files apart from the fields. Anything else in the place of a file is plain data. */
export function separateFiles(fields: string, candidates: readonly StoredFile[]): Split {
  const tree = candidates.length === 0 ? undefined : readTree(fields);
  if (!isObject(tree)) return { fields, parts: [] };
  const parts: StoredFile[] = [];
  for (const [member, several] of Map.groupBy(candidates, memberOf)) {
    const shown = partsIn(tree.members.get(member), several);
    if (shown.length === 0) continue;
    parts.push(...shown);
    tree.members.delete(member);
  }
  return parts.length === 0 ? { fields, parts } : { fields: writeTree(tree), parts };
}

/** All that the value shows, in its order; nothing when it is anything else as well. */
function partsIn(value: Tree | undefined, several: readonly StoredFile[]): readonly StoredFile[] {
  if (value === undefined || typeof value === "string") return [];
  const isList = several.some(isNumbered);
  if (isList !== (value.kind === "array")) return [];
  const left = [...several];
  const shown: StoredFile[] = [];
  for (const item of value.kind === "array" ? value.items : [value]) {
    const at = left.findIndex((part) => isShownBy(item, part));
    if (at < 0) return [];
    shown.push(...left.splice(at, 1));
  }
  return shown;
}

/** The address does not matter: it depends on how the server is reached. */
function isShownBy(tree: Tree, { name, type, size, sha256 }: StoredFile): boolean {
  if (!isObject(tree)) return false;
  const said = Object.entries({ name, type, size, sha256 });
  const others = [...tree.members.keys()].filter((member) => member !== "url");
  return (
    others.length === said.length &&
    said.every(([member, value]) => {
      const given = tree.members.get(member);
      return given !== undefined && sameTree(given, JSON.stringify(value));
    })
  );
}
