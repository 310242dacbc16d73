// Keeps stored values from callers who may write a resource but not read it.

import { pointerTo } from "../../lib/json/error-report.ts";
import { memberOf } from "../../lib/own-property.ts";
import { definitionOf } from "../../model/definition.ts";
import type { StoredFile } from "../../model/file.ts";
import type { PatchKind } from "../../model/patch.ts";
import { type FieldError, Problem } from "../../model/problem.ts";
import { adminOnlyChange, validatorOf } from "../../model/validator.ts";
import type { CollectionAccess } from "../collection-access.ts";

/**
 * Rejects a patch that could reveal stored values: a `test` operation, and setting a read-only field,
 * which succeeds only when the value is equal.
 */
export function rejectReadingPatch(
  access: CollectionAccess,
  { kind, text }: SentPatch,
): Problem | undefined {
  const patch: unknown = JSON.parse(text);
  const isTesting =
    kind === "json" && operationsIn(patch).some((one) => memberOf(one, "op") === "test");
  if (isTesting) return access.require("read");
  const validator = access.rules && validatorOf(definitionOf(access.rules));
  const protectedFields = pathsIn(kind, patch).filter((names) => validator?.isReadOnly(names));
  if (protectedFields.length === 0) return undefined;
  return new Problem("invalid-body", "The patch is not valid; `errors` lists each error.", {
    errors: protectedFields.map((names) => ({
      pointer: pointerTo(names),
      detail: adminOnlyChange,
    })),
  });
}

/** A patch as it was sent. */
export interface SentPatch {
  readonly kind: PatchKind;
  /** Strict JSON. */
  readonly text: string;
  /** Files that were sent. A merge patch has a member for each. */
  readonly files?: readonly StoredFile[];
}

/** Removes the errors about stored values from the problem of a patch. */
export function hideStoredErrors(problem: Problem, { kind, text }: SentPatch): Problem {
  if (problem.errors === undefined) return problem;
  const sent = pathsIn(kind, JSON.parse(text)).map(pointerTo);
  const isSent = (error: FieldError) =>
    sent.some((pointer) => error.pointer === pointer || error.pointer.startsWith(`${pointer}/`));
  const errors = problem.errors.filter((error) => "pointer" in error && isSent(error));
  const isAll = errors.length === problem.errors.length;
  return new Problem(problem.kind, problem.detail, {
    errors: isAll ? errors : [...errors, storedError],
  });
}

/** Returns a problem with errors that do not depend on hidden values, or the one that says nothing of them. */
export const concealed = ({ kind, detail }: Problem, errors: readonly FieldError[]): Problem =>
  new Problem(kind, detail, { errors: errors.length > 0 ? errors : [storedError] });

export const storedError: FieldError = {
  pointer: "",
  detail: "the resource would not be valid together with its stored values",
};

type MemberNames = readonly string[];

/** Returns the paths of all values that a patch sets. */
const pathsIn = (kind: PatchKind, patch: unknown): readonly MemberNames[] =>
  kind === "merge" ? leavesOf(patch, []) : operationsIn(patch).flatMap(pathsSetBy);

function leavesOf(value: unknown, names: MemberNames): readonly MemberNames[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [names];
  return Object.entries(value).flatMap(([name, inner]) => leavesOf(inner, [...names, name]));
}

function pathsSetBy(operation: unknown): readonly MemberNames[] {
  const path = memberOf(operation, "path");
  const isSetting = ["add", "replace"].includes(`${memberOf(operation, "op")}`);
  if (!isSetting || typeof path !== "string") return [];
  const names = path.split("/").slice(1);
  const unescaped = names.map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
  return leavesOf(memberOf(operation, "value"), unescaped);
}

const operationsIn = (patch: unknown): readonly unknown[] => (Array.isArray(patch) ? patch : []);
