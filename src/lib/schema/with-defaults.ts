// Fills in the defaults of schemas that are constants of the program.

import type { FromSchema } from "./from-schema.ts";
import { isObjectSchema, type ObjectSchema } from "./subschemas.ts";

/** Fills in the defaults of `properties`, also in nested objects. */
export function withDefaults<const S extends ObjectSchema>(
  schema: S,
  value: FromSchema<S, "out">,
): FromSchema<S> {
  return fill(schema, value) as FromSchema<S>;
}

function fill({ properties }: ObjectSchema, value: unknown): unknown {
  if (!isObjectSchema(properties) || !isObjectSchema(value)) return value;
  const filled: Record<string, unknown> = { ...value };
  for (const [name, member] of Object.entries(properties)) {
    if (!isObjectSchema(member)) continue;
    const given = Object.hasOwn(value, name) ? value[name] : member.default;
    if (given !== undefined) filled[name] = fill(member, given);
  }
  return filled;
}
