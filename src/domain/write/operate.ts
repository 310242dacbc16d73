// Plans the operations of a PATCH: checks them, and decides whether the store can apply them at the commit.

import { isDeepStrictEqual } from "node:util";
import { pathOfPointer, pointerTo } from "../../lib/json/error-report.ts";
import { isInMask, maskOf } from "../../model/access/field-mask.ts";
import type { Rules } from "../../model/collection.ts";
import { definitionOf } from "../../model/definition.ts";
import { readIndex } from "../../model/listed-index.ts";
import { Problem } from "../../model/problem.ts";
import { valueIn } from "../../model/query/field-path.ts";
import { referencesOf } from "../../model/reference.ts";
import type { Resource } from "../../model/resource.ts";
import { applyOperations, type FailedOperations } from "../../model/write/apply-operations.ts";
import { type OperationsRequest, operateOn } from "../../model/write/operate.ts";
import { checkOperations, pathInBody, readOperations } from "../../model/write/operations.ts";
import type { Operate } from "../../store/store.ts";
import type { CollectionAccess } from "../collection-access.ts";
import { acceptWrite, forbiddenFields } from "./allow.ts";
import type { BatchMemory } from "./batch-memory.ts";
import { decidedBy } from "./changes.ts";
import type { Operation } from "./operation.ts";
import { seenDraft, seenFields } from "./seen.ts";
import { type PlannedState, write } from "./states.ts";
import type { Accepted } from "./validate.ts";
import { storedError } from "./without-read.ts";

interface OperateContext {
  readonly at: number;
  /** The limit of the result. */
  readonly maxBytes: number;
  /** The prefix of every address. */
  readonly base: string;
  readonly memory: BatchMemory | undefined;
}

interface BatchContext extends OperateContext {
  /** All operations of the plan. */
  readonly others: readonly { readonly access: CollectionAccess; readonly operation: Operation }[];
}

type OperateOperation = Extract<Operation, { kind: "operate" }>;

/**
 * Leaves the operations to the store, which applies them to the state at the commit. Returns undefined
 * when the result has to be computed before: then the commit fails if somebody else comes in between.
 */
export function planOperations(
  access: CollectionAccess,
  { id, operations, condition }: OperateOperation,
  state: PlannedState,
  context: BatchContext,
): Operate | Problem | undefined {
  const { current } = state;
  if (current === undefined) return undefined;
  const rejected = rejectOperations(access, current, operations);
  if (rejected !== undefined) return rejected;
  const request = requestOf(access, id, operations, context);
  // Grants decide about the result, so it has to be known.
  const isLeft =
    access.caller.writesWhole &&
    isOnlyOperated(access, id, context) &&
    !mayLoseTarget(access, context);
  if (!isLeft || !isForStore(access, current, request)) return undefined;
  const { memory, at } = context;
  const bytes = current.fields.length;
  const full =
    memory?.takeChanged(state.isWritten ? 0 : bytes) ??
    memory?.takeWritten(bytes + operations.length);
  if (full !== undefined) return full;
  const expect = condition === undefined || state.isWritten ? "anything" : current.revision;
  write(state, { ...current, revision: 0 });
  const owner = access.caller.seen.update?.owner;
  return {
    kind: "operate",
    collection: access.name,
    id,
    at,
    expect,
    ...request,
    bytes,
    rules: access.rules?.version ?? 0,
    ...(owner !== undefined && { owner }),
    ...decidedBy(access),
  };
}

const requestOf = (
  { name, isAdmin }: CollectionAccess,
  id: string,
  operations: string,
  { base, maxBytes }: OperateContext,
): OperationsRequest => ({ operations, isAdmin, address: `${base}/${name}/${id}`, maxBytes });

/** Whether no operation of another kind needs the state of the resource. An upsert can mean any. */
const isOnlyOperated = (
  { name }: CollectionAccess,
  id: string,
  { others }: BatchContext,
): boolean =>
  others.every(({ access, operation }) => {
    const isSame = operation.kind === "upsert" || ("id" in operation && operation.id === id);
    return access.name !== name || !isSame || operation.kind === "operate";
  });

/** Whether the plan can delete what the resource refers to: then its references have to be checked. */
const mayLoseTarget = ({ rules }: CollectionAccess, { others }: BatchContext): boolean =>
  rules !== undefined &&
  referenceFields(rules).length > 0 &&
  others.some(({ operation }) => operation.kind === "remove");

/** Checks what does not depend on the stored values. An operation reads the value that it changes. */
function rejectOperations(
  access: CollectionAccess,
  current: Resource,
  operations: string,
): Problem | undefined {
  const forbidden = access.mayRead(current) ? undefined : access.require("read");
  if (forbidden !== undefined) return forbidden;
  const errors = checkOperations(operations, access.rules, access.isAdmin);
  if (errors.length === 0) return rejectUnseen(access, current, operations);
  const detail = "The operations are not valid; `errors` lists each error.";
  return new Problem("invalid-body", detail, { errors });
}

/** Rejects operations on fields that the caller does not see. */
function rejectUnseen(
  access: CollectionAccess,
  current: Resource,
  operations: string,
): Problem | undefined {
  const mask = maskOf(seenFields(access, current));
  const unseen = readOperations(operations).filter(({ path }) => !isInMask(mask, path));
  if (unseen.length === 0) return undefined;
  return forbiddenFields(
    unseen.map((each) => ({ pointer: pointerTo(pathInBody(each)), detail: mayNotRead })),
  );
}

const mayNotRead = "an operation reads the field, and this caller may not";

/** Returns the resource as it will be stored if nobody changes it before. */
export function acceptOperations(
  access: CollectionAccess,
  current: Resource,
  operations: string,
  context: OperateContext,
): Accepted | Problem {
  const request = requestOf(access, current.id, operations, context);
  const result = operateOn(access.rules, current, request);
  if ("errors" in result) return operationsProblem(seenFailure(access, current, request, result));
  return access.caller.writesWhole
    ? result
    : acceptRuled(access, current, operations, { ...context, ...request });
}

/** Shows the errors that there would be without the values that the caller does not see. */
function seenFailure(
  access: CollectionAccess,
  current: Resource,
  request: OperationsRequest,
  failed: FailedOperations,
): FailedOperations {
  const mask = failed.kind === "invalid" ? maskOf(seenFields(access, current)) : undefined;
  if (mask === undefined) return failed;
  const { id, revision, createdAt, updatedAt } = current;
  const fields = seenDraft(access, current, request.address);
  const seen = { id, revision, createdAt, updatedAt, fields };
  const alone = operateOn(access.rules, seen, request);
  const all = "errors" in alone ? alone.errors : [];
  const errors = all.filter(({ pointer }) => isInMask(mask, pathOfPointer(pointer)));
  return { ...failed, errors: errors.length > 0 ? errors : [storedError] };
}

/** Applies the operations to what the caller sees, and lets the grants decide about the result. */
function acceptRuled(
  access: CollectionAccess,
  current: Resource,
  operations: string,
  { at, address }: OperateContext & OperationsRequest,
): Accepted | Problem {
  const schema = access.rules && definitionOf(access.rules).schema;
  const seen = seenDraft(access, current, address);
  const sent = applyOperations(seen, readOperations(operations), schema);
  if (typeof sent !== "string") return operationsProblem(sent);
  return acceptWrite(access, sent, { id: current.id, at, address, current });
}

/** Whether the store can compute the result at the commit: what it must look up elsewhere stays the same. */
function isForStore(
  { rules }: CollectionAccess,
  current: Resource,
  request: OperationsRequest,
): boolean {
  const fields = rules === undefined ? [] : [...uniqueFields(rules), ...referenceFields(rules)];
  if (fields.length === 0) return true;
  if (fields.includes("updatedAt")) return false;
  const result = operateOn(rules, current, request);
  if ("errors" in result) return true;
  const [before, after]: unknown[] = [JSON.parse(current.fields), JSON.parse(result.fields)];
  return fields.every((field) => isDeepStrictEqual(valueIn(before, field), valueIn(after, field)));
}

const uniqueFields = (rules: Rules): readonly string[] =>
  definitionOf(rules).unique.flatMap((listed) =>
    readIndex(listed).fields.map(({ field }) => field),
  );

const referenceFields = (rules: Rules): readonly string[] =>
  referencesOf(definitionOf(rules).references).map(({ field }) => field);

export function operationsProblem({ kind, errors }: FailedOperations): Problem {
  return kind === "invalid"
    ? new Problem("conflict", "The result would not be valid; nothing was changed.", { errors })
    : new Problem("invalid-body", "An operation does not fit its field; nothing was changed.", {
        errors,
      });
}
