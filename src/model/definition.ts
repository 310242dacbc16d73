// Reads the definition of a collection from its JSON text.

import { ErrorReport } from "../lib/json/error-report.ts";
import { scanObject } from "../lib/json/scan.ts";
import { withDefaults } from "../lib/schema/check-value.ts";
import { checkDefinition } from "./check-definition.ts";
import type { Collection, Rules } from "./collection.ts";
import { type Definition, type DefinitionRequest, definitionSchema } from "./definition-schema.ts";
import type { FieldError } from "./problem.ts";

export type { Definition };

export const openDefinition: Definition = withDefaults(definitionSchema, {});

/** Parses a definition. Returns all errors when it is not valid. */
export function readDefinition(text: string): Definition | readonly FieldError[] {
  const scanned = scanObject(text);
  if (!("members" in scanned)) return scanned;
  const given: Readonly<Record<string, unknown>> = JSON.parse(text);
  const report = new ErrorReport();
  checkDefinition(given, report);
  return report.errors.length > 0 ? report.errors : complete(given);
}

/** Fills in the defaults of a valid definition. */
function complete({ $schema: _, ...given }: DefinitionRequest): Definition {
  return withDefaults(definitionSchema, given);
}

const cache = new WeakMap<Rules | Collection, Definition>();

/** Parses the definition once per object. */
export function definitionOf(rules: Rules | Collection): Definition {
  const cached = cache.get(rules);
  if (cached !== undefined) return cached;
  const definition = complete(JSON.parse(rules.definition));
  cache.set(rules, definition);
  return definition;
}
