// An action: a POST that maps to no resource, as a user's module defines it.

import type { FromSchema } from "../lib/schema/from-schema.ts";
import type { ObjectSchema } from "../lib/schema/subschemas.ts";
import type { ActionResources } from "./action-client.ts";
import { type FieldError, Problem, type ProblemKind, problemKinds } from "./problem.ts";

export const actionName = /^[a-z0-9][a-z0-9-]{0,62}$/;
export const isActionName = (name: string): boolean => actionName.test(name);

export const actionLimits = {
  /** Where a definition says nothing. */
  defaultTimeoutMs: 30_000,
  /** A silent connection is cut by the runtimes not long after; longer work answers 202. */
  maxTimeoutMs: 100_000,
} as const;

/** An action, read and ready to run. */
export interface Action {
  readonly name: string;
  readonly description: string;
  /** JSON Schema 2020-12 of the body: an object. */
  readonly input: ObjectSchema;
  /** Of what a 200 holds; none where anything may be answered. */
  readonly output: ObjectSchema | undefined;
  readonly timeoutMs: number;
  readonly run: (context: ActionContext) => unknown;
}

/** What a module exports. */
export interface ActionDefinition<Input = unknown, Output = unknown> {
  /** What it does, in words for the OpenAPI document. */
  readonly description: string;
  /** JSON Schema 2020-12 of the body: an object. */
  readonly input: ObjectSchema;
  /** JSON Schema 2020-12 of the value it returns. */
  readonly output?: ObjectSchema;
  /** How long it may take. Default: 30 seconds; at most 100. */
  readonly timeoutMs?: number;
  run(context: ActionContext<Input>): Output | Promise<Output>;
}

/** What an action is given. */
export interface ActionContext<Input = unknown> {
  /** The body, which fits the schema; with its defaults. */
  readonly input: Input;
  /** The verbs of HTTP, with the rights of the caller and by the rules of each collection. */
  readonly resources: ActionResources;
  /** Whose token it is. */
  readonly caller: ActionCaller;
  /** Names this request in the log. */
  readonly requestId: string;
  /** Aborts at the deadline. */
  readonly signal: AbortSignal;
  readonly accepted: typeof accepted;
  readonly seeOther: typeof seeOther;
  readonly problem: typeof problem;
}

export interface ActionCaller {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
}

/** What `run` may return: a JSON value is 200, nothing is 204. */
type Returned<Output> = Output | LocationResult | undefined;

/** Types `run` by the schemas; gives the definition back as it is. */
export function defineAction<
  const Input extends ObjectSchema,
  const Output extends ObjectSchema | undefined = undefined,
>(
  definition: Omit<ActionDefinition, "input" | "output" | "run"> & {
    readonly input: Input;
    readonly output?: Output;
    run(context: ActionContext<InputOf<Input>>): OutputOf<Output> | Promise<OutputOf<Output>>;
  },
): ActionDefinition {
  return definition as ActionDefinition;
}

/** An input is an object, also where its schema does not say so. */
type InputOf<Input> =
  unknown extends FromSchema<Input>
    ? FromSchema<Input & { readonly type: "object" }>
    : FromSchema<Input>;

type OutputOf<Output> = Output extends undefined ? unknown : Returned<FromSchema<Output, "out">>;

/** By a registered symbol, so that an action may come with a copy of this package of its own. */
const locationMark = Symbol.for("restante.elsewhere");
const problemMark = Symbol.for("restante.problem");

/** An answer that is at another address. */
export interface LocationResult {
  readonly status: 202 | 303;
  /** An absolute path of this server, or an absolute http or https URL. */
  readonly location: string;
  readonly [locationMark]: true;
}

export const isLocationResult = (value: unknown): value is LocationResult =>
  typeof value === "object" && value !== null && locationMark in value;

/** 202: the work goes on, and the location tells how far it is. */
export const accepted = (location: string): LocationResult => locationResult(202, location);

/** 303: the location has what the client should GET now. */
export const seeOther = (location: string): LocationResult => locationResult(303, location);

const locationResult = (status: LocationResult["status"], location: string): LocationResult =>
  Object.freeze({ status, location, [locationMark]: true as const });

/** A problem that is thrown: by the verbs, and by an action that refuses. It is answered as it is. */
export class ProblemError extends Error {
  readonly kind: ProblemKind;
  readonly detail: string;
  readonly errors: Problem["errors"];
  readonly [problemMark]: Problem;

  constructor(problem: Problem) {
    super(`${problem.kind}: ${problem.detail}`);
    this.name = "ProblemError";
    this.kind = problem.kind;
    this.detail = problem.detail;
    this.errors = problem.errors;
    this[problemMark] = problem;
  }
}

/** The kinds that an action may have reason to answer with. */
const refusalKinds = [
  "invalid-body",
  "not-found",
  "conflict",
  "precondition-failed",
  "unavailable",
] as const satisfies readonly ProblemKind[];
export type ActionProblemKind = (typeof refusalKinds)[number];

/** To be thrown by an action that refuses what it was asked for. */
export function problem(
  kind: ActionProblemKind,
  detail: string,
  errors?: readonly FieldError[],
): ProblemError {
  if (!refusalKinds.includes(kind))
    throw new TypeError(`an action's problem is one of: ${refusalKinds.join(", ")}`);
  return new ProblemError(new Problem(kind, String(detail), errors && { errors }));
}

/** The problem in what was thrown, if it is one. */
export function problemIn(thrown: unknown): Problem | undefined {
  if (!(thrown instanceof Error) || !(problemMark in thrown)) return undefined;
  if (thrown instanceof ProblemError) return thrown[problemMark];
  const { kind, detail, errors, scope } = thrown[problemMark] as Problem;
  if (!Object.hasOwn(problemKinds, kind)) return undefined;
  return new Problem(kind, detail, { ...(errors && { errors }), ...(scope && { scope }) });
}
