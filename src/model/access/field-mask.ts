// Which fields a list names, and what a caller changes in a document of which it sees a part.

import { isObject, type ObjectTree, sameTree, type Tree } from "../../lib/json/tree.ts";

/** The names of the members on the way to a value. */
type Steps = readonly string[];

/** Named fields by the steps of their paths, because a member name can contain a dot. */
export interface FieldMask {
  /** Whether the value is named itself, with all that is in it. */
  isWhole: boolean;
  readonly inner: Map<string, FieldMask>;
}

/** Returns undefined for all fields. */
export function maskOf(fields: readonly string[] | undefined): FieldMask | undefined {
  if (fields === undefined) return undefined;
  const root: FieldMask = { isWhole: false, inner: new Map() };
  for (const field of fields) {
    let level = root;
    for (const step of field.replaceAll("[]", "").split(".")) {
      const next = level.inner.get(step) ?? { isWhole: false, inner: new Map() };
      level.inner.set(step, next);
      level = next;
    }
    level.isWhole = true;
  }
  return root;
}

/** Whether a mask names the value at these steps, or one that contains it. */
export const isInMask = (mask: FieldMask | undefined, path: Steps): boolean =>
  outsideOf(mask, path) === undefined;

/** Returns the outermost value on the way to this one in which the mask names nothing. */
export function outsideOf(mask: FieldMask | undefined, path: Steps): Steps | undefined {
  let level = mask;
  for (const [index, step] of path.entries()) {
    if (level === undefined || level.isWhole) return undefined;
    level = level.inner.get(step);
    if (level === undefined) return path.slice(0, index + 1);
  }
  return level === undefined || level.isWhole ? undefined : path;
}

/** Returns the paths of the values that are different, as deep as both are objects. */
export function changedPaths(
  before: Tree | undefined,
  after: Tree | undefined,
  path: Steps = [],
): readonly Steps[] {
  const inner = isOptionalObject(before) && isOptionalObject(after) ? [before, after] : [];
  const names = new Set(inner.flatMap((tree) => [...(tree?.members.keys() ?? [])]));
  if (names.size > 0)
    return [...names].flatMap((name) =>
      changedPaths(memberIn(before, name), memberIn(after, name), [...path, name]),
    );
  if (before === undefined || after === undefined) return before === after ? [] : [path];
  return sameTree(before, after) ? [] : [path];
}

/**
 * Returns what a caller sends with what it does not see of the state before and leaves out. `seen` is
 * what it sees of that state.
 */
export function withUnseen(
  sent: Tree | undefined,
  before: Tree | undefined,
  seen: Tree | undefined,
): Tree | undefined {
  if (before === undefined) return sent;
  if (sent === undefined && seen === undefined) return before;
  if (isObject(before) && isOptionalObject(sent) && isOptionalObject(seen)) {
    const members = new Map(sent?.members);
    for (const [name, value] of before.members) {
      const completed = withUnseen(memberIn(sent, name), value, memberIn(seen, name));
      if (completed !== undefined) members.set(name, completed);
    }
    return members.size === 0 ? sent : { ...(sent ?? before), members };
  }
  const isSame = sent !== undefined && seen !== undefined && sameTree(sent, seen);
  return isSame ? before : sent;
}

export const valueAt = (tree: Tree | undefined, path: Steps): Tree | undefined =>
  path.reduce<Tree | undefined>(memberIn, tree);

const memberIn = (tree: Tree | undefined, name: string): Tree | undefined =>
  isObject(tree) ? tree.members.get(name) : undefined;

const isOptionalObject = (tree: Tree | undefined): tree is ObjectTree | undefined =>
  tree === undefined || isObject(tree);

/** Whether a document has a value at a path, or one in which an object would have to be. */
export const reaches = (tree: Tree, path: Steps): boolean =>
  path.every((_, length) => {
    const outer = valueAt(tree, path.slice(0, length));
    return !isObject(outer) || outer.members.has(path[length] ?? "");
  });
