// Checks the precondition of a change.

import type { Expectation, Outcome } from "../store.ts";
import type { ResourceState } from "./state.ts";

/** Returns the outcome when the precondition of a change fails. */
export function failedExpectation(
  state: ResourceState | undefined,
  expect: Expectation,
): Outcome | undefined {
  if (expect === "nothing") return state && { kind: "taken" };
  if (expect === "no-files") return state?.files ? { kind: "stale" } : undefined;
  if (expect === "anything" || expect === state?.revision) return undefined;
  return { kind: state ? "stale" : "missing" };
}
