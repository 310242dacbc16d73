// Derives the schema of a merge patch (RFC 7396) from the schema of the object that it changes.

import { own } from "../own-property.ts";
import { mapSchemas } from "./map-schema.ts";
import { allSchemas, isObjectSchema, type ObjectSchema, type Schema } from "./subschemas.ts";
import { componentPath } from "./variant.ts";

/** The suffix of a component's name: an object that is merged, or a value that is replaced. */
type Suffix = "Patch" | "Item";

/** Keywords that a part of an object may violate. */
const wholeObjectKeywords = new Set([
  ..."required minProperties maxProperties dependentRequired dependentSchemas".split(" "),
  ..."if then else not unevaluatedProperties const enum examples".split(" "),
]);

/** A patch never has these: what it leaves out may evaluate items. */
const unusedKeywords = new Set(["default", "unevaluatedItems"]);

/**
 * A patch has no defaults: a client that fills them in would reset what it does not want to change.
 * Nothing is required, and null removes a member that is not required.
 */
export class MergePatchSchemas {
  /** The components that patches refer to, by name. */
  readonly components: Record<string, ObjectSchema> = {};
  readonly #schemas: Readonly<Record<string, Schema>>;

  /** Takes the components that the schemas refer to. */
  constructor(schemas: Readonly<Record<string, Schema>>) {
    this.#schemas = schemas;
  }

  patchOf(schema: ObjectSchema): ObjectSchema {
    const { $ref, properties, oneOf, anyOf, allOf, ...rest } = schema;
    const isObject = this.#isObject(schema);
    const keywords = Object.entries(rest).filter(
      ([keyword]) =>
        !(unusedKeywords.has(keyword) || (isObject && wholeObjectKeywords.has(keyword))),
    );
    const whole = mapSchemas(Object.fromEntries(keywords), (inner) => this.#valueOf(inner));
    const others = this.#otherMembers(rest);
    // Without `required`, a patch may match several.
    const choices = [anyOf, oneOf].flatMap((list) =>
      list === undefined ? [] : [this.#each(list)],
    );
    const [choice, ...more] = choices;
    const all = [...this.#each(allOf), ...more.map((list) => ({ anyOf: list }))];
    return {
      ...(typeof $ref === "string" && { $ref: this.#refer($ref, "Patch") }),
      ...whole,
      ...(properties !== undefined && { properties: this.#members(properties, schema.required) }),
      ...others,
      ...(choice && { anyOf: choice }),
      ...(all.length > 0 && { allOf: all }),
    };
  }

  #members(properties: unknown, required: unknown): ObjectSchema {
    const needed = new Set(Array.isArray(required) ? required : []);
    return Object.fromEntries(
      Object.entries(properties as Readonly<Record<string, Schema>>).map(([name, member]) => [
        name,
        needed.has(name) ? this.#memberOf(member) : this.#orNull(member),
      ]),
    );
  }

  #otherMembers({ additionalProperties, patternProperties }: ObjectSchema): ObjectSchema {
    const others = isObjectSchema(additionalProperties)
      ? { additionalProperties: this.#orNull(additionalProperties) }
      : {};
    if (!isObjectSchema(patternProperties)) return others;
    return { ...others, patternProperties: this.#members(patternProperties, []) };
  }

  #memberOf(schema: Schema): Schema {
    return typeof schema === "boolean" ? schema : this.patchOf(schema);
  }

  #each(list: unknown): readonly Schema[] {
    return Array.isArray(list) ? list.map((one: Schema) => this.#memberOf(one)) : [];
  }

  #orNull(schema: Schema): Schema {
    const member = this.#memberOf(schema);
    if (this.#acceptsNull(schema)) return member;
    const isChoice = isObjectSchema(member) && Object.keys(member).join() === "anyOf";
    const choices: readonly Schema[] = isChoice ? (member.anyOf as readonly Schema[]) : [member];
    return { anyOf: [...choices, { type: "null" }] };
  }

  /** A value that is replaced as a whole, such as an item of an array. */
  #valueOf(schema: Schema): Schema {
    if (typeof schema === "boolean") return schema;
    const { $ref, default: _, ...rest } = schema;
    const value = mapSchemas(rest, (inner) => this.#valueOf(inner));
    return typeof $ref === "string" ? { $ref: this.#refer($ref, "Item"), ...value } : value;
  }

  /** Returns the reference itself where nothing would change. */
  #refer(reference: string, suffix: Suffix): string {
    const target = this.#find(reference);
    const isMerged = suffix === "Patch" && this.#isObject(target);
    if (!isObjectSchema(target) || !(isMerged || this.#hasDefault(target))) return reference;
    const name = `${reference.slice(componentPath.length)}${suffix}`;
    if (!Object.hasOwn(this.components, name)) {
      this.components[name] = {};
      const made = suffix === "Patch" ? this.patchOf(target) : this.#valueOf(target);
      this.components[name] = made as ObjectSchema;
    }
    return componentPath + name;
  }

  #find(reference: unknown): Schema {
    if (typeof reference !== "string" || !reference.startsWith(componentPath)) return true;
    return own(this.#schemas, reference.slice(componentPath.length)) ?? true;
  }

  /** Whether the value can be an object, which is merged. */
  #isObject(schema: Schema): boolean {
    if (!isObjectSchema(schema)) return schema;
    const { type, enum: values, const: only } = schema;
    if (type !== undefined) return [type].flat().includes("object");
    const allowed = Array.isArray(values) ? values : [only];
    return allowed.some((value) => value === undefined || isObjectSchema(value));
  }

  #hasDefault(schema: Schema, seen = new Set<Schema>()): boolean {
    if (seen.has(schema)) return false;
    seen.add(schema);
    return [...allSchemas({ path: [], schema })].some(
      ({ schema: inner }) =>
        isObjectSchema(inner) &&
        (Object.hasOwn(inner, "default") ||
          (inner.$ref !== undefined && this.#hasDefault(this.#find(inner.$ref), seen))),
    );
  }

  #acceptsNull(schema: Schema, seen: ReadonlySet<Schema> = new Set()): boolean {
    if (typeof schema === "boolean") return schema;
    if (seen.has(schema)) return true;
    const within = new Set([...seen, schema]);
    const accepts = (inner: Schema) => this.#acceptsNull(inner, within);
    const {
      type,
      enum: values,
      const: only,
      allOf,
      anyOf,
      oneOf,
      not,
      if: condition,
      $ref,
    } = schema;
    return (
      not === undefined &&
      condition === undefined &&
      (type === undefined || [type].flat().includes("null")) &&
      (!Array.isArray(values) || values.includes(null)) &&
      (only === undefined || only === null) &&
      (!Array.isArray(allOf) || allOf.every(accepts)) &&
      (!Array.isArray(anyOf) || anyOf.some(accepts)) &&
      (!Array.isArray(oneOf) || oneOf.some(accepts)) &&
      ($ref === undefined || accepts(this.#find($ref)))
    );
  }
}
