// Applies a JSON Merge Patch (RFC 7396) or a JSON Patch (RFC 6902) to a document.

import { ErrorReport } from "../lib/json/error-report.ts";
import { jsonLimits } from "../lib/json/scan.ts";
import {
  type ArrayTree,
  copyTree,
  emptyObject,
  isObject,
  itemOf,
  memberOf,
  type ObjectTree,
  readTree,
  sameTree,
  sizeOf,
  type Tree,
  textOf,
  withLevelRead,
} from "../lib/json/tree.ts";
import { type FieldError, Problem } from "./problem.ts";

export type PatchKind = "merge" | "json";

export const maxOperations = 1000;

/** The limit of array items that all insertions and removals of a patch may shift. */
const maxMovedItems = 10_000_000;

export interface Patched {
  readonly tree: Tree;
  /** Whether the result is known to be strict JSON. Otherwise it must be scanned. */
  readonly isStrict: boolean;
}

/**
 * Returns the patched document or a problem. Both texts have passed the JSON scan, and the document is
 * compact. All copies together are limited to `maxChars`, because repeated copies can double the size
 * with every operation.
 */
export function applyPatch(
  kind: PatchKind,
  document: string,
  patch: string,
  maxChars: number,
): Patched | Problem {
  const tree = withLevelRead(document);
  if (kind === "merge") return mergePatch(tree, readTree(patch));
  const result = applyOperations(tree, patch, { chars: maxChars, moves: maxMovedItems });
  return result instanceof Problem ? result : { tree: result, isStrict: false };
}

/**
 * RFC 7396 §2: null removes, objects merge, anything else replaces. Every value stays at its depth, so
 * the result can only violate the limit of members per object.
 */
function mergePatch(document: Tree, patch: Tree): Patched {
  let isStrict = isObject(document) && isObject(patch);
  const merge = (target: Tree | undefined, change: Tree): Tree => {
    if (!isObject(change)) return change;
    const merged = isObject(target) ? target : emptyObject();
    for (const [name, value] of change.members) {
      if (value === "null") merged.members.delete(name);
      else merged.members.set(name, merge(memberToMerge(merged, name, value), value));
    }
    if (merged.members.size > jsonLimits.maxMembers) isStrict = false;
    return merged;
  };
  return { tree: merge(document, patch), isStrict };
}

/** A member that is replaced as a whole is not parsed. */
const memberToMerge = (target: ObjectTree, name: string, change: Tree): Tree | undefined =>
  isObject(change) ? memberOf(target, name) : undefined;

/** What a patch may still copy and shift. */
interface Budget {
  chars: number;
  moves: number;
}

type PatchOperation =
  | { readonly op: "add" | "replace" | "test"; readonly path: PointerPath; readonly value: Tree }
  | { readonly op: "move" | "copy"; readonly path: PointerPath; readonly from: PointerPath }
  | { readonly op: "remove"; readonly path: PointerPath };

type PointerPath = readonly string[];

function applyOperations(document: Tree, patch: string, budget: Budget): Tree | Problem {
  const operations = readOperations(readTree(patch));
  if (operations instanceof Problem) return operations;
  let tree = document;
  for (const [index, operation] of operations.entries()) {
    if (operation.op === "copy") {
      budget.chars -= sizeWithinDepth(valueAt(tree, operation.from));
      if (budget.chars < 0) return overBudget(index, "this copies too much data");
    }
    const result = applyOperation(tree, operation, budget);
    if (budget.moves < 0) return overBudget(index, tooManyMoves);
    if (result === undefined) return conflict(index, operation);
    tree = result;
  }
  return sizeWithinDepth(tree) === Number.POSITIVE_INFINITY ? tooDeep : tree;
}

const tooManyMoves =
  "this shifts too many items of a large array; add and remove at its end, or replace the array";

const overBudget = (index: number, detail: string): Problem =>
  malformed([{ pointer: `/${index}`, detail }]);

const sizeWithinDepth = (tree: Tree | undefined): number =>
  tree === undefined ? 0 : sizeOf(tree, jsonLimits.maxDepth);

/** Returns undefined when the operation does not apply to the document. */
function applyOperation(tree: Tree, operation: PatchOperation, budget: Budget): Tree | undefined {
  const { path } = operation;
  switch (operation.op) {
    case "test": {
      const found = valueAt(tree, path);
      return found !== undefined && sameTree(found, operation.value) ? tree : undefined;
    }
    case "add":
      return add(tree, path, operation.value, budget);
    case "replace":
      return replace(tree, path, operation.value);
    case "remove":
      return remove(tree, path, budget);
    case "copy": {
      const value = valueAt(tree, operation.from);
      return value && add(tree, path, copyTree(value), budget);
    }
    case "move": {
      const value = valueAt(tree, operation.from);
      const without = value && remove(tree, operation.from, budget);
      return without && add(without, path, value, budget);
    }
  }
}

function valueAt(tree: Tree, path: PointerPath): Tree | undefined {
  let current: Tree | undefined = tree;
  for (const segment of path) {
    if (current === undefined || typeof current === "string") return undefined;
    current =
      current.kind === "object"
        ? memberOf(current, segment)
        : itemOf(current, readIndex(segment) ?? -1);
  }
  return current;
}

function add(tree: Tree, path: PointerPath, value: Tree, budget: Budget): Tree | undefined {
  const last = path.at(-1);
  if (last === undefined) return value;
  const parent = valueAt(tree, path.slice(0, -1));
  if (parent === undefined || typeof parent === "string") return undefined;
  if (parent.kind === "object") {
    parent.members.set(last, value);
    return tree;
  }
  const index = last === "-" ? parent.items.length : readIndex(last);
  if (index === undefined || index > parent.items.length) return undefined;
  splice(parent, index, 0, [value], budget);
  return tree;
}

/** Replaces in place to keep the order of members. */
function replace(tree: Tree, path: PointerPath, value: Tree): Tree | undefined {
  const last = path.at(-1);
  if (last === undefined) return value;
  const parent = valueAt(tree, path) === undefined ? undefined : valueAt(tree, path.slice(0, -1));
  if (parent === undefined || typeof parent === "string") return undefined;
  if (parent.kind === "object") parent.members.set(last, value);
  else parent.items[readIndex(last) ?? 0] = value;
  return tree;
}

function remove(tree: Tree, path: PointerPath, budget: Budget): Tree | undefined {
  const last = path.at(-1);
  if (last === undefined || valueAt(tree, path) === undefined) return undefined;
  const parent = valueAt(tree, path.slice(0, -1));
  if (parent === undefined || typeof parent === "string") return undefined;
  if (parent.kind === "object") parent.members.delete(last);
  else splice(parent, readIndex(last) ?? 0, 1, [], budget);
  return tree;
}

/** Counts the items that are shifted. */
function splice(
  { items }: ArrayTree,
  index: number,
  removed: number,
  added: readonly Tree[],
  budget: Budget,
): void {
  budget.moves -= items.length - index;
  if (budget.moves >= 0) items.splice(index, removed, ...added);
}

/** No leading zeros (RFC 6901 §4). */
const readIndex = (segment: string): number | undefined =>
  /^(?:0|[1-9]\d{0,8})$/.test(segment) ? Number(segment) : undefined;

function conflict(index: number, { op }: PatchOperation): Problem {
  const reason = op === "test" ? "the value is different" : "the path does not exist";
  return new Problem(
    "conflict",
    "The patch does not apply to the current state; nothing was changed.",
    {
      errors: [{ pointer: `/${index}`, detail: `${op}: ${reason}` }],
    },
  );
}

function readOperations(patch: Tree): readonly PatchOperation[] | Problem {
  if (typeof patch === "string" || isObject(patch) || patch.items.length > maxOperations) {
    const detail = `a JSON Patch must be an array of at most ${maxOperations} operations`;
    return malformed([{ pointer: "", detail }]);
  }
  const report = new ErrorReport();
  const operations: PatchOperation[] = [];
  for (const [index, item] of patch.items.entries()) {
    const operation = readOperation(item, index, report);
    if (operation !== undefined) operations.push(operation);
  }
  return report.errors.length > 0 ? malformed(report.errors) : operations;
}

const aPointer = "must be a JSON Pointer, such as /name";

function readOperation(item: Tree, index: number, report: ErrorReport): PatchOperation | undefined {
  if (!isObject(item)) {
    report.add([index], "an operation must be an object");
    return undefined;
  }
  const op = textOf(item, "op");
  const path = readPath(item, "path");
  const from = readPath(item, "from");
  const value = item.members.get("value");
  if (path === undefined) report.add([index, "path"], aPointer);
  switch (op) {
    case "add":
    case "replace":
    case "test":
      if (value === undefined) report.add([index, "value"], `${op} needs a value`);
      return path === undefined || value === undefined ? undefined : { op, path, value };
    case "move":
    case "copy":
      if (from === undefined) report.add([index, "from"], aPointer);
      if (path === undefined || from === undefined) return undefined;
      if (op === "move" && isBelow(path, from))
        report.add([index, "path"], "a value cannot be moved into itself");
      return { op, path, from };
    case "remove":
      return path && { op, path };
    default:
      report.add([index, "op"], "op must be one of add, remove, replace, move, copy, test");
      return undefined;
  }
}

/** RFC 6902 §4.4. */
const isBelow = (path: PointerPath, from: PointerPath): boolean =>
  path.length > from.length && from.every((segment, index) => segment === path[index]);

function readPath(item: ObjectTree, name: string): PointerPath | undefined {
  const text = textOf(item, name);
  if (text === "") return [];
  if (text === undefined || !text.startsWith("/") || /~(?![01])/.test(text)) return undefined;
  return text
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

const malformed = (errors: readonly FieldError[]): Problem =>
  new Problem("invalid-body", "The patch is not valid; `errors` lists each error.", { errors });

const tooDeep = malformed([
  { pointer: "", detail: `the result is nested deeper than ${jsonLimits.maxDepth} levels` },
]);
