// Reads the operations of a batch from its body and reports every error with its pointer.

import {
  patchOperation,
  type TargetedOperation,
  type WriteCondition,
} from "../../domain/write/operation.ts";
import { ErrorReport, pointerTo } from "../../lib/json/error-report.ts";
import { scanObject } from "../../lib/json/scan.ts";
import { isObject, readTree, type Tree, writeTree } from "../../lib/json/tree.ts";
import { decodeUtf8 } from "../../lib/json/utf8.ts";
import { checkValue } from "../../lib/schema/check-value.ts";
import { isObjectSchema, type ObjectSchema } from "../../lib/schema/subschemas.ts";
import { type Draft, draftOf } from "../../model/draft.ts";
import { Problem } from "../../model/problem.ts";
import { type BatchOperationBody, batchLimits, batchSchema } from "../../model/schemas/batch.ts";
import { operationsType } from "../../model/schemas/operations.ts";
import { invalidBody } from "../body/content.ts";
import { allOf, ifMatch, ifNoneMatch } from "../headers/conditional.ts";
import { checkQueryEncoding, readSearchParams } from "../request/request-target.ts";
import { readUniqueValue } from "./unique-value.ts";

/** Returns the operations, or a problem with all errors. */
export function readOperations(bytes: Uint8Array): readonly TargetedOperation[] | Problem {
  const text = decodeUtf8(bytes);
  const scanned = typeof text === "string" ? scanObject(text) : [text];
  if (!("members" in scanned)) return invalidBody(scanned);
  const report = new ErrorReport();
  const batch: unknown = JSON.parse(scanned.text);
  const isValid = checkValue(batchSchema, batch, report);
  checkMethods(batch, report);
  if (!isValid || report.errors.length > 0) return invalidBody(report.errors);
  const bodies = bodiesIn(readTree(scanned.text));
  return batch.operations.map((operation, index) =>
    operationOf(operation, bodies[index] ?? "", conditionOf(operation)),
  );
}

type BatchMethod = BatchOperationBody["method"];

/** The members that an operation may have besides its method and path. */
const takenMembers: Readonly<Record<BatchMethod, readonly string[]>> = {
  POST: ["body"],
  PUT: ["body", "ifMatch", "ifNoneMatch"],
  PATCH: ["body", "contentType", "ifMatch", "ifNoneMatch"],
  DELETE: ["ifMatch", "ifNoneMatch"],
};
const optionalMembers = ["body", "contentType", "ifMatch", "ifNoneMatch"];

/** Checks what depends on the method of an operation, also in a batch with other errors. */
function checkMethods(batch: unknown, report: ErrorReport): void {
  const operations = isObjectSchema(batch) ? batch.operations : undefined;
  if (!Array.isArray(operations) || operations.length > batchLimits.maxOperations) return;
  const known = new Set(report.errors.map(({ pointer }) => pointer));
  for (const [index, operation] of operations.entries()) {
    if (!isObjectSchema(operation) || !isMethod(operation.method)) continue;
    for (const [path, detail] of errorsOf(operation.method, operation)) {
      const whole = ["operations", index, ...path];
      if (!known.has(pointerTo(whole))) report.add(whole, detail);
    }
  }
}

const isMethod = (method: unknown): method is BatchMethod =>
  typeof method === "string" && Object.hasOwn(takenMembers, method);

type MemberError = readonly [path: readonly string[], detail: string];

function* errorsOf(method: BatchMethod, operation: ObjectSchema): Generator<MemberError> {
  const { path, body } = operation;
  const taken = takenMembers[method];
  const wrong = typeof path === "string" ? targetError(method, path) : undefined;
  if (wrong !== undefined) yield [["path"], wrong];
  for (const name of optionalMembers) {
    // Some clients write null for a member without a value.
    const isSent = Object.hasOwn(operation, name) && operation[name] !== null;
    if (isSent && !taken.includes(name)) yield [[name], `${method} has no ${name}`];
  }
  if (!taken.includes("body")) return;
  if (body === undefined) yield [["body"], "body is required"];
  else if (method !== "PATCH" && !isObjectSchema(body)) yield [["body"], "must be an object"];
  else if (method === "POST" && isObjectSchema(body) && Object.hasOwn(body, "id"))
    yield [["body", "id"], "leave the id out, or PUT to /{collection}/{id} to choose it"];
}

/** POST goes to a collection, PUT also to one with a unique field, and the others go to a resource. */
function targetError(method: BatchMethod, path: string): string | undefined {
  const [address = "", query] = path.split(/\?(.*)/s, 2);
  const isCollection = address.split("/").length === 2;
  if (method === "PUT" && isCollection && query !== undefined) {
    const value = uniqueValueIn(path);
    return value instanceof Problem ? (value.errors?.[0]?.detail ?? value.detail) : undefined;
  }
  const isRight = query === undefined && isCollection === (method === "POST");
  return isRight ? undefined : targetMessages[method];
}

const resourceTarget = (method: BatchMethod) => `${method} goes to /{collection}/{id}`;

const targetMessages: Readonly<Record<BatchMethod, string>> = {
  POST: "POST goes to /{collection}",
  PUT: `${resourceTarget("PUT")}, or to /{collection}?{field}={value} with a unique field`,
  PATCH: resourceTarget("PATCH"),
  DELETE: resourceTarget("DELETE"),
};

/** Reads the unique field and its value in the path of a PUT to a collection. */
function uniqueValueIn(path: string): ReturnType<typeof readUniqueValue> {
  const queryStart = path.indexOf("?");
  const name = path.slice(1, queryStart);
  const query = path.slice(queryStart + 1);
  return checkQueryEncoding(query) ?? readUniqueValue(readSearchParams(query), { name });
}

/** The texts of the bodies, because a parsed number may lose digits. */
function bodiesIn(batch: Tree): readonly string[] {
  const list = isObject(batch) ? batch.members.get("operations") : undefined;
  const items = typeof list === "object" && list.kind === "array" ? list.items : [];
  return items.map((item) => {
    const body = isObject(item) ? item.members.get("body") : undefined;
    return body === undefined ? "" : writeTree(body);
  });
}

/** The schema has checked the syntax of the entity tags. */
function conditionOf(operation: BatchOperationBody): WriteCondition | undefined {
  const match = ifMatch(operation.ifMatch ?? null);
  const noneMatch = ifNoneMatch(operation.ifNoneMatch ?? null);
  if (match instanceof Problem || noneMatch instanceof Problem)
    throw new Error("entity tags must be checked before");
  return allOf(match, noneMatch);
}

const patchKinds = {
  "application/merge-patch+json": "merge",
  "application/json-patch+json": "json",
  [operationsType]: "operations",
} as const;

/** Makes an operation of a valid one. */
function operationOf(
  operation: BatchOperationBody,
  body: string,
  condition: WriteCondition | undefined,
): TargetedOperation {
  const [, collection = "", id = ""] = operation.path.split(/\/|\?.*/s);
  const target = { collection, id, condition };
  switch (operation.method) {
    case "POST":
      return { kind: "create", draft: draftIn(body), ...target };
    case "PUT": {
      const draft = draftIn(body);
      if (id !== "") return { kind: "put", draft, ...target };
      const unique = uniqueValueIn(operation.path);
      if (unique instanceof Problem)
        throw new Error("the path of an operation must be checked before");
      return { kind: "upsert", draft, collection, condition, ...unique };
    }
    case "PATCH": {
      const { contentType = "application/merge-patch+json" } = operation;
      return { collection, ...patchOperation(patchKinds[contentType], body, { id, condition }) };
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
