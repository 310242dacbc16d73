// Explains errors of oneOf and anyOf: by the discriminator, or with a message about all forms.

import type { Path } from "../json/error-report.ts";
import { own } from "../own-property.ts";
import { describeType, describeValue, keywordMessages } from "./messages.ts";
import { isObjectSchema, type Schema } from "./subschemas.ts";

/** The values of `const` or `enum`. Returns undefined when the schema has neither. */
export function constantsOf(schema: Schema | undefined): readonly unknown[] | undefined {
  if (!isObjectSchema(schema)) return undefined;
  if (Object.hasOwn(schema, "const")) return [schema.const];
  return Array.isArray(schema.enum) ? schema.enum : undefined;
}

/** The `properties` of a form. */
export const propertiesOf = (form: Schema): Readonly<Record<string, Schema>> =>
  isObjectSchema(form) && isObjectSchema(form.properties)
    ? (form.properties as Readonly<Record<string, Schema>>)
    : {};

export interface ChoiceError {
  /** Relative to the value. */
  readonly path: Path;
  readonly message: string;
}

/** The error for a member whose constant distinguishes the forms, when the value does not have it or has an unknown constant. */
export function discriminatorError(
  forms: readonly Schema[],
  value: unknown,
): ChoiceError | undefined {
  const constants = unionOf(forms);
  if (constants !== undefined) return { path: [], message: oneOf(constants) };
  if (!isObjectSchema(value)) return undefined;
  const [first, ...others] = forms.map(propertiesOf);
  for (const name of Object.keys(first ?? {})) {
    const parts = [first, ...others].map((members) => own(members ?? {}, name));
    const allowed = unionOf(parts);
    if (allowed === undefined) continue;
    if (!Object.hasOwn(value, name)) {
      const words = `${name} is required and selects the form: it ${oneOf(allowed)}`;
      return { path: [name], message: words };
    }
    if (!allowed.includes(value[name])) return { path: [name], message: oneOf(allowed) };
  }
  return undefined;
}

/** All constants of the schemas. Returns undefined when one of them has none. */
function unionOf(schemas: readonly (Schema | undefined)[]): readonly unknown[] | undefined {
  const lists = schemas.map(constantsOf);
  if (lists.length === 0 || lists.includes(undefined)) return undefined;
  return [...new Set(lists.flatMap((constants) => constants ?? []))];
}

const oneOf = (values: readonly unknown[]): string =>
  keywordMessages.enum?.(values, undefined) ?? "";

/** The message when no form matches better than the others. `typed` are the forms of the value's type. */
export function choiceMessage(
  forms: readonly Schema[],
  typed: readonly Schema[],
  value: unknown,
): string {
  const types = forms.map((form) => (isObjectSchema(form) ? form.type : undefined));
  return typed.length === 0 && !types.includes(undefined)
    ? `must be ${describeType([...new Set(types.flat())])}, not ${describeValue(value)}`
    : `matches none of the ${forms.length} allowed forms`;
}
