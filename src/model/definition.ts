// The definition of a collection: its schema, access rules, indexes, caching and limits.

import { ErrorReport } from "../lib/json/error-report.ts";
import { scanObject } from "../lib/json/scan.ts";
import type { ObjectSchema } from "../lib/schema/subschemas.ts";
import { checkDefinition } from "./check-definition.ts";
import type { Collection, Rules } from "./collection.ts";
import type { FieldError } from "./problem.ts";
import type { Verb } from "./token.ts";

export interface Definition {
  /** A text for people. */
  readonly description: string | undefined;
  /** JSON Schema 2020-12 of the user's fields. */
  readonly schema: ObjectSchema | undefined;
  /** Who may use each verb. */
  readonly access: Readonly<Record<Verb, Audience>>;
  /** Field paths whose values are unique in the collection. */
  readonly unique: readonly string[];
  /** Field paths with an index, for filters and sort orders at any size. */
  readonly indexed: readonly string[];
  /** Field paths that the search with `q` covers. */
  readonly searchable: readonly string[];
  readonly cache: {
    /** How many seconds shared caches may store public responses. */
    readonly maxAge: number;
  };
  /** The limit for a body. The server's own limit applies as well. */
  readonly maxBytes: number | undefined;
  /** Whether PUT, PATCH and DELETE must have a precondition. */
  readonly preconditions: Requirement;
  /** Whether POST must have an Idempotency-Key. */
  readonly idempotencyKey: Requirement;
  /** The address that a browser is redirected to after a form. Default: a page of the server. */
  readonly redirect: string | undefined;
  /** A form field that is hidden from people, so that only bots fill it in. */
  readonly honeypot: string | undefined;
  /** How often one address may create resources without a token. */
  readonly rateLimit: RateLimit | undefined;
}

export interface RateLimit {
  readonly perMinute: number;
}

export type Requirement = "optional" | "required";
/** Tokens with the scope, everyone, or the creator of the resource. */
export type Audience = "token" | "public" | "owner";

export const openDefinition: Definition = {
  description: undefined,
  schema: undefined,
  access: { read: "token", create: "token", update: "token", delete: "token" },
  unique: [],
  indexed: [],
  searchable: [],
  cache: { maxAge: 0 },
  maxBytes: undefined,
  preconditions: "optional",
  idempotencyKey: "optional",
  redirect: undefined,
  honeypot: undefined,
  rateLimit: undefined,
};

/** Parses a definition. Returns all errors when it is not valid. */
export function readDefinition(text: string): Definition | readonly FieldError[] {
  const scanned = scanObject(text);
  if (!("members" in scanned)) return scanned;
  const given: Readonly<Record<string, unknown>> = JSON.parse(text);
  const report = new ErrorReport();
  checkDefinition(given, report);
  return report.errors.length > 0 ? report.errors : withDefaults(given);
}

/** Fills in the defaults. */
function withDefaults({
  $schema,
  ...given
}: Partial<Definition> & { $schema?: unknown }): Definition {
  return {
    ...openDefinition,
    ...given,
    access: { ...openDefinition.access, ...given.access },
    cache: { ...openDefinition.cache, ...given.cache },
  };
}

const cache = new WeakMap<Rules | Collection, Definition>();

/** Parses the definition once per object. */
export function definitionOf(rules: Rules | Collection): Definition {
  const cached = cache.get(rules);
  if (cached !== undefined) return cached;
  const definition = withDefaults(JSON.parse(rules.definition));
  cache.set(rules, definition);
  return definition;
}
