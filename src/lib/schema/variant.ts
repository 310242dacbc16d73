// One way of a resource, in or out: its schema as a part of a document, without what goes the other way only.

import { mapSchemas } from "./map-schema.ts";
import {
  allSchemas,
  isObjectSchema,
  type ObjectSchema,
  References,
  type Schema,
  type SchemaLocation,
} from "./subschemas.ts";
import { type TypeNames, typeName } from "./type-name.ts";

export const componentPath = "#/components/schemas/";

/** What marks a member that is not seen on this way. */
type Hidden = "readOnly" | "writeOnly";

/** What only matters where a schema stands alone. */
const ownWords = new Set(
  "$id $schema $anchor $dynamicAnchor $defs definitions $comment $vocabulary".split(" "),
);

export class SchemaVariant {
  readonly #references: References;
  readonly #prefix: string;
  readonly #hidden: Hidden;
  /** Names of hidden members, wherever they are declared. */
  readonly #hiddenNames: ReadonlySet<string>;
  readonly #names: TypeNames;
  readonly #made: Record<string, ObjectSchema>;
  readonly #called = new Map<Schema, string>();

  constructor(
    root: ObjectSchema,
    prefix: string,
    hidden: Hidden,
    names: TypeNames,
    made: Record<string, ObjectSchema>,
  ) {
    this.#references = new References(root);
    this.#prefix = prefix;
    this.#hidden = hidden;
    this.#names = names;
    this.#made = made;
    const members = [...allSchemas({ path: [], schema: root })].flatMap(({ schema }) =>
      Object.entries(propertiesOf(schema)),
    );
    const isHidden = ([, member]: readonly [string, unknown]) => this.#isHidden(member);
    this.#hiddenNames = new Set(members.filter(isHidden).map(([name]) => name));
  }

  /** A reference to this schema is one to this name. */
  setName(schema: Schema, name: string): void {
    this.#called.set(schema, name);
  }

  target(reference: unknown): Schema | undefined {
    return this.#references.find(reference)?.schema;
  }

  /** A root, whose examples are made anew: those that it has are not for this direction. */
  object(root: ObjectSchema): ObjectSchema {
    const { examples: _, default: __, ...schema } = this.#object(root);
    return { ...schema, type: "object" };
  }

  /** A schema of any value. */
  value(root: ObjectSchema): ObjectSchema {
    return this.#object(root);
  }

  #convert(schema: Schema): Schema {
    return typeof schema === "boolean" ? schema : this.#object(schema);
  }

  #object(schema: ObjectSchema): ObjectSchema {
    const { $ref, $dynamicRef, ...rest } = this.#visible(schema);
    const kept = Object.entries(rest).filter(
      ([keyword]) => !ownWords.has(keyword) && !this.#isMoot(keyword),
    );
    const inner = mapSchemas(Object.fromEntries(kept), (one) => this.#convert(one));
    const target = this.#references.find($ref ?? $dynamicRef);
    return target === undefined ? inner : { $ref: this.#refer(target), ...inner };
  }

  /** That what is sent is only sent goes without saying; generators would make a type of its own for it. */
  #isMoot(keyword: string): boolean {
    return keyword === "writeOnly" && this.#hidden === "readOnly";
  }

  #refer({ schema, path }: SchemaLocation): string {
    const known = this.#called.get(schema);
    if (known !== undefined) return componentPath + known;
    const name = this.#names.claim(this.#prefix + typeName(`${path.at(-1) ?? "fields"}`));
    this.#called.set(schema, name);
    const converted = this.#convert(schema);
    this.#made[name] = typeof converted === "boolean" ? whole(converted) : converted;
    return componentPath + name;
  }

  #visible(schema: ObjectSchema): ObjectSchema {
    const { properties: _, required: __, ...rest } = schema;
    const properties = propertiesOf(schema);
    const visible = Object.entries(properties).filter(([, member]) => !this.#isHidden(member));
    const isSeen = (name: string) =>
      Object.hasOwn(properties, name)
        ? !this.#isHidden(properties[name])
        : !this.#hiddenNames.has(name);
    const required = Array.isArray(schema.required) ? schema.required.filter(isSeen) : [];
    return {
      ...rest,
      ...(required.length === 0 ? {} : { required }),
      ...(schema.properties === undefined ? {} : { properties: Object.fromEntries(visible) }),
    };
  }

  #isHidden(member: unknown): boolean {
    if (!isObjectSchema(member)) return false;
    if (member[this.#hidden] === true) return true;
    const target = this.target(member.$ref);
    return isObjectSchema(target) && target[this.#hidden] === true;
  }
}

const propertiesOf = (schema: Schema): ObjectSchema =>
  isObjectSchema(schema) && isObjectSchema(schema.properties) ? schema.properties : {};

const whole = (schema: boolean): ObjectSchema => (schema ? {} : { not: {} });
