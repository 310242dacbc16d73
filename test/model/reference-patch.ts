// Applies merge patches and JSON Patches to plain values, as their RFCs define it.

import assert from "node:assert/strict";

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export type Operation =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: Json }
  | { readonly op: "move" | "copy"; readonly path: string; readonly from: string }
  | { readonly op: "remove"; readonly path: string };

export const isPlain = (value: Json | undefined): value is { [name: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** RFC 7396 §2. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isPlain(patch)) return patch;
  const merged = new Map(isPlain(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch))
    if (value === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value));
  return Object.fromEntries(merged);
}

/** RFC 6902. Returns undefined when an operation fails. */
export function applyOperations(
  document: Json,
  operations: readonly Operation[],
): Json | undefined {
  let result: Json | undefined = document;
  for (const operation of operations) if (result !== undefined) result = apply(result, operation);
  return result;
}

function apply(document: Json, operation: Operation): Json | undefined {
  const root = { document: structuredClone(document) };
  const done = (isDone: boolean): Json | undefined => (isDone ? root.document : undefined);
  const { path } = operation;
  switch (operation.op) {
    case "add":
      return done(insert(root, path, operation.value));
    case "remove":
      return done(cut(root, path));
    case "replace":
      if (path === "") return operation.value;
      return done(cut(root, path) && insert(root, path, operation.value));
    case "test":
      return done(isSame(valueAt(root, path), operation.value));
    case "copy":
    case "move": {
      const value = valueAt(root, operation.from);
      if (value === undefined) return undefined;
      if (operation.op === "move" && !cut(root, operation.from)) return undefined;
      return done(insert(root, path, value));
    }
  }
}

interface Root {
  document: Json;
}

/** The path from the root, which has the document as its only member. */
const stepsOf = (path: string): string[] =>
  `/document${path}`
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));

function child(parent: Json | undefined, name: string): Json | undefined {
  if (Array.isArray(parent)) return /^\d+$/.test(name) ? parent[Number(name)] : undefined;
  return isPlain(parent) && Object.hasOwn(parent, name) ? parent[name] : undefined;
}

const valueAt = (root: Root, path: string): Json | undefined =>
  stepsOf(path).reduce<Json | undefined>(child, { ...root });

function parentOf(root: Root, path: string): readonly [parent: Json | undefined, name: string] {
  const steps = stepsOf(path);
  const name = steps.pop() ?? "";
  return [steps.reduce<Json | undefined>(child, root as unknown as Json), name];
}

function insert(root: Root, path: string, value: Json): boolean {
  const [parent, name] = parentOf(root, path);
  const copy = structuredClone(value);
  if (isPlain(parent)) {
    parent[name] = copy;
    return true;
  }
  if (!Array.isArray(parent)) return false;
  const index = name === "-" ? parent.length : /^\d+$/.test(name) ? Number(name) : -1;
  if (index < 0 || index > parent.length) return false;
  parent.splice(index, 0, copy);
  return true;
}

function cut(root: Root, path: string): boolean {
  if (path === "" || valueAt(root, path) === undefined) return false;
  const [parent, name] = parentOf(root, path);
  if (Array.isArray(parent)) parent.splice(Number(name), 1);
  else if (isPlain(parent)) delete parent[name];
  return true;
}

function isSame(one: Json | undefined, other: Json): boolean {
  try {
    assert.deepStrictEqual(one, other);
    return true;
  } catch {
    return false;
  }
}
