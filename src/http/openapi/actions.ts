// Describes actions in the OpenAPI document: any action, and each action that the caller may run.

import { own } from "../../lib/own-property.ts";
import { exampleOf } from "../../lib/schema/example.ts";
import { isObjectSchema, type ObjectSchema } from "../../lib/schema/subschemas.ts";
import { TypeNames, typeName } from "../../lib/schema/type-name.ts";
import { componentPath, SchemaVariant } from "../../lib/schema/variant.ts";
import type { Action } from "../../model/action.ts";
import { acceptedSchema, actionLimits } from "../../model/action-schema.ts";
import { openDefinition } from "../../model/definition.ts";
import { actionScope } from "../../model/token.ts";
import { validatorOf } from "../../model/validator.ts";
import type { RouteOperation } from "../request/route.ts";
import { headers } from "./headers.ts";
import type { DescribedRoute } from "./operations.ts";
import { json, jsonContent, noContent } from "./responses.ts";

/** An action with the names of its types. */
export interface NamedAction {
  readonly action: Action;
  readonly typeName: string;
  /** By name; a `$ref` in one can refer to another. */
  readonly schemas: Readonly<Record<string, ObjectSchema>>;
}

/** Describes all actions together, because type names must be unique. */
export function describeActions(
  actions: readonly Action[],
  taken: Iterable<string>,
): readonly NamedAction[] {
  const names = new TypeNames(taken);
  return actions
    .map((action) => ({
      action,
      typeName: names.claim(`Action${typeName(action.name)}`, ["Input", "Output"]),
    }))
    .map(({ action, typeName }) => ({
      action,
      typeName,
      schemas: schemasOf(action, typeName, names),
    }));
}

function schemasOf({ input, output }: Action, name: string, names: TypeNames) {
  const made: Record<string, ObjectSchema> = {};
  const sent = new SchemaVariant(input, name, "readOnly", names, made);
  sent.setName(input, `${name}Input`);
  const own: Record<string, ObjectSchema> = { [`${name}Input`]: sent.object(input) };
  if (output !== undefined) {
    const read = new SchemaVariant(output, name, "writeOnly", names, made);
    read.setName(output, `${name}Output`);
    own[`${name}Output`] = read.value(output);
  }
  const all = { ...own, ...made };
  return { ...all, [`${name}Input`]: withExample(input, `${name}Input`, all) };
}

/** Adds the example of the schema or a generated one; none when it is not valid. */
function withExample(
  input: ObjectSchema,
  name: string,
  schemas: NamedAction["schemas"],
): ObjectSchema {
  const described = schemas[name] ?? {};
  const [given] = Array.isArray(input.examples) ? input.examples : [];
  const found = (reference: string) => own(schemas, reference.slice(componentPath.length));
  const example: unknown = given ?? exampleOf(described, found);
  const isValid = isObjectSchema(example) && isValidInput(input, example);
  return isValid ? { ...described, examples: [example] } : described;
}

const isValidInput = (input: ObjectSchema, value: object): boolean =>
  typeof validatorOf({ ...openDefinition, schema: input }).accept(
    JSON.stringify(value),
    undefined,
    false,
  ) === "string";

const anything = { description: "Any JSON value." };
const anyInput = { type: "object", description: "Must match the action's `input` schema." };
const located = { Location: headers.resultLocation };

/** The operation of any action; it can respond with any problem of a change. */
export const anyAction = {
  summary: "Run an action",
  description: `Each action has its own operation in this document, for callers who may run it. Its timeout is at most ${actionLimits.maxTimeoutMs / 1000} seconds.`,
  body: jsonContent(anyInput),
  isBodyOptional: true,
  responses: {
    200: json("What the action returned.", anything),
    202: json("The work continues; the location shows its progress.", acceptedSchema, located),
    204: noContent("The action finished without a result."),
    303: noContent("The location to GET next.", located),
  },
  problems: [404, 409, 410, 412, 422, 428, 504],
} as const satisfies RouteOperation;

/** The operation of one action. */
function operationOf({ action, typeName, schemas }: NamedAction): RouteOperation {
  const { description, timeoutMs, input } = action;
  const [first = ""] = description.split("\n", 1);
  const { isBodyOptional, ...any } = anyAction;
  const output = schemas[`${typeName}Output`] ?? anything;
  return {
    ...any,
    summary: first.slice(0, 120),
    description: `${description}\n\nThe timeout is ${timeoutMs} ms; after it the response is 504.`,
    body: jsonContent(schemas[`${typeName}Input`] ?? anyInput),
    ...(isValidInput(input, {}) && { isBodyOptional }),
    responses: { ...any.responses, 200: json("What the action returned.", output) },
  };
}

/** Describes the route of one action. */
export const routeOfAction = (route: DescribedRoute, named: NamedAction): DescribedRoute => ({
  ...route,
  id: `run${named.typeName}`,
  path: `/-/actions/${named.action.name}`,
  security: [{ bearer: [actionScope(named.action.name)] }],
  operation: operationOf(named),
});
