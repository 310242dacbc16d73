// The OpenAPI document's part about actions: the door to all of them, and each that the asker may run.

import { own } from "../../lib/own-property.ts";
import { exampleOf } from "../../lib/schema/example.ts";
import { isObjectSchema, type ObjectSchema } from "../../lib/schema/subschemas.ts";
import { TypeNames, typeName } from "../../lib/schema/type-name.ts";
import { componentPath, SchemaVariant } from "../../lib/schema/variant.ts";
import { type Action, actionLimits } from "../../model/action.ts";
import { openDefinition } from "../../model/definition.ts";
import { actionScope } from "../../model/token.ts";
import { validatorOf } from "../../model/validator.ts";
import { answer, commonHeaders, json, ofCallers, ofWriters } from "./answers.ts";
import { header, parameter, problems } from "./components.ts";
import { schema } from "./schemas.ts";

/** An action with the names of its types. */
export interface Addressed {
  readonly action: Action;
  readonly typeName: string;
  /** By name; a `$ref` in them leads to another. */
  readonly schemas: Readonly<Record<string, ObjectSchema>>;
}

/** All at once, because no two types may have the same name. */
export function describeActions(
  actions: readonly Action[],
  taken: Iterable<string>,
): readonly Addressed[] {
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

/** What the schema names itself, or else a guess; and none where that does not fit. */
function withExample(
  input: ObjectSchema,
  name: string,
  schemas: Addressed["schemas"],
): ObjectSchema {
  const described = schemas[name] ?? {};
  const [given] = Array.isArray(input.examples) ? input.examples : [];
  const found = (reference: string) => own(schemas, reference.slice(componentPath.length));
  const example: unknown = given ?? exampleOf(described, found);
  const isFit = isObjectSchema(example) && fits(input, example);
  return isFit ? { ...described, examples: [example] } : described;
}

const fits = (input: ObjectSchema, value: object): boolean =>
  typeof validatorOf({ ...openDefinition, schema: input }).accept(
    JSON.stringify(value),
    undefined,
    false,
  ) === "string";

/** Any of them; what is thrown by a verb may be any problem of a change. */
export const actionPaths = (maxBodyBytes: number) => ({
  "/-/actions": {
    get: {
      operationId: "listActions",
      summary: "The actions that the token may run",
      tags: ["Actions"],
      security: [{ bearer: [] }],
      responses: {
        200: json("Their names, words and schemas.", "Actions"),
        ...problems(...ofCallers),
      },
    },
  },
  "/-/actions/{name}": {
    parameters: [parameter("action")],
    post: {
      operationId: "runAction",
      summary: "Run an action",
      description: `Each action has an operation of its own, for those who may run it. It answers within its own deadline, at most ${actionLimits.maxTimeoutMs / 1000} seconds.`,
      ...asked("{name}", anyInput, maxBodyBytes),
      responses: answers(anything),
    },
  },
});

export const pathOf = ({ action, typeName }: Addressed, maxBodyBytes: number) => {
  const { name, description, output } = action;
  const [first = ""] = description.split("\n", 1);
  const input = schema(`${typeName}Input`);
  const { requestBody, ...rest } = asked(name, input, maxBodyBytes);
  return {
    [`/-/actions/${name}`]: {
      post: {
        operationId: `run${typeName}`,
        summary: first.slice(0, 120),
        description: `${description}\n\nIt answers within ${action.timeoutMs} ms, or is 504.`,
        ...rest,
        requestBody: { ...requestBody, required: !fits(action.input, {}) },
        responses: answers(output === undefined ? anything : schema(`${typeName}Output`)),
      },
    },
  };
};

const anything = { description: "Any JSON value." };
const anyInput = { type: "object", description: "As the action's `input` says." };

const asked = (name: string, shape: object, limitBytes: number) => ({
  tags: ["Actions"],
  security: [{ bearer: [actionScope(name)] }],
  requestBody: {
    description: `JSON in UTF-8, at most ${limitBytes} bytes. No body is an empty object.`,
    required: false,
    content: { "application/json": { schema: shape } },
  },
});

const elsewhere = { ...commonHeaders, Location: header("Elsewhere") };

const answers = (returned: object) => ({
  200: answer("What the action returned.", "application/json", returned),
  202: json("The work goes on; the location tells how far it is.", "Accepted", elsewhere),
  204: { description: "It is done.", headers: commonHeaders },
  303: { description: "What to GET now.", headers: elsewhere },
  ...problems(...ofWriters, 404, 409, 410, 412, 422, 428, 504),
});
