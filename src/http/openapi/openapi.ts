// Builds the OpenAPI 3.1 document: every route, and every collection that the caller may see.

import { hash } from "node:crypto";
import type { Caller } from "../../domain/access.ts";
import type { Action } from "../../model/action.ts";
import type { Collection } from "../../model/collection.ts";
import { definitionOf } from "../../model/definition.ts";
import { describeCollections } from "../../model/schema-components.ts";
import { allows, type Verb, verbs } from "../../model/token.ts";
import type { Services } from "../context.ts";
import { actionPaths, describeActions, type NamedAction, pathOf } from "./actions.ts";
import { pathsOf, schemasOf, tagOf, usedBy, type VisibleCollection } from "./collections.ts";
import { components, ownSchemas } from "./components.ts";
import { filePaths } from "./files.ts";
import { resourcePaths } from "./resources.ts";
import { collectionPaths, serverPaths, tokenPaths } from "./server.ts";

/** The settings that the document shows. */
type Server = Pick<Services, "base" | "version" | "maxBodyBytes">;

/** Builds the document of the routes in `routes.ts`; a test compares the two. */
export function openapiDocument(
  server: Server,
  collections: readonly VisibleCollection[],
  actions: readonly NamedAction[] = [],
): unknown {
  const { base, version, maxBodyBytes } = server;
  const userPaths = Object.assign(
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
      { name: "Resources", description: "Resources of any collection." },
      { name: "Actions", description: "Operations that the user has written in TypeScript." },
      {
        name: "Collections",
        description: "Collections and their definitions; for administrators.",
      },
      { name: "Tokens", description: "Tokens and their scopes; for administrators." },
      { name: "Server", description: "Home, health, this document and the problem pages; public." },
    ],
    paths: {
      ...userPaths,
      ...resourcePaths(maxBodyBytes),
      ...filePaths,
      ...actionPaths(maxBodyBytes),
      ...collectionPaths(maxBodyBytes),
      ...tokenPaths(maxBodyBytes),
      ...serverPaths,
    },
    components: components(base, usedBy(userPaths, schemas)),
  };
}

/** Names of the built-in operations; a collection with such a name gets a number appended. */
const reservedNames = [
  ...Object.keys(ownSchemas),
  ..."Resources Resource Tokens Token Collections Collection Batch Actions Action".split(" "),
  ..."Home Health Ready Openapi Problems Problem Created ApiCatalog".split(" "),
];

/** Returns the verbs that the caller may use on a collection. */
function verbsFor(caller: Caller, collection: Collection): readonly Verb[] {
  const { access } = definitionOf(collection);
  const { name } = collection;
  return verbs.filter(
    (verb) => access[verb] === "public" || (caller !== undefined && allows(caller, name, verb)),
  );
}

/** Gives each action its type names, which no collection may use. */
export const nameActions = (actions: readonly Action[]): readonly NamedAction[] =>
  describeActions(actions, reservedNames);

/** Returns the collections that the caller may use. Their type names are the same for every caller. */
export function visibleTo(
  caller: Caller,
  collections: readonly Collection[],
  actions: readonly NamedAction[] = [],
): readonly VisibleCollection[] {
  const names = actions.flatMap(({ schemas }) => Object.keys(schemas));
  const byName = new Map(collections.map((each) => [each.name, each]));
  const defined = collections.map((each) => ({
    name: each.name,
    schema: definitionOf(each).schema,
  }));
  return describeCollections(defined, [...reservedNames, ...names]).flatMap((described) => {
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

/** Enough for the different permissions of callers under the current definitions. */
const maxCached = 16;
const cache = new WeakMap<Services, Map<string, Document>>();

/** Returns the document for a caller, cached until something that it shows changes. */
export function documentFor(
  services: Services,
  caller: Caller,
  collections: readonly Collection[],
): Document {
  const documents = cache.get(services) ?? new Map<string, Document>();
  cache.set(services, documents);
  const allowedActions = new Set(services.actions.visibleTo(caller));
  const key = keyOf(caller, collections, allowedActions);
  const cached = documents.get(key);
  if (cached !== undefined) return cached;
  const all = nameActions(services.actions.all);
  const visible = all.filter(({ action }) => allowedActions.has(action));
  const body = JSON.stringify(
    openapiDocument(services, visibleTo(caller, collections, all), visible),
  );
  const document = { body, etag: `"${hash("sha256", body).slice(0, 32)}"` };
  if (documents.size === maxCached) documents.clear();
  documents.set(key, document);
  return document;
}

/** Hashes everything that a document depends on. A hidden collection affects only the type names. */
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

const about = `Every GET also supports HEAD, with the same header fields and no body. Every address supports OPTIONS without a token, for \`Allow\` and for CORS preflights.

Every error is a problem (RFC 9457) whose \`type\` is the URL of a page about it; a browser that posts a form and prefers HTML gets a page. Besides the statuses listed with an operation, any address may respond with 408, 417, 431, 501 or 505 to a request that cannot be parsed. An unsupported method is 405 with \`Allow\`, and a path with a trailing slash is 308. Unknown and repeated query parameters are rejected.

Every request can be retried safely: GET, PUT and DELETE as they are, POST with an \`Idempotency-Key\`, PATCH with \`If-Match\`.`;
