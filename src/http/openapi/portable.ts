// Simplifies the OpenAPI document for code generators: fewer problems, and schemas that they understand.

import { own } from "../../lib/own-property.ts";
import { mapReferences } from "../../lib/schema/map-schema.ts";
import { type Direction, portableSchema } from "../../lib/schema/portable.ts";
import {
  allSchemas,
  isObjectSchema,
  type ObjectSchema,
  type Schema,
} from "../../lib/schema/subschemas.ts";
import { componentPath } from "../../lib/schema/variant.ts";
import { bulkContent } from "./formats.ts";
import { formHeaderName } from "./forms.ts";

type Node = Readonly<Record<string, unknown>>;
type PortableComponents = Readonly<Record<string, Node>>;

export interface WholeDocument extends Node {
  readonly paths: Readonly<Record<string, Node>>;
  readonly components: PortableComponents;
}

/** The versions of OpenAPI; the first is the default. 3.2 knows the method QUERY. */
export const openapiVersions = { "3.1": "3.1.1", "3.2": "3.2.0" } as const;
export type OpenapiVersion = keyof typeof openapiVersions;

/** The problems that a client acts on; the response `default` stands for the others. */
const actedOn = new Set(["400", "404", "409", "412", "422", "428"]);

/** `named` are the references of components that the text of the document names. */
export function portableDocument(
  whole: WholeDocument,
  version: OpenapiVersion,
  named: readonly string[],
): object {
  const paths = Object.fromEntries(
    Object.entries(whole.paths).map(([path, item]) => [path, portableItem(item, version)]),
  );
  const used = usedComponents(whole.components, [paths, named]);
  const { schemas = {}, ...components } = used;
  const rest = { ...whole, paths, components };
  const converter = new SchemaConverter(schemas as Readonly<Record<string, Schema>>);
  walk(rest, "response", (schema, direction) => converter.use(schema, direction));
  const converted = walk(rest, "response", (schema, direction) =>
    converter.convert(schema, direction),
  ) as WholeDocument;
  return {
    ...converted,
    openapi: openapiVersions[version],
    components: { ...converted.components, schemas: converter.components() },
  };
}

/** Returns the components that the values refer to, also through other components. */
function usedComponents(components: PortableComponents, values: unknown): PortableComponents {
  const used = new Set<string>();
  const use = (value: unknown): void => {
    for (const [, kind = "", name = ""] of JSON.stringify(value).matchAll(reference)) {
      const target = own(own(components, kind) ?? {}, name);
      if (target === undefined || used.has(`${kind}/${name}`)) continue;
      used.add(`${kind}/${name}`);
      use(target);
    }
  };
  use(values);
  return Object.fromEntries(
    Object.entries(components).map(([kind, group]) => {
      const kept = Object.entries(group).filter(([name]) => used.has(`${kind}/${name}`));
      return [kind, kind === "securitySchemes" ? group : Object.fromEntries(kept)];
    }),
  );
}

const reference = /"#\/components\/(\w+)\/([^"]+)"/g;

function portableItem(item: Node, version: OpenapiVersion): Node {
  const { query, ...others } = item;
  const operations = version === "3.1" || query === undefined ? others : { ...others, query };
  return Object.fromEntries(
    Object.entries(operations).map(([name, value]) => [
      name,
      isObjectSchema(value) ? portableOperation(value) : value,
    ]),
  );
}

function portableOperation(whole: Node): Node {
  const { responses, ...operation } = withoutPrefer(withoutLines(whole));
  const listed = Object.entries(responses as Record<string, Node>)
    .filter(([status]) => status < "4" || status === "default" || actedOn.has(status))
    .map(([status, response]) => [
      status,
      status === "201" && isSilent(operation) ? withoutContent(response) : response,
    ]);
  return { ...operation, responses: Object.fromEntries(listed) };
}

const linesContent = new Set(Object.keys(bulkContent));
/** Parameters of NDJSON and CSV. */
const linesParameters = new Set(
  ["Atomic", "TryOut", "Key", "Types", "Separator"].map(
    (name) => `#/components/parameters/${name}Parameter`,
  ),
);

/**
 * Leaves out NDJSON and CSV beside JSON: a client in TypeScript has one type for all, and would have to
 * check what it got. `/-/lines/{collection}` has them alone.
 */
function withoutLines(operation: Node): Node {
  const { requestBody, responses, parameters, ...rest } = operation;
  const isJson = JSON.stringify([requestBody, responses]).includes('"application/json":');
  if (!isJson) return operation;
  const { "2XX": _, ...others } = responses as Record<string, Node>;
  const kept = Object.entries(others).map(([status, one]) => [status, withoutLinesContent(one)]);
  const known = (parameters as readonly Node[] | undefined)?.filter(
    ({ $ref }) => !linesParameters.has(`${$ref}`),
  );
  return {
    ...rest,
    ...(known !== undefined && known.length > 0 && { parameters: known }),
    ...(requestBody !== undefined && { requestBody: withoutLinesContent(requestBody as Node) }),
    responses: Object.fromEntries(kept),
  };
}

function withoutLinesContent({ content, ...rest }: Node): Node {
  if (content === undefined) return rest;
  const kept = Object.entries(content as Node).filter(([type]) => !linesContent.has(type));
  return { ...rest, content: Object.fromEntries(kept) };
}

/** Whether the body of a response comes only when the client asks for it. */
const isSilent = ({ parameters = [] }: Node): boolean =>
  JSON.stringify(parameters).includes('"#/components/parameters/PreferResourceParameter"');

/** A generated client fails when it expects a body and there is none. */
const withoutContent = ({ content: _, ...response }: Node): Node => response;

/** So a response that has one is not offered without it; 204 says so itself. */
function withoutPrefer(operation: Node): Node {
  const { responses, parameters } = operation;
  const { 201: created } = responses as Record<string, Node>;
  if (created?.content === undefined || !Array.isArray(parameters)) return operation;
  const kept = parameters.filter(({ $ref }: Node) => $ref !== preferReference);
  return { ...operation, parameters: kept };
}
const preferReference = "#/components/parameters/PreferParameter";

/** The members of a document that describe what a client sends. */
const sentMembers = new Set(["requestBody", "parameters", formHeaderName]);

type VisitSchema = (schema: Schema, direction: Direction) => unknown;

/** A filter may be beyond the integers that can be stored. */
const withoutNewBounds = (converted: unknown, given: unknown): unknown =>
  isObjectSchema(converted) && isObjectSchema(given)
    ? Object.fromEntries(
        Object.entries(converted).filter(
          ([name]) => !["minimum", "maximum"].includes(name) || Object.hasOwn(given, name),
        ),
      )
    : converted;

/** Copies a part of the document and replaces its schemas. */
function walk(value: unknown, direction: Direction, visit: VisitSchema): unknown {
  if (Array.isArray(value)) return value.map((item) => walk(item, direction, visit));
  if (!isObjectSchema(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      if (name === "examples" || name === "example") return [name, inner];
      if (name === "schema") {
        const converted = visit(inner as Schema, direction);
        return [name, value.in === "query" ? withoutNewBounds(converted, inner) : converted];
      }
      return [name, walk(inner, sentMembers.has(name) ? "request" : direction, visit)];
    }),
  );
}

/**
 * Converts the schemas for the directions in which they are used. A component that would differ between
 * the two is split: `Definition` is what a client gets, `DefinitionDraft` what it sends.
 */
class SchemaConverter {
  readonly #schemas: Readonly<Record<string, Schema>>;
  readonly #directions = new Map<string, Set<Direction>>();
  #split: ReadonlySet<string> | undefined;

  constructor(schemas: Readonly<Record<string, Schema>>) {
    this.#schemas = schemas;
  }

  /** Notes that a schema, and each that it refers to, is used in a direction. */
  use(schema: Schema, direction: Direction): void {
    for (const name of referencesIn(schema)) {
      const directions = this.#directions.get(name) ?? new Set();
      if (directions.has(direction)) continue;
      this.#directions.set(name, directions.add(direction));
      const target = own(this.#schemas, name);
      if (target !== undefined) this.use(target, direction);
    }
  }

  readonly #find = (reference: string): Schema | undefined => own(this.#schemas, nameOf(reference));

  convert(schema: Schema, direction: Direction): ObjectSchema {
    this.#split ??= this.#findSplit();
    const split = this.#split;
    return mapReferences(portableSchema(schema, direction, this.#find), (reference) => {
      const isSplit = direction === "request" && split.has(nameOf(reference));
      return isSplit ? `${reference}Draft` : reference;
    });
  }

  components(): Readonly<Record<string, ObjectSchema>> {
    return Object.fromEntries(
      Object.entries(this.#schemas).flatMap(([name, schema]) => {
        const directions = this.#directions.get(name) ?? new Set(["response"]);
        const isSplit = this.#split?.has(name);
        const shown = directions.has("response") || !isSplit;
        const direction = directions.has("response") ? "response" : "request";
        return [
          ...(shown ? [[name, this.convert(schema, direction)] as const] : []),
          ...(isSplit ? [[`${name}Draft`, this.convert(schema, "request")] as const] : []),
        ];
      }),
    );
  }

  /** Includes the components that refer to one that is split. */
  #findSplit(): ReadonlySet<string> {
    const both = [...this.#directions].filter(([, directions]) => directions.size === 2);
    const candidates = both.map(([name]) => [name, own(this.#schemas, name) ?? {}] as const);
    const split = new Set(
      candidates.filter(([, schema]) => this.#differs(schema)).map(([name]) => name),
    );
    for (let count = -1; count < split.size; ) {
      count = split.size;
      for (const [name, schema] of candidates)
        if (referencesIn(schema).some((other) => split.has(other))) split.add(name);
    }
    return split;
  }

  #differs(schema: Schema): boolean {
    const [sent, shown] = (["request", "response"] as const).map((direction) =>
      JSON.stringify(portableSchema(schema, direction, this.#find)),
    );
    return sent !== shown;
  }
}

const nameOf = (reference: string): string => reference.slice(componentPath.length);

/** The names of the components that a schema refers to. */
const referencesIn = (schema: Schema): readonly string[] =>
  [...allSchemas({ path: [], schema })].flatMap(({ schema: inner }) =>
    isObjectSchema(inner) && typeof inner.$ref === "string" ? [nameOf(inner.$ref)] : [],
  );
