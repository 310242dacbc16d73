// Reads the preconditions of a POST, whose target is the collection as GET shows it (RFC 9110 §13.2).

import type { CollectionAccess } from "../../domain/collection-access.ts";
import { preconditionFailed } from "../../domain/problems.ts";
import type { CollectionPrecondition } from "../../domain/write/operation.ts";
import { Problem } from "../../model/problem.ts";
import { isTagOf, readCondition, type TargetState, wholeSecond } from "../headers/conditional.ts";
import type { RequestContext } from "../request/context.ts";
import { firstPageHead } from "./list.ts";

/** Returns undefined without preconditions. */
export function readCollectionCondition(
  context: RequestContext,
): CollectionPrecondition | Problem | undefined {
  const { headers } = context.request;
  const sent = readCondition(headers);
  if (sent === undefined || sent instanceof Problem) return sent;
  return async (access) => {
    const state = await stateOf(context, access);
    if (state instanceof Problem) return state;
    const condition = readCondition(headers, () => state);
    return typeof condition === "function" && condition(undefined, access);
  };
}

/** Checks the preconditions of an import, before its first line. */
export async function checkCollectionCondition(
  context: RequestContext,
): Promise<Problem | undefined> {
  const condition = readCollectionCondition(context);
  if (condition === undefined || condition instanceof Problem) return condition;
  const holds = await condition(context.collection);
  return holds === true ? undefined : holds || preconditionFailed;
}

/** Undefined when the collection does not exist. */
async function stateOf(
  context: RequestContext,
  access: CollectionAccess,
): Promise<TargetState | Problem | undefined> {
  const target = await context.services.lists.target(access);
  if (target instanceof Problem) return target.kind === "not-found" ? undefined : unseen;
  const head = await firstPageHead(context, target);
  if (head instanceof Problem) return head;
  if (head.validators === undefined) return unseen;
  const { etag, updatedAt, isDateExact } = head.validators;
  return {
    isTag: (tag) => isTagOf(tag, etag),
    isUnmodifiedSince: (since) =>
      updatedAt === undefined || (isDateExact && wholeSecond(updatedAt) <= since),
  };
}

/** What a caller who may not read the collection knows: that it exists, but no tag and no date. */
const unseen: TargetState = { isTag: () => false, isUnmodifiedSince: () => true };
