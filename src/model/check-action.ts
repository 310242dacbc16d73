// Validates the definition that an action module exports and returns the action or all errors.

import { ErrorReport, type Path } from "../lib/json/error-report.ts";
import { scanJson } from "../lib/json/scan.ts";
import { type Action, type ActionDefinition, actionLimits, isActionName } from "./action.ts";
import { checkSchema, type Subject } from "./check-schema.ts";
import type { FieldError } from "./problem.ts";
import { definitionLimits } from "./schemas/definition.ts";
import { verbs } from "./token.ts";

type Members = Readonly<Record<string, unknown>>;
type Rule = (value: unknown, path: Path, report: ErrorReport) => void;

const rules: Readonly<Record<keyof ActionDefinition, Rule>> = {
  description: isText,
  input: (value, path, report) => isSchema(value, path, report, "input"),
  output: (value, path, report) => isSchema(value, path, report, "value"),
  timeoutMs: isTimeout,
  run: (value, path, report) => {
    if (typeof value !== "function") report.add(path, "must be a function");
  },
};

const requiredMembers = ["description", "input", "run"] as const;

export function readAction(name: string, given: unknown): Action | readonly FieldError[] {
  const report = new ErrorReport();
  addNameErrors(name, report);
  if (!isMembers(given)) {
    report.add([], "must be an object for defineAction");
    return report.errors;
  }
  for (const member of requiredMembers)
    if (given[member] === undefined) report.add([member], "is missing");
  for (const [member, value] of Object.entries(given)) {
    const rule = Object.hasOwn(rules, member) ? rules[member as keyof ActionDefinition] : undefined;
    if (rule === undefined)
      report.add([member], `unknown member; allowed members: ${Object.keys(rules).join(", ")}`);
    else if (value !== undefined) rule(value, [member], report);
  }
  // The checks above have verified the type.
  return report.errors.length > 0
    ? report.errors
    : complete(name, given as unknown as ActionDefinition);
}

function complete(name: string, definition: ActionDefinition): Action {
  const { description, input, output, timeoutMs = actionLimits.defaultTimeoutMs } = definition;
  return {
    name,
    description,
    input: copyOf(input),
    output: output && copyOf(output),
    timeoutMs,
    // Keeps `this` for a method.
    run: (context) => definition.run(context),
  };
}

/** A copy, because a module may change its own object later. */
const copyOf = <T>(value: T): T => JSON.parse(JSON.stringify(value));

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

function isText(value: unknown, path: Path, report: ErrorReport): void {
  const { maxDescriptionChars } = definitionLimits;
  if (typeof value !== "string" || value.trim() === "") report.add(path, "must be text");
  else if (value.length > maxDescriptionChars)
    report.add(path, `must have at most ${maxDescriptionChars} characters`);
}

function isTimeout(value: unknown, path: Path, report: ErrorReport): void {
  const { maxTimeoutMs } = actionLimits;
  const isValid =
    Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= maxTimeoutMs;
  if (!isValid) report.add(path, `must be a whole number from 1 to ${maxTimeoutMs}`);
}

function isSchema(value: unknown, path: Path, report: ErrorReport, subject: Subject): void {
  const text = jsonOf(value);
  const [error] =
    text === undefined ? [{ detail: "must be a JSON Schema, which is JSON" }] : scanJson(text);
  if (error !== undefined) report.add(path, error.detail);
  else checkSchema(JSON.parse(text ?? ""), path, report, subject);
}

/** Returns undefined for a value that JSON cannot represent. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);
