// The two ways to say a change: JSON Merge Patch (RFC 7396) and JSON Patch (RFC 6902).

import { type Fault, Problem } from "../problem.ts";
import { jsonLimits } from "./json.ts";
import { Report } from "./report.ts";
import {
  copyTree,
  emptyObject,
  isObject,
  type ObjectTree,
  readTree,
  sameTree,
  sizeOf,
  type Tree,
  textOf,
} from "./tree.ts";

export type PatchKind = "merge" | "json";

export const maxOperations = 1000;

/**
 * The patched document, or why it cannot be patched. Both texts are valid, strict JSON. All copies
 * together may take `maxChars`, because one that doubles with every operation is a bomb.
 */
export function applyPatch(
  kind: PatchKind,
  document: string,
  patch: string,
  maxChars: number,
): Tree | Problem {
  const tree = readTree(document);
  return kind === "merge" ? merge(tree, readTree(patch)) : applyOperations(tree, patch, maxChars);
}

/** RFC 7396 §2: null removes, objects merge, anything else replaces. */
function merge(target: Tree | undefined, patch: Tree): Tree {
  if (!isObject(patch)) return patch;
  const merged = isObject(target) ? target : emptyObject();
  for (const [name, value] of patch.members) {
    if (value === "null") merged.members.delete(name);
    else merged.members.set(name, merge(merged.members.get(name), value));
  }
  return merged;
}

type Operation =
  | { readonly op: "add" | "replace" | "test"; readonly path: Path; readonly value: Tree }
  | { readonly op: "move" | "copy"; readonly path: Path; readonly from: Path }
  | { readonly op: "remove"; readonly path: Path };

type Path = readonly string[];

function applyOperations(document: Tree, patch: string, maxChars: number): Tree | Problem {
  const operations = readOperations(readTree(patch));
  if (operations instanceof Problem) return operations;
  let tree = document;
  let room = maxChars;
  for (const [index, operation] of operations.entries()) {
    if (operation.op === "copy") {
      room -= weigh(valueAt(tree, operation.from));
      if (room < 0) return malformed([{ pointer: `/${index}`, detail: "this copies too much" }]);
    }
    const result = applyOperation(tree, operation);
    if (result === undefined) return conflict(index, operation);
    tree = result;
  }
  return weigh(tree) === Number.POSITIVE_INFINITY ? tooDeep : tree;
}

const weigh = (tree: Tree | undefined): number =>
  tree === undefined ? 0 : sizeOf(tree, jsonLimits.maxDepth);

/** Undefined when the document's state does not allow it. */
function applyOperation(tree: Tree, operation: Operation): Tree | undefined {
  const { path } = operation;
  switch (operation.op) {
    case "test": {
      const found = valueAt(tree, path);
      return found !== undefined && sameTree(found, operation.value) ? tree : undefined;
    }
    case "add":
      return add(tree, path, operation.value);
    case "replace":
      return replace(tree, path, operation.value);
    case "remove":
      return remove(tree, path);
    case "copy": {
      const value = valueAt(tree, operation.from);
      return value && add(tree, path, copyTree(value));
    }
    case "move": {
      const value = valueAt(tree, operation.from);
      const without = value && remove(tree, operation.from);
      return without && add(without, path, value);
    }
  }
}

function valueAt(tree: Tree, path: Path): Tree | undefined {
  let current: Tree | undefined = tree;
  for (const segment of path) {
    if (current === undefined || typeof current === "string") return undefined;
    current =
      current.kind === "object"
        ? current.members.get(segment)
        : current.items[readIndex(segment) ?? -1];
  }
  return current;
}

function add(tree: Tree, path: Path, value: Tree): Tree | undefined {
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
  parent.items.splice(index, 0, value);
  return tree;
}

/** In its place, so that the order of members stays. */
function replace(tree: Tree, path: Path, value: Tree): Tree | undefined {
  const last = path.at(-1);
  if (last === undefined) return value;
  const parent = valueAt(tree, path) === undefined ? undefined : valueAt(tree, path.slice(0, -1));
  if (parent === undefined || typeof parent === "string") return undefined;
  if (parent.kind === "object") parent.members.set(last, value);
  else parent.items[readIndex(last) ?? 0] = value;
  return tree;
}

function remove(tree: Tree, path: Path): Tree | undefined {
  const last = path.at(-1);
  if (last === undefined || valueAt(tree, path) === undefined) return undefined;
  const parent = valueAt(tree, path.slice(0, -1));
  if (parent === undefined || typeof parent === "string") return undefined;
  if (parent.kind === "object") parent.members.delete(last);
  else parent.items.splice(readIndex(last) ?? 0, 1);
  return tree;
}

/** No leading zeros (RFC 6901 §4). */
const readIndex = (segment: string): number | undefined =>
  /^(?:0|[1-9]\d{0,8})$/.test(segment) ? Number(segment) : undefined;

function conflict(index: number, { op }: Operation): Problem {
  const words = op === "test" ? "the value is another" : "the document has no such place";
  return new Problem("conflict", "The patch does not fit the current state; nothing was changed.", {
    errors: [{ pointer: `/${index}`, detail: `${op}: ${words}` }],
  });
}

function readOperations(patch: Tree): readonly Operation[] | Problem {
  if (typeof patch === "string" || isObject(patch) || patch.items.length > maxOperations) {
    const detail = `a JSON Patch is an array of at most ${maxOperations} operations`;
    return malformed([{ pointer: "", detail }]);
  }
  const report = new Report();
  const operations: Operation[] = [];
  for (const [index, item] of patch.items.entries()) {
    const operation = readOperation(item, index, report);
    if (operation !== undefined) operations.push(operation);
  }
  return report.faults.length > 0 ? malformed(report.faults) : operations;
}

const aPointer = "a JSON Pointer is needed, like /name";

function readOperation(item: Tree, index: number, report: Report): Operation | undefined {
  if (!isObject(item)) {
    report.add([index], "an operation is an object");
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
      report.add([index, "op"], "op is one of add, remove, replace, move, copy, test");
      return undefined;
  }
}

/** RFC 6902 §4.4. */
const isBelow = (path: Path, from: Path): boolean =>
  path.length > from.length && from.every((segment, index) => segment === path[index]);

function readPath(item: ObjectTree, name: string): Path | undefined {
  const text = textOf(item, name);
  if (text === "") return [];
  if (text === undefined || !text.startsWith("/") || /~(?![01])/.test(text)) return undefined;
  return text
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

const malformed = (errors: readonly Fault[]): Problem =>
  new Problem("invalid-body", "The patch is not valid; `errors` names each fault.", { errors });

const tooDeep = malformed([
  { pointer: "", detail: `the result is nested deeper than ${jsonLimits.maxDepth} levels` },
]);
