// Reads the operations of a PATCH, and checks what does not depend on the stored values.

import { ErrorReport, type Path } from "../../lib/json/error-report.ts";
import { jsonLimits } from "../../lib/json/scan.ts";
import { isObject, readTree, type Tree } from "../../lib/json/tree.ts";
import { checkValue } from "../../lib/schema/check-value.ts";
import type { Rules } from "../collection.ts";
import { definitionOf } from "../definition.ts";
import type { FieldError } from "../problem.ts";
import { ignoredMembers } from "../resource.ts";
import { operationsSchema } from "../schemas/operations.ts";
import { adminOnlyChange, validatorOf } from "../validator.ts";

/** In the order in which they are applied. */
const names = ["remove", "append", "increment", "min", "max"] as const;

export interface FieldOperation {
  readonly name: (typeof names)[number];
  /** As it was sent. */
  readonly field: string;
  /** The names of the members on the way to the value. */
  readonly path: readonly string[];
  readonly value: Tree;
}

/** Reads operations that were checked, in the order in which they are applied. */
export function readOperations(text: string): readonly FieldOperation[] {
  const body = readTree(text);
  return names.flatMap((name) => {
    const fields = isObject(body) ? body.members.get(name) : undefined;
    if (!isObject(fields)) return [];
    return [...fields.members].map(([field, value]) => ({
      name,
      field,
      value,
      path: field.split("."),
    }));
  });
}

/** Returns all errors of a text that passed the JSON scan, with pointers into it. */
export function checkOperations(
  text: string,
  rules: Rules | undefined,
  isAdmin: boolean,
): readonly FieldError[] {
  const report = new ErrorReport();
  if (!checkValue(operationsSchema, JSON.parse(text), report)) return report.errors;
  const validator = rules && validatorOf(definitionOf(rules));
  for (const operation of readOperations(text)) {
    const { path, field } = operation;
    const detail =
      pathError(path) ??
      (validator?.isHidden(field) ? writeOnly : undefined) ??
      (!isAdmin && validator?.isReadOnly(path) ? adminOnlyChange : undefined);
    if (detail !== undefined) report.add(pathInBody(operation), detail);
  }
  return report.errors;
}

/** The names that lead to the operation in the body. */
export const pathInBody = ({ name, field }: FieldOperation): Path => [name, field];

function pathError(path: readonly string[]): string | undefined {
  if (ignoredMembers.includes(path[0] ?? "")) return "only the server sets this";
  if (path.length > jsonLimits.maxDepth) return `nested deeper than ${jsonLimits.maxDepth} levels`;
  if (path.some((name) => name === "" || name === "__proto__")) return notAPath;
  return path.some((name) => name.endsWith("[]")) ? ofElements : undefined;
}

const notAPath = "must be a field name, or names with dots between them, such as address.city";
const ofElements = "operations do not change the items inside an array";
const writeOnly = "this is write-only, and an operation would read it";
