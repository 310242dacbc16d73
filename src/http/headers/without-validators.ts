// Checks preconditions on targets that have neither an ETag nor a date (RFC 9110 §13.1).

import { preconditionFailed } from "../../domain/problems.ts";
import { Problem } from "../../model/problem.ts";
import { readCondition } from "./conditional.ts";

/** Whether GET shows a representation of the target. */
type TargetKind = "is shown" | "is not shown";

/** No tag is that of the target, and dates are ignored. Otherwise a request that depends on a state would always run. */
export function checkWithoutValidators(headers: Headers, target: TargetKind): Problem | undefined {
  const condition = readCondition(headers);
  if (condition instanceof Problem) return condition;
  const isShown = target === "is shown";
  const match = headers.get("if-match");
  if (match !== null && !(isShown && isAny(match))) return noTag;
  return isShown && isAny(headers.get("if-none-match")) ? preconditionFailed : undefined;
}

const noTag = new Problem(
  "precondition-failed",
  "There is no ETag at this address, so this If-Match cannot hold. Leave it out. Nothing was changed.",
);

const isAny = (field: string | null): boolean => field?.trim() === "*";
