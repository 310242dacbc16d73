// Callers who may write and not read: no answer tells them what is stored.

import { pointerTo } from "../lib/json/error-report.ts";
import type { Rules } from "../model/collection.ts";
import { definitionOf } from "../model/definition.ts";
import type { PatchKind } from "../model/patch.ts";
import { type FieldError, Problem } from "../model/problem.ts";
import type { Resource } from "../model/resource.ts";
import { adminOnlyChange, validatorOf } from "../model/validator.ts";
import { type Caller, reaches, requirePermission } from "./access.ts";

/** Whether the caller may read a resource that it writes. Who may not is answered without its content. */
export function mayRead(
  caller: Caller,
  collection: string,
  rules: Rules | undefined,
  resource: Resource,
): boolean {
  const isRefused = requirePermission(caller, collection, "read", rules) !== undefined;
  return !isRefused && reaches(caller, "read", rules, resource);
}

/**
 * Refuses a patch that asks what is stored: a `test` reads, and so does setting a read-only field to
 * what it may already be.
 */
export function refuseAsking(
  caller: Caller,
  collection: string,
  rules: Rules | undefined,
  { kind, text }: SentPatch,
): Problem | undefined {
  const patch: unknown = JSON.parse(text);
  const isTesting =
    kind === "json" && operationsIn(patch).some((one) => memberOf(one, "op") === "test");
  if (isTesting) return requirePermission(caller, collection, "read", rules);
  const shape = rules && validatorOf(definitionOf(rules));
  const kept = placesIn(kind, patch).filter((names) => shape?.isReadOnly(names));
  if (kept.length === 0) return undefined;
  return new Problem("invalid-body", "The patch is not valid; `errors` names each fault.", {
    errors: kept.map((names) => ({ pointer: pointerTo(names), detail: adminOnlyChange })),
  });
}

/** A patch as it was sent. */
export interface SentPatch {
  readonly kind: PatchKind;
  /** Strict JSON. */
  readonly text: string;
}

/** The refusal of a patch with the faults of what was sent. What is wrong beside it is not told. */
export function withoutStored(problem: Problem, { kind, text }: SentPatch): Problem {
  if (problem.errors === undefined) return problem;
  const sent = placesIn(kind, JSON.parse(text)).map(pointerTo);
  const isSent = (fault: FieldError) =>
    sent.some((pointer) => fault.pointer === pointer || fault.pointer.startsWith(`${pointer}/`));
  const errors = problem.errors.filter((fault) => "pointer" in fault && isSent(fault));
  const isAll = errors.length === problem.errors.length;
  return new Problem(problem.kind, problem.detail, {
    errors: isAll ? errors : [...errors, besides],
  });
}

const besides: FieldError = {
  pointer: "",
  detail: "with what is stored beside it, the resource would not be valid",
};

type Names = readonly string[];

/** The places of all that a patch sets. */
const placesIn = (kind: PatchKind, patch: unknown): readonly Names[] =>
  kind === "merge" ? leavesOf(patch, []) : operationsIn(patch).flatMap(placesSetBy);

function leavesOf(value: unknown, names: Names): readonly Names[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [names];
  return Object.entries(value).flatMap(([name, inner]) => leavesOf(inner, [...names, name]));
}

function placesSetBy(operation: unknown): readonly Names[] {
  const path = memberOf(operation, "path");
  const isSetting = ["add", "replace"].includes(`${memberOf(operation, "op")}`);
  if (!isSetting || typeof path !== "string") return [];
  const names = path.split("/").slice(1);
  const plain = names.map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
  return leavesOf(memberOf(operation, "value"), plain);
}

const operationsIn = (patch: unknown): readonly unknown[] => (Array.isArray(patch) ? patch : []);

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
