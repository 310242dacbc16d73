// Checks values against schemas that are constants of the program.

import type { ErrorReport, Path } from "../json/error-report.ts";
import { explain } from "./explain.ts";
import type { FromSchema } from "./from-schema.ts";
import type { ObjectSchema } from "./subschemas.ts";
import { CompiledSchema } from "./validator.ts";

const cache = new WeakMap<ObjectSchema, CompiledSchema>();

/** Whether a value that was parsed from JSON is valid. Adds all errors when it is not. */
export function checkValue<const S extends ObjectSchema>(
  schema: S,
  value: unknown,
  report: ErrorReport,
  path: Path = [],
): value is FromSchema<S, "out"> {
  const compiled = compiledOf(schema);
  const isValid = compiled.isValid(value);
  if (!isValid) explain(compiled, value, path, report);
  return isValid;
}

function compiledOf(schema: ObjectSchema): CompiledSchema {
  const cached = cache.get(schema);
  if (cached !== undefined) return cached;
  const compiled = new CompiledSchema(schema);
  cache.set(schema, compiled);
  return compiled;
}
