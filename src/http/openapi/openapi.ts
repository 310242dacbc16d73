// The OpenAPI 3.1 document of what runs: every route, and every collection that the asker may see.

import { hash } from "node:crypto";
import type { Caller } from "../../domain/access.ts";
import type { Action } from "../../model/action.ts";
import type { Collection } from "../../model/collection.ts";
import { definitionOf } from "../../model/definition.ts";
import { describeCollections } from "../../model/schema-components.ts";
import { allows, type Verb, verbs } from "../../model/token.ts";
import type { Services } from "../context.ts";
import { type Addressed, actionPaths, describeActions, pathOf } from "./actions.ts";
import { pathsOf, schemasOf, tagOf, usedBy, type Visible } from "./collections.ts";
import { components, ownSchemas } from "./components.ts";
import { filePaths } from "./files.ts";
import { resourcePaths } from "./resources.ts";
import { collectionPaths, serverPaths, tokenPaths } from "./server.ts";

/** What the document says of the server itself. */
type Server = Pick<Services, "base" | "version" | "maxBodyBytes">;

/** The routes of `routes.ts` in OpenAPI's spelling; a test holds the two to each other. */
export function openapiDocument(
  server: Server,
  collections: readonly Visible[],
  actions: readonly Addressed[] = [],
): unknown {
  const { base, version, maxBodyBytes } = server;
  const ofUsers = Object.assign(
    {},
    ...collections.map((each) => pathsOf(each, maxBodyBytes)),
    ...actions.map((each) => pathOf(each, maxBodyBytes)),
  );
  const schemas = Object.assign(
    {},
    ...collections.map(schemasOf),
    ...actions.map((each) => each.schemas),
  );
  return {
    openapi: "3.1.1",
    info: {
      title: "Restante",
      version,
      summary: "POST it, GET it back: a durable HTTP API for any collection.",
      description: about,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: base === "" ? "/" : base }],
    tags: [
      ...collections.map(tagOf),
      { name: "Resources", description: "What people and programs keep here, in any collection." },
      { name: "Actions", description: "What maps to no resource, and is written by the user." },
      { name: "Collections", description: "The rules of each collection; for administrators." },
      { name: "Tokens", description: "Who may do what; for administrators." },
      { name: "Server", description: "What is not user data; open to everyone." },
    ],
    paths: {
      ...ofUsers,
      ...resourcePaths(maxBodyBytes),
      ...filePaths,
      ...actionPaths(maxBodyBytes),
      ...collectionPaths(maxBodyBytes),
      ...tokenPaths(maxBodyBytes),
      ...serverPaths,
    },
    components: components(base, usedBy(ofUsers, schemas)),
  };
}

/** Nouns in our own operations' names; a collection called so gets a number behind its own. */
const taken = [
  ...Object.keys(ownSchemas),
  ..."Resources Resource Tokens Token Collections Collection Batch Actions Action".split(" "),
  ..."Home Health Ready Openapi Problems Problem Created ApiCatalog".split(" "),
];

/** The verbs that the caller may use on a collection. */
function verbsFor(caller: Caller, collection: Collection): readonly Verb[] {
  const { access } = definitionOf(collection);
  const { name } = collection;
  return verbs.filter(
    (verb) => access[verb] === "public" || (caller !== undefined && allows(caller, name, verb)),
  );
}

/** With the names of their types, which no collection's may have. */
export const addressed = (actions: readonly Action[]): readonly Addressed[] =>
  describeActions(actions, taken);

/** The collections that the caller may do something with. Their type names are the same for everyone. */
export function visibleTo(
  caller: Caller,
  collections: readonly Collection[],
  actions: readonly Addressed[] = [],
): readonly Visible[] {
  const names = actions.flatMap(({ schemas }) => Object.keys(schemas));
  const byName = new Map(collections.map((each) => [each.name, each]));
  const defined = collections.map((each) => ({
    name: each.name,
    schema: definitionOf(each).schema,
  }));
  return describeCollections(defined, [...taken, ...names]).flatMap((described) => {
    const collection = byName.get(described.name);
    const allowed = collection === undefined ? [] : verbsFor(caller, collection);
    if (collection === undefined || allowed.length === 0) return [];
    const definition = definitionOf(collection);
    return [{ ...described, definition, text: collection.definition, verbs: allowed }];
  });
}

export interface Document {
  readonly body: string;
  readonly etag: string;
}

/** As many as there are sorts of callers under the present rules, and some of the past. */
const maxKnown = 16;
const known = new WeakMap<Services, Map<string, Document>>();

/** Written once for as long as the same is to be said. */
export function documentFor(
  services: Services,
  caller: Caller,
  collections: readonly Collection[],
): Document {
  const documents = known.get(services) ?? new Map<string, Document>();
  known.set(services, documents);
  const mine = new Set(services.actions.visibleTo(caller));
  const key = keyOf(caller, collections, mine);
  const before = documents.get(key);
  if (before !== undefined) return before;
  const all = addressed(services.actions.all);
  const visible = all.filter(({ action }) => mine.has(action));
  const body = JSON.stringify(
    openapiDocument(services, visibleTo(caller, collections, all), visible),
  );
  const document = { body, etag: `"${hash("sha256", body).slice(0, 32)}"` };
  if (documents.size === maxKnown) documents.clear();
  documents.set(key, document);
  return document;
}

/** Of all that a document depends on. What is hidden takes a name from the others, and no more. */
function keyOf(
  caller: Caller,
  collections: readonly Collection[],
  actions: ReadonlySet<Action>,
): string {
  const seen = collections.map((collection) => {
    const allowed = verbsFor(caller, collection);
    return [collection.name, allowed, allowed.length === 0 ? "" : collection.definition];
  });
  return hash("sha256", JSON.stringify([seen, [...actions].map(({ name }) => name)]));
}

const about = `Every GET also answers HEAD: the same fields, no body. Every address answers OPTIONS without a token: \`Allow\`, and the CORS preflight.

Every refusal is a problem (RFC 9457) whose \`type\` is the address of a page about it; but a browser that posts a form and prefers HTML gets a page. Besides those listed with an operation, any address may answer 408, 417, 431, 501 or 505 to a request that cannot be read at all. A method that an address does not have is answered with 405 and \`Allow\`, an address with a slash at its end with 308. Unknown and repeated query parameters are refused.

Anything can be retried without harm: PUT, DELETE and every GET as they are, POST with an \`Idempotency-Key\`, PATCH with \`If-Match\`.`;
