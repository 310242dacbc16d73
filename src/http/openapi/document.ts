// Builds the OpenAPI document: every route, and every collection that the caller may see.

import { hash } from "node:crypto";
import type { Contract, UsableCollection } from "../../domain/contract.ts";
import { RecentMap } from "../../lib/recent-map.ts";
import { typeName } from "../../lib/schema/type-name.ts";
import { componentPath } from "../../lib/schema/variant.ts";
import type { Action } from "../../model/action.ts";
import type { Principal } from "../../model/principal.ts";
import { schemaComponents } from "../../model/schemas/components.ts";
import type { Services } from "../request/context.ts";
import type { Route, Routes } from "../request/route.ts";
import { describeActions, routeOfAction } from "./actions.ts";
import { routesOfCollection, tagOf, visibleCollections } from "./collections.ts";
import { headers } from "./headers.ts";
import { type DescribedRoute, pathsOf, securityOf } from "./operations.ts";
import { parameters } from "./parameters.ts";
import {
  type OpenapiVersion,
  openapiVersions,
  portableDocument,
  type WholeDocument,
} from "./portable.ts";
import { otherProblem, problemResponses } from "./problems.ts";
import { withComponents } from "./references.ts";

/** What the document shows of the server, and the version of the contract. */
interface DocumentSettings extends Pick<Services, "base" | "version" | "maxBodyBytes"> {
  readonly contract: string;
}

/**
 * Builds the exact document of these routes, with the collections that have verbs and the actions that are
 * allowed. The others are needed too, so that the type names are the same for every caller.
 */
export function wholeDocument(
  routes: Routes,
  { base, version, contract, maxBodyBytes }: DocumentSettings,
  allCollections: readonly UsableCollection[],
  allActions: readonly Action[],
  allowedActions: ReadonlySet<Action> = new Set(allActions),
): WholeDocument {
  const named = describeActions(allActions, reservedNames(routes));
  const collections = visibleCollections(allCollections, [
    ...reservedNames(routes),
    ...named.flatMap(({ schemas }) => Object.keys(schemas)),
  ]);
  const actions = named.filter(({ action }) => allowedActions.has(action));
  const generic = Object.entries(routes).map(([id, route]) => describe(id, route, maxBodyBytes));
  const run = generic.find(({ id }) => id === "runAction");
  const described = [
    ...collections.flatMap((each) => routesOfCollection(routes, each, maxBodyBytes)),
    ...(run === undefined ? [] : actions.map((each) => routeOfAction(run, each))),
    ...generic,
  ];
  const problems = problemResponses(base);
  const document = {
    openapi: openapiVersions["3.2"],
    info: {
      title: "Restante",
      version: contract,
      "x-restante-version": version,
      summary: "POST it, GET it back: a durable HTTP API for any collection.",
      description: about,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: base === "" ? "/" : base }],
    tags: [
      ...collections.map((one) => tagOf(one, collections)),
      ...tags.map(({ name, description }) => ({ name, description })),
    ],
    paths: pathsOf(described, problems),
    components: { securitySchemes: { bearer } },
  };
  const components = {
    parameters: parameterComponents,
    headers: headerComponents,
    schemas: Object.assign(
      { ...schemaComponents },
      ...collections.map(({ components }) => components),
      ...actions.map(({ schemas }) => schemas),
    ),
    responses: {
      ...Object.fromEntries(
        Object.entries(problems).map(([status, problem]) => [`Problem${status}`, problem]),
      ),
      OtherProblem: otherProblem,
    },
  };
  return withComponents(document, components, namedComponents);
}

/** The components that the text of the document names. */
const namedComponents = [`${componentPath}Feed`, `${componentPath}GroupList`];

const bearer = {
  type: "http",
  scheme: "bearer",
  bearerFormat: "rst_ and 49 letters and digits",
  description:
    "A token, in the Authorization header only; credentials in a URL are rejected. Scopes: `{collection}:{read|create|update|delete}`, where `*` stands for every collection or every verb; `action:{name}`, where `*` stands for every action; `metrics` reads the metrics; `admin` may do everything, including creating tokens and collections.",
};

/** Component names differ in more than case and kind: the parameter `page` is `PageParameter`. */
const withSuffix = (objects: Readonly<Record<string, object>>, suffix: string) =>
  Object.fromEntries(
    Object.entries(objects).map(([name, object]) => [`${typeName(name)}${suffix}`, object]),
  );
const parameterComponents = withSuffix(parameters, "Parameter");
const headerComponents = withSuffix(headers, "Header");

/** Generated clients refer to these types of their languages without saying where they are from. */
const typesOfLanguages = [
  ..."Any Array Bool Boolean Box Byte Char Character Class Client Configuration Date Default".split(
    " ",
  ),
  ..."Dict Double Enum Err Error Exception Field File Float Future Int Integer Iterator List".split(
    " ",
  ),
  ..."Literal Long Map Math Model None Nothing Number Object Ok Option Optional Override Pair".split(
    " ",
  ),
  ..."Promise Readonly Record Request Response Result Self Set Short Some String Symbol Thread".split(
    " ",
  ),
  ..."Tuple Type Union Unit Unset Uuid Vec Void".split(" "),
];

/** The names that no collection and no action may have: those of components, operations and languages. */
const reservedNames = (routes: Routes): readonly string[] => [
  ...typesOfLanguages,
  ...Object.keys({ ...schemaComponents, ...parameterComponents, ...headerComponents }),
  ...Object.keys(schemaComponents).map((name) => `${name}Draft`),
  ...Object.keys(routes).map((id) => id.replace(/^[a-z]+/, "")),
];

const tags = [
  {
    name: "Resources",
    paths: /^\/(?:\{|-\/(?:batch|lines|uploads))/,
    description: "Resources of any collection.",
  },
  {
    name: "Actions",
    paths: /^\/-\/actions/,
    description: "Operations that the user has written in TypeScript.",
  },
  {
    name: "Collections",
    paths: /^\/-\/collections/,
    description: "Collections and their definitions; for administrators.",
  },
  {
    name: "Access",
    paths: /^\/-\/access/,
    description: "Roles and the scopes that they give, and what callers may do.",
  },
  {
    name: "Tokens",
    paths: /^\/-\/tokens/,
    description: "Tokens and their scopes; for administrators.",
  },
  {
    name: "Server",
    paths: /^/,
    description: "Home, health, this document and the problem pages; public.",
  },
];

const describe = (id: string, route: Route, maxBodyBytes: number): DescribedRoute => ({
  ...route,
  id,
  tag: tags.find(({ paths }) => paths.test(route.path))?.name ?? "",
  security: securityOf(route.permission),
  maxBodyBytes,
});

export interface Document {
  readonly body: string;
  readonly etag: string;
}

/** Describing a collection takes a millisecond and 17 KB, and other requests wait meanwhile. */
const maxDescribed = 500;

/** Says why the document describes no collection. */
const withNote = (document: { readonly info?: object }, count: number): object => ({
  ...document,
  info: {
    ...document.info,
    description: `You may use ${count} collections, which are too many to describe each of them (at most ${maxDescribed}). \`/{collection}\` describes what is the same for all. For a document with their schemas, use a token whose scopes name fewer collections.\n\n${about}`,
  },
});

/** Enough for the different permissions of callers under the current definitions. */
const maxCached = 16;
const cache = new WeakMap<Services, RecentMap<string, Document>>();

/** Returns the document for a caller, cached until something that it shows changes. */
export function documentFor(
  routes: Routes,
  services: Services,
  principal: Principal,
  { collections, definedAt }: Contract,
  version: OpenapiVersion,
): Document {
  const documents = cache.get(services) ?? new RecentMap<string, Document>(maxCached);
  cache.set(services, documents);
  const allowedActions = new Set(services.actions.visibleTo(principal));
  const count = collections.filter(({ verbs }) => verbs.length > 0).length;
  const described = count > maxDescribed ? [] : collections;
  const contract = contractVersion(definedAt, collections, allowedActions);
  const key = `${version} ${count} ${contract} ${keyOf(described, allowedActions)}`;
  const cached = documents.get(key);
  if (cached !== undefined) return cached;
  const { all } = services.actions;
  const whole = wholeDocument(routes, { ...services, contract }, described, all, allowedActions);
  const portable = portableDocument(whole, version, namedComponents);
  const body = JSON.stringify(count > maxDescribed ? withNote(portable, count) : portable);
  const document = { body, etag: `"${hash("sha256", body).slice(0, 32)}"` };
  documents.set(key, document);
  return document;
}

/**
 * The version of what a caller may use (docs/decisions/0081-the-contract-has-a-version-of-its-own.md). What
 * follows `+` differs where the definitions or the actions do, also on a node whose actions are others.
 */
function contractVersion(
  definedAt: number,
  collections: readonly UsableCollection[],
  actions: ReadonlySet<Action>,
): string {
  const seen = collections
    .filter(({ verbs }) => verbs.length > 0)
    .map(({ collection: { name, definition }, verbs }) => [name, verbs, definition]);
  const described = [...actions].map(({ name, description, input, output }) => [
    ...[name, description],
    ...[input, output],
  ]);
  const digest = hash("sha256", JSON.stringify([seen, described])).slice(0, 8);
  return `1.${definedAt}.0+${digest}`;
}

/** Hashes everything that a document depends on. A hidden collection affects only the type names. */
function keyOf(collections: readonly UsableCollection[], actions: ReadonlySet<Action>): string {
  const seen = collections.map(({ collection, verbs }) => [
    collection.name,
    verbs,
    verbs.length === 0 ? "" : collection.definition,
  ]);
  return hash("sha256", JSON.stringify([seen, [...actions].map(({ name }) => name)]));
}

const about = `Every GET also supports HEAD, with the same header fields and no body. Every address supports OPTIONS without a token, for \`Allow\` and for CORS preflights.

Every error is a problem (RFC 9457) whose \`type\` is the URL of a page about it; a browser that posts a form and prefers HTML gets a page. Besides the statuses listed with an operation, any address may respond with 408, 417, 431, 501 or 505 to a request that cannot be parsed. A change that a proxy sends with \`Early-Data\` is 425. An unsupported method is 405 with \`Allow\`, and a path with a trailing slash is 308. \`If-Match\` with a tag is 412 where there is no \`ETag\`. Unknown and repeated query parameters are rejected.

Every request can be retried safely: GET, PUT and DELETE as they are, POST with an \`Idempotency-Key\`, PATCH with \`If-Match\`.`;
