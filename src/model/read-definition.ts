// Reads and checks the definition of a collection that a client has sent.

import { ErrorReport } from "../lib/json/error-report.ts";
import { scanObject } from "../lib/json/scan.ts";
import { checkDefinition } from "./check-definition.ts";
import { complete, type Definition } from "./definition.ts";
import type { FieldError } from "./problem.ts";

/** Parses a definition. Returns all errors when it is not valid. */
export function readDefinition(text: string): Definition | readonly FieldError[] {
  const scanned = scanObject(text);
  if (!("members" in scanned)) return scanned;
  const given: Readonly<Record<string, unknown>> = JSON.parse(text);
  const report = new ErrorReport();
  checkDefinition(given, report);
  return report.errors.length > 0 ? report.errors : complete(given);
}
