// Describes actions in the OpenAPI document: the generic routes, and each action that the caller may run.

import { own } from "../../lib/own-property.ts";
import { exampleOf } from "../../lib/schema/example.ts";
import { isObjectSchema, type ObjectSchema } from "../../lib/schema/subschemas.ts";
import { TypeNames, typeName } from "../../lib/schema/type-name.ts";
import { componentPath, SchemaVariant } from "../../lib/schema/variant.ts";
import { type Action, actionLimits } from "../../model/action.ts";
import { openDefinition } from "../../model/definition.ts";
import { actionScope } from "../../model/token.ts";
import { validatorOf } from "../../model/validator.ts";
import { commonHeaders, json, readProblems, response, writeProblems } from "./answers.ts";
import { header, parameter, problems } from "./components.ts";
import { schema } from "./schemas.ts";

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

/** The generic routes; an action can respond with any problem of a change. */
export const actionPaths = (maxBodyBytes: number) => ({
  "/-/actions": {
    get: {
      operationId: "listActions",
      summary: "The actions that the token may run",
      tags: ["Actions"],
      security: [{ bearer: [] }],
      responses: {
        200: json("Their names, descriptions and schemas.", "Actions"),
        ...problems(...readProblems),
      },
    },
  },
  "/-/actions/{name}": {
    parameters: [parameter("action")],
    post: {
      operationId: "runAction",
      summary: "Run an action",
      description: `Each action has its own operation in this document, for callers who may run it. Its timeout is at most ${actionLimits.maxTimeoutMs / 1000} seconds.`,
      ...operationOf("{name}", anyInput, maxBodyBytes),
      responses: answers(anything),
    },
  },
});

export const pathOf = ({ action, typeName }: NamedAction, maxBodyBytes: number) => {
  const { name, description, output } = action;
  const [first = ""] = description.split("\n", 1);
  const input = schema(`${typeName}Input`);
  const { requestBody, ...rest } = operationOf(name, input, maxBodyBytes);
  return {
    [`/-/actions/${name}`]: {
      post: {
        operationId: `run${typeName}`,
        summary: first.slice(0, 120),
        description: `${description}\n\nThe timeout is ${action.timeoutMs} ms; after it the response is 504.`,
        ...rest,
        requestBody: { ...requestBody, required: !isValidInput(action.input, {}) },
        responses: answers(output === undefined ? anything : schema(`${typeName}Output`)),
      },
    },
  };
};

const anything = { description: "Any JSON value." };
const anyInput = { type: "object", description: "Must match the action's `input` schema." };

const operationOf = (name: string, shape: object, limitBytes: number) => ({
  tags: ["Actions"],
  security: [{ bearer: [actionScope(name)] }],
  requestBody: {
    description: `JSON in UTF-8, at most ${limitBytes} bytes. No body is an empty object.`,
    required: false,
    content: { "application/json": { schema: shape } },
  },
});

const locationHeaders = { ...commonHeaders, Location: header("Elsewhere") };

const answers = (returned: object) => ({
  200: response("What the action returned.", "application/json", returned),
  202: json("The work continues; the location shows its progress.", "Accepted", locationHeaders),
  204: { description: "The action finished without a result.", headers: commonHeaders },
  303: { description: "The location to GET next.", headers: locationHeaders },
  ...problems(...writeProblems, 404, 409, 410, 412, 422, 428, 504),
});
