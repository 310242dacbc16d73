// What tells the forms of a oneOf or anyOf apart, in words for one whose value fits none of them.

import type { Path } from "../json/error-report.ts";
import { own } from "../own-property.ts";
import { describeType, describeValue, keywordMessages } from "./messages.ts";
import { isObjectSchema, type Schema } from "./subschemas.ts";

/** The values that a schema names one by one; undefined when it names none. */
export function constantsOf(schema: Schema | undefined): readonly unknown[] | undefined {
  if (!isObjectSchema(schema)) return undefined;
  if (Object.hasOwn(schema, "const")) return [schema.const];
  return Array.isArray(schema.enum) ? schema.enum : undefined;
}

/** The schemas of the members that a form declares. */
export const propertiesOf = (form: Schema): Readonly<Record<string, Schema>> =>
  isObjectSchema(form) && isObjectSchema(form.properties)
    ? (form.properties as Readonly<Record<string, Schema>>)
    : {};

export interface ChoiceError {
  /** From the value to what is wrong. */
  readonly path: Path;
  readonly message: string;
}

/** The constant by which all forms are told apart, where the value lacks it or has another. */
export function discriminatorError(
  forms: readonly Schema[],
  value: unknown,
): ChoiceError | undefined {
  const whole = unionOf(forms);
  if (whole !== undefined) return { path: [], message: oneOf(whole) };
  if (!isObjectSchema(value)) return undefined;
  const [first, ...others] = forms.map(propertiesOf);
  for (const name of Object.keys(first ?? {})) {
    const parts = [first, ...others].map((members) => own(members ?? {}, name));
    const allowed = unionOf(parts);
    if (allowed === undefined) continue;
    if (!Object.hasOwn(value, name)) {
      const words = `${name} is required, and says which form is meant: it ${oneOf(allowed)}`;
      return { path: [name], message: words };
    }
    if (!allowed.includes(value[name])) return { path: [name], message: oneOf(allowed) };
  }
  return undefined;
}

/** All values that the schemas name; undefined when one of them names none. */
function unionOf(schemas: readonly (Schema | undefined)[]): readonly unknown[] | undefined {
  const named = schemas.map(constantsOf);
  if (named.length === 0 || named.includes(undefined)) return undefined;
  return [...new Set(named.flatMap((constants) => constants ?? []))];
}

const oneOf = (values: readonly unknown[]): string =>
  keywordMessages.enum?.(values, undefined) ?? "";

/** What is said where no form is meant more than the others. `typed` are those of the value's type. */
export function choiceMessage(
  forms: readonly Schema[],
  typed: readonly Schema[],
  value: unknown,
): string {
  const types = forms.map((form) => (isObjectSchema(form) ? form.type : undefined));
  return typed.length === 0 && !types.includes(undefined)
    ? `must be ${describeType([...new Set(types.flat())])}, not ${describeValue(value)}`
    : `fits none of the ${forms.length} allowed forms`;
}
