// Explains why a value is not valid against its schema: all errors, in messages for people.

import { type ErrorReport, type Path, reportLimits } from "../json/error-report.ts";
import { own } from "../own-property.ts";
import { choiceMessage, constantsOf, discriminatorError, propertiesOf } from "./explain-choice.ts";
import { containsMessage, joinAtMost, keywordMessages, typeMessage } from "./messages.ts";
import {
  invalidMessage,
  isObjectSchema,
  type ObjectSchema,
  type Schema,
  unknownMemberMessage,
} from "./subschemas.ts";
import type { CompiledSchema } from "./validator.ts";

/** The limit of parts that are checked, so that a rejection is fast. */
const maxSteps = 20_000;
/** How many known fields a message about an unknown field lists. */
const maxNames = 30;

/** Adds the errors of a value that is known to be invalid. Always adds at least one. */
export function explain(
  compiled: CompiledSchema,
  value: unknown,
  path: Path,
  report: ErrorReport,
): void {
  explainPart(compiled, compiled.root, value, path, report);
}

export function explainPart(
  compiled: CompiledSchema,
  schema: Schema,
  value: unknown,
  path: Path,
  report: ErrorReport,
): void {
  const before = report.errors.length;
  new Explainer(compiled, report).explain(schema, value, path);
  if (report.errors.length === before) report.add(path, "does not match the schema");
}

type Members = Readonly<Record<string, unknown>>;

class Explainer {
  readonly #compiled: CompiledSchema;
  readonly #report: ErrorReport;
  #steps = 0;

  constructor(compiled: CompiledSchema, report: ErrorReport) {
    this.#compiled = compiled;
    this.#report = report;
  }

  explain(schema: Schema, value: unknown, path: Path): void {
    const before = this.#report.errors.length;
    if (++this.#steps > maxSteps || before === reportLimits.maxErrors) return;
    if (schema === false) this.#report.add(path, "no value is allowed here");
    if (!isObjectSchema(schema)) return;
    const given = schema[invalidMessage];
    if (given !== undefined && this.#compiled.fits(schema, value)) return;
    const message = typeof given === "function" ? given(value) : given;
    if (message !== undefined) {
      this.#report.add(path, message);
      return;
    }
    if (!this.#fits(schema, value, "type")) {
      this.#report.add(path, typeMessage(schema, value));
      return;
    }
    for (const keyword of Object.keys(schema)) {
      if (Object.hasOwn(keywordMessages, keyword))
        this.#explainSimple(schema, keyword, value, path);
      else this.#explainNested(schema, keyword, value, path);
    }
    // Other errors make more members count as unevaluated than a reader would expect.
    if (this.#report.errors.length === before) this.#explainUnevaluated(schema, value, path);
  }

  /** Validates with one keyword and those it depends on. */
  #fits(schema: ObjectSchema, value: unknown, ...keywords: readonly string[]): boolean {
    const present = keywords.filter((keyword) => Object.hasOwn(schema, keyword));
    const part = Object.fromEntries(present.map((keyword) => [keyword, schema[keyword]]));
    return this.#compiled.fits(part, value);
  }

  #explainSimple(schema: ObjectSchema, keyword: string, value: unknown, path: Path): void {
    // A string that is too long is not matched against a pattern.
    const isTooLong = keyword === "pattern" && !this.#fits(schema, value, "maxLength");
    if (isTooLong || this.#fits(schema, value, keyword)) return;
    const message = own(keywordMessages, keyword)?.(schema[keyword], value);
    if (message !== undefined) this.#report.add(path, message);
  }

  #explainNested(schema: ObjectSchema, keyword: string, value: unknown, path: Path): void {
    const inner = schema[keyword];
    switch (keyword) {
      case "$ref":
        this.explain(this.#compiled.references.find(inner)?.schema ?? true, value, path);
        return;
      case "allOf":
        for (const part of inner as readonly Schema[]) this.explain(part, value, path);
        return;
      case "anyOf":
      case "oneOf":
        if (!this.#fits(schema, value, keyword))
          this.#explainChoice(inner as readonly Schema[], value, path);
        return;
      case "if":
        this.#explainCondition(schema, value, path);
        return;
      case "not":
        if (!this.#fits(schema, value, keyword))
          this.#report.add(path, "must not match the schema in `not`");
        return;
    }
    if (Array.isArray(value)) this.#explainItems(schema, keyword, value, path);
    else if (typeof value === "object" && value !== null)
      this.#explainMembers(schema, keyword, value as Members, path);
  }

  #explainCondition(schema: ObjectSchema, value: unknown, path: Path): void {
    const branch = this.#compiled.fits(schema.if as Schema, value) ? schema.then : schema.else;
    if (branch !== undefined) this.explain(branch as Schema, value, path);
  }

  #explainItems(
    schema: ObjectSchema,
    keyword: string,
    items: readonly unknown[],
    path: Path,
  ): void {
    const first = (schema.prefixItems as readonly Schema[] | undefined) ?? [];
    switch (keyword) {
      case "prefixItems":
        for (const [index, item] of items.slice(0, first.length).entries())
          this.explain(first[index] ?? true, item, [...path, index]);
        return;
      case "items":
        for (const [index, item] of items.slice(0, limitOf(schema.maxItems)).entries())
          if (index >= first.length) this.explain(schema.items as Schema, item, [...path, index]);
        return;
      case "contains":
        if (!this.#fits(schema, items, "contains", "minContains", "maxContains"))
          this.#report.add(path, containsMessage(schema));
    }
  }

  #explainMembers(schema: ObjectSchema, keyword: string, members: Members, path: Path): void {
    const inner = schema[keyword];
    switch (keyword) {
      case "required":
        for (const name of inner as readonly string[])
          if (!Object.hasOwn(members, name))
            this.#report.add([...path, name], `${name} is required`);
        return;
      case "dependentRequired":
        for (const [name, others] of Object.entries(inner as Record<string, readonly string[]>))
          for (const other of Object.hasOwn(members, name) ? others : [])
            if (!Object.hasOwn(members, other))
              this.#report.add([...path, other], `${other} is required when ${name} is present`);
        return;
      case "dependentSchemas":
        for (const [name, part] of Object.entries(inner as Record<string, Schema>))
          if (Object.hasOwn(members, name)) this.explain(part, members, path);
        return;
      case "properties":
        for (const [name, part] of Object.entries(inner as Record<string, Schema>))
          if (Object.hasOwn(members, name)) this.explain(part, members[name], [...path, name]);
        return;
      case "patternProperties":
        for (const [pattern, part] of Object.entries(inner as Record<string, Schema>))
          for (const [name, value] of Object.entries(members))
            if (new RegExp(pattern, "u").test(name)) this.explain(part, value, [...path, name]);
        return;
      case "propertyNames":
        for (const name of Object.keys(members))
          if (!this.#compiled.fits(inner as Schema, name))
            this.#report.add([...path, name], nameMessage(inner as Schema, name));
        return;
      case "additionalProperties":
        for (const name of additionalNames(schema, members).slice(0, limitOf(schema.maxProperties)))
          this.#explainUnknown(inner as Schema, members[name], [...path, name], schema);
    }
  }

  #explainUnevaluated(schema: ObjectSchema, value: unknown, path: Path): void {
    const keyword = Array.isArray(value) ? "unevaluatedItems" : "unevaluatedProperties";
    if (!Object.hasOwn(schema, keyword)) return;
    for (const key of this.#compiled.unevaluatedKeys(schema, value))
      this.#explainUnknown(schema[keyword] as Schema, (value as Members)[key], [...path, key]);
  }

  /** Explains a member or item that no other keyword covers. */
  #explainUnknown(schema: Schema, value: unknown, path: Path, parent: ObjectSchema = {}): void {
    if (schema !== false) {
      this.explain(schema, value, path);
      return;
    }
    const known = Object.keys((parent.properties as Members | undefined) ?? {});
    const list = known.length > 0 ? `; known fields: ${joinAtMost(known, maxNames)}` : "";
    const message = parent[unknownMemberMessage]?.(String(path.at(-1)));
    this.#report.add(path, message ?? `unknown field${list}`);
  }

  /** Explains the form that the value most likely means; otherwise what distinguishes the forms. */
  #explainChoice(forms: readonly Schema[], value: unknown, path: Path): void {
    const matching = forms.filter((form) => this.#compiled.fits(form, value)).length;
    if (matching > 1) {
      this.#report.add(
        path,
        `matches ${matching} of the allowed forms, but must match exactly one`,
      );
      return;
    }
    const resolved = forms.map((form) => this.#deref(form));
    const typed = resolved.filter((form) => form !== false && this.#hasTypeOf(form, value));
    const meant = typed.filter((form) => this.#isMeant(form, value));
    const [form] = typed.length === 1 ? typed : meant;
    if (form !== undefined && (typed.length === 1 || meant.length === 1)) {
      this.explain(form, value, path);
      return;
    }
    const error = discriminatorError(typed, value);
    if (error !== undefined && meant.length === 0)
      this.#report.add([...path, ...error.path], error.message);
    else this.#report.add(path, choiceMessage(resolved, typed, value));
  }

  #hasTypeOf(form: Schema, value: unknown): boolean {
    return !isObjectSchema(form) || this.#fits(form, value, "type");
  }

  /** Whether the value has the constants of this form: the required ones, if there are any. */
  #isMeant(schema: Schema, value: unknown): boolean {
    if (!isObjectSchema(schema)) return schema;
    if (!this.#fits(schema, value, "const", "enum")) return false;
    const constants = Object.entries(propertiesOf(schema)).filter(([, part]) => constantsOf(part));
    const required = Array.isArray(schema.required) ? schema.required : [];
    const always = constants.filter(([name]) => required.includes(name));
    const marks = always.length > 0 ? always : constants;
    return this.#compiled.fits(
      { required: marks.map(([name]) => name), properties: Object.fromEntries(marks) },
      value,
    );
  }

  #deref(schema: Schema): Schema {
    const isOnlyReference = isObjectSchema(schema) && Object.keys(schema).join() === "$ref";
    const target = isOnlyReference
      ? this.#compiled.references.find(schema.$ref)?.schema
      : undefined;
    return target ?? schema;
  }
}

function nameMessage(schema: Schema, name: string): string {
  const given = isObjectSchema(schema) ? schema[invalidMessage] : undefined;
  const message = typeof given === "function" ? given(name) : given;
  return message ?? "this field name is not allowed";
}

/** Items and members beyond their allowed number are not explained: one message covers them. */
const limitOf = (limit: unknown): number => (typeof limit === "number" ? limit : Infinity);

function additionalNames(schema: ObjectSchema, members: Members): readonly string[] {
  const declared = (schema.properties as Members | undefined) ?? {};
  const patterns = Object.keys((schema.patternProperties as Members | undefined) ?? {});
  const expressions = patterns.map((pattern) => new RegExp(pattern, "u"));
  return Object.keys(members).filter(
    (name) => !Object.hasOwn(declared, name) && !expressions.some((each) => each.test(name)),
  );
}
