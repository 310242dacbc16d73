// What may be stored: an incoming representation, judged by the rules of its collection.

import type { Rules } from "../model/collection.ts";
import { definitionOf } from "../model/definition.ts";
import { type Draft, draftOf } from "../model/draft.ts";
import { applyPatch, type PatchKind } from "../model/json/patch.ts";
import { isObject, textOf, writeTree } from "../model/json/tree.ts";
import { type Fault, Problem } from "../model/problem.ts";
import { type Resource, serverMembers } from "../model/resource.ts";
import { shapeOf } from "../model/schema/shape.ts";
import { isAdmin } from "../model/token.ts";
import { viewOf } from "../model/view.ts";
import type { Caller } from "./access.ts";
import { anotherId } from "./refusals.ts";

/** The text to store: what was sent, with what the schema adds to it. */
export function accept(
  caller: Caller,
  rules: Rules | undefined,
  fields: string,
  current?: Resource,
): string | Problem {
  if (rules === undefined) return fields;
  const definition = definitionOf(rules);
  const shape = shapeOf(definition);
  // Who writes back what it has read must not lose what it was not shown.
  const whole = current && shape.hides ? shape.restored(fields, current.fields) : fields;
  const mayFix = caller !== undefined && isAdmin(caller);
  const accepted = shape.accept(whole, current?.fields, mayFix);
  if (typeof accepted !== "string") return invalid(accepted);
  const { maxBytes } = definition;
  const isTooLarge = maxBytes !== undefined && Buffer.byteLength(accepted) > maxBytes;
  return isTooLarge ? tooLarge(maxBytes) : accepted;
}

/** Whether what is there decides what may take its place. */
export const needsCurrent = (rules: Rules | undefined): boolean =>
  rules !== undefined && shapeOf(definitionOf(rules)).isBound;

/** Applied to what is shown, so that no patch can read what is not. */
export function patched(
  rules: Rules | undefined,
  current: Resource,
  kind: PatchKind,
  patch: string,
  maxBytes: number,
): Draft | Problem {
  const tree = applyPatch(kind, viewOf(rules, current, ""), patch, maxBytes);
  if (tree instanceof Problem) return tree;
  if (isObject(tree)) {
    if (tree.members.has("id") && textOf(tree, "id") !== current.id) return anotherId;
    // Ours, so they do not count as members of the client's.
    for (const name of serverMembers) tree.members.delete(name);
  }
  const draft = draftOf(writeTree(tree));
  if (!("fields" in draft)) return invalidResult(draft);
  const isTooLarge = Buffer.byteLength(draft.fields) > maxBytes;
  const detail = `it would be over ${maxBytes} bytes`;
  return isTooLarge ? invalidResult([{ pointer: "", detail }]) : draft;
}

const invalid = (errors: readonly Fault[]): Problem =>
  new Problem("invalid-body", "The resource is not valid; `errors` names each fault.", { errors });

const invalidResult = (errors: readonly Fault[]): Problem =>
  new Problem(
    "invalid-body",
    "The patched resource would not be valid; `errors` names each fault.",
    { errors },
  );

const tooLarge = (maxBytes: number): Problem =>
  new Problem(
    "content-too-large",
    `A resource of this collection has at most ${maxBytes} bytes. Nothing was stored.`,
  );
