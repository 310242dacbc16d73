// Converts a schema into an OpenAPI component for one direction, request or response, without the members of the other.

import { fieldsOf, fileFormat } from "./fields.ts";
import { mapSchemas } from "./map-schema.ts";
import {
  allSchemas,
  isObjectSchema,
  type ObjectSchema,
  type Schema,
  type SchemaLocation,
  SchemaReferences,
} from "./subschemas.ts";
import { type TypeNames, typeName } from "./type-name.ts";

export const componentPath = "#/components/schemas/";

/** The suffixes of a component's variants: as it is sent, in a patch, and in a list of a patch. */
const componentSuffixes = ["", "Draft", "Patch", "Item"] as const;

/** The keyword that hides a member in this direction. */
type Hidden = "readOnly" | "writeOnly";

/** Keywords that have a meaning only in a standalone schema. */
const standaloneKeywords = new Set(
  "$id $schema $anchor $dynamicAnchor $defs definitions $comment $vocabulary".split(" "),
);

export class SchemaVariant {
  readonly #references: SchemaReferences;
  readonly #prefix: string;
  readonly #hidden: Hidden;
  /** The names of all hidden members of the schema. */
  readonly #hiddenNames: ReadonlySet<string>;
  readonly #typeNames: TypeNames;
  readonly #components: Record<string, ObjectSchema>;
  readonly #componentNames = new Map<Schema, string>();

  constructor(
    root: ObjectSchema,
    prefix: string,
    hidden: Hidden,
    typeNames: TypeNames,
    components: Record<string, ObjectSchema>,
  ) {
    this.#references = new SchemaReferences(root);
    this.#prefix = prefix;
    this.#hidden = hidden;
    this.#typeNames = typeNames;
    this.#components = components;
    const members = [...allSchemas({ path: [], schema: root })].flatMap(({ schema }) =>
      Object.entries(propertiesOf(schema)),
    );
    const isHidden = ([, member]: readonly [string, unknown]) => this.#isHidden(member);
    this.#hiddenNames = new Set(members.filter(isHidden).map(([name]) => name));
  }

  /** Sets the component name that references to this schema use. */
  setName(schema: Schema, name: string): void {
    this.#componentNames.set(schema, name);
  }

  target(reference: unknown): Schema | undefined {
    return this.#references.find(reference)?.schema;
  }

  /** Converts the root without its examples, because they may not fit this direction. */
  object(root: ObjectSchema): ObjectSchema {
    const { examples: _, default: __, ...schema } = this.#object(root);
    return { ...schema, type: "object" };
  }

  /** Converts a schema of any value. */
  value(root: ObjectSchema): ObjectSchema {
    return this.#object(root);
  }

  #convert(schema: Schema): Schema {
    return typeof schema === "boolean" ? schema : this.#object(schema);
  }

  #object(schema: ObjectSchema): ObjectSchema {
    const { $ref, $dynamicRef, ...rest } = this.#visible(schema);
    const keywords = Object.entries(rest).filter(
      ([keyword, value]) => !standaloneKeywords.has(keyword) && !this.#isRedundant(keyword, value),
    );
    const inner = mapSchemas(Object.fromEntries(keywords), (one) => this.#convert(one));
    const target = this.#references.find($ref ?? $dynamicRef);
    return target === undefined ? inner : { $ref: this.#refer(target), ...inner };
  }

  /**
   * `writeOnly` is redundant in a request, and code generators would make a separate type for it. They know no
   * format of objects.
   */
  #isRedundant(keyword: string, value: unknown): boolean {
    const isFileMark = keyword === "format" && value === fileFormat;
    return isFileMark || (keyword === "writeOnly" && this.#hidden === "readOnly");
  }

  #refer({ schema, path }: SchemaLocation): string {
    const known = this.#componentNames.get(schema);
    if (known !== undefined) return componentPath + known;
    const preferred = this.#prefix + typeName(`${path.at(-1) ?? "fields"}`);
    const name = this.#typeNames.claim(preferred, componentSuffixes);
    this.#componentNames.set(schema, name);
    const converted = this.#convert(schema);
    this.#components[name] = typeof converted === "boolean" ? objectSchemaOf(converted) : converted;
    return componentPath + name;
  }

  #visible(schema: ObjectSchema): ObjectSchema {
    const { properties: _, required: __, ...rest } = schema;
    const properties = propertiesOf(schema);
    const visible = Object.entries(properties).filter(([, member]) => !this.#isHidden(member));
    const isVisible = (name: string) =>
      Object.hasOwn(properties, name)
        ? !this.#isHidden(properties[name])
        : !this.#hiddenNames.has(name);
    const required = Array.isArray(schema.required) ? schema.required.filter(isVisible) : [];
    return {
      ...rest,
      ...(required.length === 0 ? {} : { required }),
      ...(schema.properties === undefined ? {} : { properties: Object.fromEntries(visible) }),
    };
  }

  #isHidden(member: unknown): boolean {
    if (!isObjectSchema(member)) return false;
    const target = this.target(member.$ref);
    if ([member, target].some((each) => isObjectSchema(each) && each[this.#hidden] === true))
      return true;
    // Only the server describes a file.
    const field = fieldsOf({ properties: { member } }, this.#references).members.get("member");
    return this.#hidden === "readOnly" && field?.isFile === true;
  }
}

const propertiesOf = (schema: Schema): ObjectSchema =>
  isObjectSchema(schema) && isObjectSchema(schema.properties) ? schema.properties : {};

const objectSchemaOf = (schema: boolean): ObjectSchema => (schema ? {} : { not: {} });
