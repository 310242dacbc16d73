// A collection's rules, as its definition says them.

import { ErrorReport } from "../lib/json/error-report.ts";
import { scanObject } from "../lib/json/scan.ts";
import type { ObjectSchema } from "../lib/schema/subschemas.ts";
import { checkDefinition } from "./check-definition.ts";
import type { Collection, Rules } from "./collection.ts";
import type { FieldError } from "./problem.ts";
import type { Verb } from "./token.ts";

export interface Definition {
  /** What the collection is for, in words. */
  readonly description: string | undefined;
  /** JSON Schema 2020-12 of the user's fields. */
  readonly schema: ObjectSchema | undefined;
  /** Who may do what. */
  readonly access: Readonly<Record<Verb, Audience>>;
  /** Fields, as paths with dots, of which no two resources have the same value. */
  readonly unique: readonly string[];
  /** Fields by which lists are filtered and sorted at any size. */
  readonly indexed: readonly string[];
  /** Fields whose words `q` finds. */
  readonly searchable: readonly string[];
  readonly cache: {
    /** For how many seconds others may keep what everyone may read. */
    readonly maxAge: number;
  };
  /** Of a body; the server's own limit holds as well. */
  readonly maxBytes: number | undefined;
  /** Whether PUT, PATCH and DELETE must say which state they mean. */
  readonly preconditions: Requirement;
  /** Whether POST must carry an Idempotency-Key. */
  readonly idempotencyKey: Requirement;
  /** Where a browser goes whose form was accepted; to a page of ours where nothing is said. */
  readonly redirect: string | undefined;
  /** A field of forms that no person sees, so that only a machine fills it in. */
  readonly honeypot: string | undefined;
  /** How often one address may create without a token. */
  readonly rateLimit: RateLimit | undefined;
}

export interface RateLimit {
  readonly perMinute: number;
}

export type Requirement = "optional" | "required";
/** Whoever has a token with the scope, everyone, or whoever created the resource. */
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

/** The definition in a text, or every fault of it at once. */
export function readDefinition(text: string): Definition | readonly FieldError[] {
  const scanned = scanObject(text);
  if (!("members" in scanned)) return scanned;
  const given: Readonly<Record<string, unknown>> = JSON.parse(text);
  const report = new ErrorReport();
  checkDefinition(given, report);
  return report.errors.length > 0 ? report.errors : complete(given);
}

/** With what it leaves open. */
function complete({ $schema, ...given }: Partial<Definition> & { $schema?: unknown }): Definition {
  return {
    ...openDefinition,
    ...given,
    access: { ...openDefinition.access, ...given.access },
    cache: { ...openDefinition.cache, ...given.cache },
  };
}

const known = new WeakMap<Rules | Collection, Definition>();

/** Read once for as long as the rules are the same object. */
export function definitionOf(rules: Rules | Collection): Definition {
  const before = known.get(rules);
  if (before !== undefined) return before;
  const definition = complete(JSON.parse(rules.definition));
  known.set(rules, definition);
  return definition;
}
