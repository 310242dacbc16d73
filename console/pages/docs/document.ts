// Reads the OpenAPI document of the server: its operations by tag, and the parts of one.

import { isObject, type Json, type JsonObject } from "../../api/json.ts";
import type { Schema } from "../../api/types.ts";

export interface OpenApiDocument extends JsonObject {
  readonly paths: Readonly<Record<string, JsonObject>>;
}

/** One method of one path. The rest is read when it is opened. */
export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly description: string;
  readonly isRequired: boolean;
  readonly schema: Schema;
}

export interface Content {
  readonly type: string;
  readonly schema: Schema;
}

export interface DocumentedResponse {
  readonly status: string;
  readonly description: string;
  readonly content: readonly Content[];
}

export interface OperationDetail extends Operation {
  readonly description: string;
  readonly scopes: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly body: readonly Content[];
  readonly answers: readonly DocumentedResponse[];
}

const methods = ["get", "post", "put", "patch", "delete"];

export function operationsOf({ paths }: OpenApiDocument): readonly Operation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    methods.filter((method) => isObject(item[method])).map((method) => headOf(path, method, item)),
  );
}

function headOf(path: string, method: string, item: JsonObject): Operation {
  const operation = objectOf(item[method]);
  const [tag] = listOf(operation.tags);
  return {
    id: `${method} ${path}`,
    method: method.toUpperCase(),
    ...{ path, tag: textOf(tag), summary: textOf(operation.summary) },
  };
}

/** By tag, in the order of the document, so that the collections come first. */
export const byTag = (operations: readonly Operation[]): ReadonlyMap<string, Operation[]> =>
  Map.groupBy(operations, ({ tag }) => tag);

export function detailOf(document: OpenApiDocument, head: Operation): OperationDetail {
  const item = document.paths[head.path] ?? {};
  const operation = objectOf(item[head.method.toLowerCase()]);
  const parameters = [...listOf(item.parameters), ...listOf(operation.parameters)];
  return {
    ...head,
    description: textOf(operation.description),
    scopes: listOf(operation.security).flatMap((one) => listOf(objectOf(one).bearer).map(textOf)),
    parameters: parameters.map((one) => parameterOf(resolve(document, one))),
    body: contentOf(resolve(document, operation.requestBody)),
    answers: Object.entries(objectOf(operation.responses)).map(([status, one]) =>
      answerOf(status, resolve(document, one)),
    ),
  };
}

const parameterOf = (parameter: JsonObject): Parameter => ({
  name: textOf(parameter.name),
  in: textOf(parameter.in) as Parameter["in"],
  description: textOf(parameter.description),
  isRequired: parameter.required === true,
  schema: objectOf(parameter.schema) as Schema,
});

const answerOf = (status: string, answer: JsonObject): DocumentedResponse => ({
  status,
  description: textOf(answer.description),
  content: contentOf(answer),
});

const contentOf = ({ content }: JsonObject): readonly Content[] =>
  Object.entries(objectOf(content)).map(([type, one]) => ({
    type,
    schema: objectOf(objectOf(one).schema) as Schema,
  }));

/** Follows `$ref` within the document. */
export function resolve(document: JsonObject, value: Json | undefined): JsonObject {
  const found = objectOf(value);
  if (typeof found.$ref !== "string") return found;
  const steps = found.$ref.split("/").slice(1);
  return steps.reduce<JsonObject>((one, step) => objectOf(own(one, step)), document);
}

/** The name of the component that a schema refers to. */
export const refName = (schema: JsonObject): string | undefined =>
  typeof schema.$ref === "string" ? schema.$ref.split("/").at(-1) : undefined;

const own = (value: JsonObject, name: string): Json | undefined =>
  Object.hasOwn(value, name) ? value[name] : undefined;
const objectOf = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});
const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);
const textOf = (value: Json | undefined): string => (typeof value === "string" ? value : "");
