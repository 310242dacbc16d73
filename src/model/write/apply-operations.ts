// Applies operations to the fields of a resource: numbers exactly, and what no operation names unchanged.

import { addLiterals, compareLiterals } from "../../lib/decimal.ts";
import { ErrorReport } from "../../lib/json/error-report.ts";
import { isExact } from "../../lib/json/number.ts";
import { scanObject } from "../../lib/json/scan.ts";
import {
  type ArrayTree,
  emptyObject,
  isObject,
  memberOf,
  normalText,
  type ObjectTree,
  type Tree,
  withLevelRead,
  writeTree,
} from "../../lib/json/tree.ts";
import { kindOf } from "../field-kind.ts";
import type { FieldError } from "../problem.ts";
import { compareKeys, keyOf } from "../query/sort-key.ts";
import { type FieldOperation, pathInBody } from "./operations.ts";

/**
 * `inapplicable`: an operation is for values of another type, and the pointers are into the operations.
 * `invalid`: the result could not be stored, and the pointers are into the result.
 */
export interface FailedOperations {
  readonly kind: "inapplicable" | "invalid";
  readonly errors: readonly FieldError[];
}

/** Returns the new fields. The schema says which texts are times. */
export function applyOperations(
  fields: string,
  operations: readonly FieldOperation[],
  schema: unknown,
): string | FailedOperations {
  const tree = withLevelRead(fields);
  const root = isObject(tree) ? tree : emptyObject();
  const application = new OperationApplier(schema);
  for (const operation of operations) application.apply(root, operation);
  const { inapplicable, invalid, isGrown } = application;
  if (inapplicable.errors.length > 0) return { kind: "inapplicable", errors: inapplicable.errors };
  if (invalid.errors.length > 0) return { kind: "invalid", errors: invalid.errors };
  const text = writeTree(root);
  const scanned = isGrown ? scanObject(text) : undefined;
  return scanned && !("members" in scanned) ? { kind: "invalid", errors: scanned } : text;
}

class OperationApplier {
  readonly inapplicable = new ErrorReport();
  readonly invalid = new ErrorReport();
  /** Whether the result can be deeper, or an object have more members: then it is scanned. */
  isGrown = false;
  readonly #schema: unknown;

  constructor(schema: unknown) {
    this.#schema = schema;
  }

  apply(root: ObjectTree, operation: FieldOperation): void {
    const last = operation.path.at(-1) ?? "";
    const parent = this.#parentOf(root, operation);
    if (parent === undefined) return;
    const current = memberOf(parent, last);
    const changed = this.#changed(current, operation);
    if (changed === undefined) return;
    if (current === undefined) this.isGrown = true;
    parent.members.set(last, changed);
  }

  /** Returns the object that contains the field. A missing one is created, unless nothing would be in it. */
  #parentOf(root: ObjectTree, operation: FieldOperation): ObjectTree | undefined {
    let parent = root;
    for (const name of operation.path.slice(0, -1)) {
      const member = memberOf(parent, name);
      if (member === undefined && operation.name === "remove") return undefined;
      const next = member ?? emptyObject();
      if (!isObject(next)) {
        const detail = `${name} must be an object with this field, but is ${typeOf(next)}`;
        this.inapplicable.add(pathInBody(operation), detail);
        return undefined;
      }
      if (member === undefined) parent.members.set(name, next);
      parent = next;
    }
    return parent;
  }

  /** Returns the new value, or undefined when nothing changes. */
  #changed(current: Tree | undefined, operation: FieldOperation): Tree | undefined {
    switch (operation.name) {
      case "increment":
        return this.#incremented(current ?? "0", operation);
      case "append":
        return this.#appended(current ?? { kind: "array", items: [] }, operation);
      case "remove":
        return current && this.#reduced(current, operation);
      default:
        return current === undefined ? operation.value : this.#chosen(current, operation);
    }
  }

  #incremented(current: Tree, operation: FieldOperation): string | undefined {
    if (!isNumber(current) || !isNumber(operation.value))
      return this.#refuse(operation, "increment needs a number", current);
    const sum = addLiterals(current, operation.value);
    if (isExact(sum)) return sum;
    this.invalid.add(operation.path, `it would be ${sum}, which no JSON reader would keep exactly`);
    return undefined;
  }

  #appended(current: Tree, operation: FieldOperation): ArrayTree | undefined {
    if (!isArray(current)) return this.#refuse(operation, "append needs an array", current);
    for (const item of itemsOf(operation)) {
      if (typeof item !== "string") this.isGrown = true;
      current.items.push(item);
    }
    return current;
  }

  #reduced(current: Tree, operation: FieldOperation): ArrayTree | undefined {
    if (!isArray(current)) return this.#refuse(operation, "remove needs an array", current);
    const removed = new Set(itemsOf(operation).map(normalText));
    const items = current.items.filter((item) => !removed.has(normalText(item)));
    return { kind: "array", items };
  }

  #chosen(current: Tree, operation: FieldOperation): Tree | undefined {
    const { name, field, value } = operation;
    const kind = kindOf(this.#schema, field);
    const order = compare(kind, value, current);
    const needed =
      kind === "time" ? "times such as 2026-03-01T09:30:00Z" : "values of the same type";
    if (order === undefined) return this.#refuse(operation, `${name} compares ${needed}`, current);
    return (name === "min" ? order < 0 : order > 0) ? value : undefined;
  }

  #refuse(operation: FieldOperation, needed: string, current: Tree): undefined {
    this.inapplicable.add(pathInBody(operation), `${needed}, but the field is ${typeOf(current)}`);
  }
}

const isArray = (tree: Tree): tree is ArrayTree =>
  typeof tree === "object" && tree.kind === "array";
const isNumber = (tree: Tree): tree is string => typeof tree === "string" && /^[-\d]/.test(tree);
const isText = (tree: Tree): tree is string => typeof tree === "string" && tree.startsWith('"');

const itemsOf = ({ value }: FieldOperation): readonly Tree[] => (isArray(value) ? value.items : []);

/** Compares as lists are sorted, but long texts as a whole. Returns undefined for different types. */
function compare(kind: ReturnType<typeof kindOf>, one: Tree, other: Tree): number | undefined {
  if (isNumber(one) && isNumber(other)) return compareLiterals(one, other);
  if (!isText(one) || !isText(other)) return undefined;
  const [text, otherText]: readonly [string, string] = [JSON.parse(one), JSON.parse(other)];
  if (kind !== "time") return compareKeys(text, otherText);
  const [key, otherKey] = [keyOf(kind, text), keyOf(kind, otherText)];
  return key[0] === otherKey[0] ? compareKeys(key, otherKey) : undefined;
}

function typeOf(tree: Tree): string {
  if (isObject(tree)) return "an object";
  if (isArray(tree)) return "an array";
  if (isText(tree)) return "a text";
  return isNumber(tree) ? "a number" : tree;
}
