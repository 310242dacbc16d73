// Reads the operations of a batch from its body and reports every error with its pointer.

import type { Condition, TargetedOperation } from "../../domain/write/operation.ts";
import { ErrorReport } from "../../lib/json/error-report.ts";
import { scanObject } from "../../lib/json/scan.ts";
import { isObject, readTree, type Tree, writeTree } from "../../lib/json/tree.ts";
import { decodeUtf8 } from "../../lib/json/utf8.ts";
import { checkValue } from "../../lib/schema/check-value.ts";
import { isObjectSchema } from "../../lib/schema/subschemas.ts";
import { type Draft, draftOf } from "../../model/draft.ts";
import { Problem } from "../../model/problem.ts";
import { type BatchOperation, batchLimits, batchSchema } from "../../model/schemas/batch.ts";
import { invalidBody } from "../body/content.ts";
import { allOf, ifMatch, ifNoneMatch } from "../headers/conditional.ts";

/** Returns the operations, or a problem with all errors. */
export function readOperations(bytes: Uint8Array): readonly TargetedOperation[] | Problem {
  const text = decodeUtf8(bytes);
  const scanned = typeof text === "string" ? scanObject(text) : [text];
  if (!("members" in scanned)) return invalidBody(scanned);
  const report = new ErrorReport();
  const batch: unknown = JSON.parse(scanned.text);
  const isValid = checkValue(batchSchema, batch, report);
  const conditions = readConditions(batch, report);
  if (!isValid || report.errors.length > 0) return invalidBody(report.errors);
  const bodies = bodiesIn(readTree(scanned.text));
  return batch.operations.map((operation, index) =>
    operationOf(operation, bodies[index] ?? "", conditions[index]),
  );
}

/** Reads the preconditions, also of a batch with other errors. */
function readConditions(batch: unknown, report: ErrorReport): readonly (Condition | undefined)[] {
  const operations = isObjectSchema(batch) ? batch.operations : undefined;
  if (!Array.isArray(operations) || operations.length > batchLimits.maxOperations) return [];
  return operations.map((operation: unknown, index) => {
    if (!isObjectSchema(operation)) return undefined;
    const match = ifMatch(textOf(operation.ifMatch));
    const noneMatch = ifNoneMatch(textOf(operation.ifNoneMatch));
    if (match instanceof Problem) report.add(["operations", index, "ifMatch"], match.detail);
    if (noneMatch instanceof Problem)
      report.add(["operations", index, "ifNoneMatch"], noneMatch.detail);
    if (match instanceof Problem || noneMatch instanceof Problem) return undefined;
    return allOf(match, noneMatch);
  });
}

const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);

/** The texts of the bodies, because a parsed number may lose digits. */
function bodiesIn(batch: Tree): readonly string[] {
  const list = isObject(batch) ? batch.members.get("operations") : undefined;
  const items = typeof list === "object" && list.kind === "array" ? list.items : [];
  return items.map((item) => {
    const body = isObject(item) ? item.members.get("body") : undefined;
    return body === undefined ? "" : writeTree(body);
  });
}

/** Makes an operation of a valid one. */
function operationOf(
  operation: BatchOperation,
  body: string,
  condition: Condition | undefined,
): TargetedOperation {
  const [, collection = "", id = ""] = operation.path.split("/");
  const target = { collection, id, condition };
  switch (operation.method) {
    case "POST":
      return { kind: "create", draft: draftIn(body), ...target };
    case "PUT":
      return { kind: "put", draft: draftIn(body), ...target };
    case "PATCH": {
      const isJsonPatch = operation.contentType === "application/json-patch+json";
      return { kind: "patch", patchKind: isJsonPatch ? "json" : "merge", patch: body, ...target };
    }
    case "DELETE":
      return { kind: "remove", ...target };
  }
}

function draftIn(body: string): Draft {
  const draft = draftOf(body);
  if (!("fields" in draft)) throw new Error("the body of an operation must be checked before");
  return draft;
}
