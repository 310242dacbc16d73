// Validates the definition that an action module exports and returns the action or all errors.

import { ErrorReport, type Path } from "../lib/json/error-report.ts";
import { scanJson } from "../lib/json/scan.ts";
import { checkValue } from "../lib/schema/check-value.ts";
import { isObjectSchema, type ObjectSchema } from "../lib/schema/subschemas.ts";
import { withDefaults } from "../lib/schema/with-defaults.ts";
import { runAtOnce } from "../lib/turns.ts";
import type { Action } from "./action.ts";
import { actionDefinitionSchema, isActionName } from "./action-schema.ts";
import { type Subject, schemaSteps } from "./check-schema.ts";
import type { FieldError } from "./problem.ts";
import { verbs } from "./token.ts";

export function readAction(name: string, given: unknown): Action | readonly FieldError[] {
  const report = new ErrorReport();
  addNameErrors(name, report);
  if (!isObjectSchema(given)) {
    report.add([], "must be an object for defineAction");
    return report.errors;
  }
  const { run, ...described } = given;
  if (typeof run !== "function")
    report.add(["run"], run === undefined ? "run is required" : "must be a function");
  const members = jsonMembers(described, report);
  const isValid = members !== undefined && checkValue(actionDefinitionSchema, members, report);
  checkMemberSchema(described.input, ["input"], report, "input");
  checkMemberSchema(described.output, ["output"], report, "value");
  if (!isValid || typeof run !== "function" || report.errors.length > 0) return report.errors;
  // A method keeps its `this`.
  return { ...withDefaults(actionDefinitionSchema, members), name, run: run.bind(given) };
}

/**
 * Returns a copy of the members as JSON values, because a module may change its own object later. Leaves
 * out those that are undefined. Returns undefined when one is not JSON.
 */
function jsonMembers(members: ObjectSchema, report: ErrorReport): ObjectSchema | undefined {
  const texts = Object.entries(members)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, jsonOf(value)] as const);
  const invalid = texts.filter(([, text]) => text === undefined);
  for (const [name] of invalid) report.add([name], "must be JSON, without functions and cycles");
  if (invalid.length > 0) return undefined;
  return Object.fromEntries(texts.map(([name, text]) => [name, JSON.parse(text ?? "")]));
}

function addNameErrors(name: string, report: ErrorReport): void {
  if (!isActionName(name))
    report.add(
      [],
      "the file name is the name of the action: 1 to 63 characters of a-z, 0-9 and -, not starting with -",
    );
  else if ((verbs as readonly string[]).includes(name))
    report.add(
      [],
      `an action must not have the name ${name}, because its scope would be that of a collection`,
    );
}

/** An unsupported number is rejected as in a definition. */
function checkMemberSchema(
  value: unknown,
  path: Path,
  report: ErrorReport,
  subject: Subject,
): void {
  const text = isObjectSchema(value) ? jsonOf(value) : undefined;
  if (text === undefined) return;
  const [error] = scanJson(text);
  if (error !== undefined) report.add(path, error.detail);
  else runAtOnce(schemaSteps(JSON.parse(text), text.length, path, report, subject));
}

/** Returns undefined for a value that JSON cannot represent. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
