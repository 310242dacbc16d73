// Reads and checks the definition of a collection that a client has sent.

import { ErrorReport } from "../lib/json/error-report.ts";
import { scanObject } from "../lib/json/scan.ts";
import { runAtOnce, type WorkSteps } from "../lib/turns.ts";
import { definitionSteps } from "./check-definition.ts";
import { complete, type Definition } from "./definition.ts";
import type { FieldError } from "./problem.ts";

/** Parses a definition. Returns all errors when it is not valid. */
export const readDefinition = (text: string): Definition | readonly FieldError[] =>
  runAtOnce(readSteps(text));

/** The same in steps, because a large definition takes long. */
export function* readSteps(text: string): WorkSteps<Definition | readonly FieldError[]> {
  const scanned = scanObject(text);
  yield text.length;
  if (!("members" in scanned)) return scanned;
  const given: Readonly<Record<string, unknown>> = JSON.parse(text);
  yield text.length;
  const report = new ErrorReport();
  yield* definitionSteps(given, text.length, report);
  return report.errors.length > 0 ? report.errors : complete(given);
}
