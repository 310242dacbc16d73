// Checks responses of the server against the OpenAPI document.

import assert from "node:assert/strict";
import { type Json, type JsonObject, resolve, validate } from "./schema.ts";

export interface Media {
  readonly schema: JsonObject;
  readonly examples?: Readonly<Record<string, { readonly value: Json }>>;
}
export interface DescribedResponse {
  readonly headers: Readonly<Record<string, { readonly required?: boolean }>>;
  readonly content?: Readonly<Record<string, Media>>;
}
export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: JsonObject;
}
export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly security: readonly { readonly bearer?: readonly string[] }[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, DescribedResponse>>;
}
export type Item = { readonly parameters?: readonly Parameter[] } & Readonly<
  Record<string, Operation>
>;
export interface Document {
  readonly openapi: string;
  readonly info: { readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Item>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonObject>>;
    readonly responses: Readonly<Record<string, DescribedResponse>>;
  };
}

export interface SentRequest {
  readonly method: string;
  /** With its query. */
  readonly target: string;
}

/**
 * The operation of a request, if there is one, by the status of its response: the operations of a
 * collection do not describe every response at the path of any collection.
 */
export function operationAt(
  document: Document,
  { method, target }: SentRequest,
  status: number,
  type = "",
): Operation | undefined {
  const [path = "", query = ""] = target.split("?", 2);
  const name = method === "HEAD" ? "get" : method.toLowerCase();
  const words = [...new URLSearchParams(query).keys()];
  const operations = itemsAt(document, path)
    .map((item) => item[name])
    .filter((operation) => operation !== undefined && takes(document, operation, words));
  const described = (operation: Operation | undefined) =>
    operation && describedResponse(document, operation, status, type);
  const fitting = operations.filter((operation) => described(operation));
  const isOfType = (operation: Operation | undefined) =>
    described(operation)?.content?.[type] !== undefined;
  return fitting.find(isOfType) ?? fitting[0] ?? operations[0];
}

/** The response to NDJSON is `2XX`, because JSON has the status for itself. */
export function describedResponse(
  document: Document,
  { responses }: Operation,
  status: number,
  type = "",
): DescribedResponse | undefined {
  const isRange = /ndjson|jsonl/.test(type) && status < 300 && responses["2XX"] !== undefined;
  const listed = responses[isRange ? "2XX" : status];
  return listed && resolve(document, listed);
}

/** The fixed paths first, as OpenAPI has it. */
function itemsAt({ paths }: Document, path: string): readonly Item[] {
  const steps = path.split("/");
  const [, first = ""] = steps;
  const isOurs = first === "-" || first === ".well-known" || path === "/";
  const matches = ([, parts]: Template) =>
    parts.length === steps.length &&
    parts.every((part, index) => part === steps[index] || (index > 1 && part.startsWith("{")));
  const data = ["", "{collection}", "{id}", "{name}"].slice(0, steps.length).join("/");
  const names = [
    path,
    ...templatesOf(paths)
      .filter((template) => template[0] !== path && matches(template))
      .map(([name]) => name),
    ...(isOurs || steps.length > 4 ? [] : [data]),
  ];
  return names.map((name) => paths[name]).filter((item) => item !== undefined);
}

type Template = readonly [name: string, parts: readonly string[]];

/** Every response of a test asks for them. */
const templates = new WeakMap<Document["paths"], readonly Template[]>();

function templatesOf(paths: Document["paths"]): readonly Template[] {
  const known = templates.get(paths);
  if (known !== undefined) return known;
  const made = Object.keys(paths).map((name): Template => [name, name.split("/")]);
  templates.set(paths, made);
  return made;
}

const elsewhere = ["fields", "since", "aggregate"];

function takes(document: Document, { parameters = [] }: Operation, words: readonly string[]) {
  const needed = elsewhere.filter((word) => words.includes(word));
  if (needed.length === 0) return true;
  const known = parameters.map((parameter) => resolve(document, parameter).name);
  return needed.every((word) => known.includes(word));
}

export interface ReceivedResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** Throws when the response does not match the operation. Responses that are possible at any address are skipped. */
export function assertDescribed(
  document: Document,
  operation: Operation,
  { status, headers, body }: ReceivedResponse,
  where: string,
): void {
  const type = headers.get("content-type")?.replace(/;.*/, "");
  const listed = describedResponse(document, operation, status, type);
  if (listed === undefined && everywhere.includes(status)) return;
  if (listed === undefined && status === 412 && !takesIfMatch(document, operation)) return;
  assert.ok(listed !== undefined, `${where}: ${status} is not described`);
  const { content } = listed;
  if (type === undefined || body === "") return;
  // The document describes the page that a browser gets instead of a problem in a text.
  if (type === "text/html" && status >= 400) return;
  const isFile = operation.operationId === "getFile" && status < 300;
  const media = content?.[isFile ? "application/octet-stream" : type];
  assert.ok(media !== undefined, `${where}: ${type} is not described`);
  const isJson = type.endsWith("json") && !type.endsWith("ndjson") && !isFile;
  const value = isJson ? JSON.parse(body) : body;
  const isFeed = operation.operationId === "listResources" && Object.hasOwn(value, "changes");
  const first = operation.operationId === "queryResources" ? value.data?.[0] : undefined;
  const isQueried = first !== undefined && !Object.hasOwn(first, "id");
  const isGroups = isJson && status === 200 && (/[?&]aggregate=/.test(where) || isQueried);
  const named = isFeed ? "Feed" : isGroups ? "GroupList" : undefined;
  validate(value, named ? componentOf(document, named) : media.schema, document, where);
}

/** The text of the document names it as the response to `since` or `aggregate`. */
const componentOf = ({ components }: Document, name: string): JsonObject =>
  components.schemas[name] ?? assert.fail(`there is no ${name}`);

/** Whether an operation describes its preconditions. To any other one, the text of the document applies. */
const takesIfMatch = (document: Document, { parameters = [] }: Operation): boolean =>
  parameters.some((parameter) => resolve(document, parameter).name === "If-Match");

/** Described in the text of the document, not in the operations. */
const everywhere = [308, 405, 408, 417, 425, 431, 501, 505];

/** Checks every response of an app against its document. */
export class ResponseChecker {
  readonly #read: () => Promise<Document>;
  #document: Promise<Document> | undefined;

  constructor(read: () => Promise<Document>) {
    this.#read = read;
  }

  async check(asked: SentRequest, given: ReceivedResponse): Promise<void> {
    const known = this.#document;
    try {
      if (known !== undefined) return this.#checkWith(await known, asked, given);
    } catch {
      // Definitions may have changed, so the current document is read below.
    }
    this.#document = this.#read();
    this.#checkWith(await this.#document, asked, given);
  }

  #checkWith(document: Document, asked: SentRequest, given: ReceivedResponse): void {
    const type = given.headers.get("content-type")?.replace(/;.*/, "");
    const operation = operationAt(document, asked, given.status, type);
    if (operation === undefined) return;
    assertDescribed(document, operation, given, `${asked.method} ${asked.target.slice(0, 100)}`);
  }
}
