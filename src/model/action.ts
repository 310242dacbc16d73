// Actions: user-defined POST endpoints that are not resources, as a module exports them.

import type { FromSchema } from "../lib/schema/from-schema.ts";
import type { ObjectSchema } from "../lib/schema/subschemas.ts";
import type { ActionResources } from "./action-resources.ts";
import type { ActionMembers } from "./action-schema.ts";
import {
  type FieldError,
  type ParameterError,
  Problem,
  type ProblemKind,
  problemKinds,
} from "./problem.ts";

/** A validated action. */
export interface Action extends ActionMembers {
  readonly name: string;
  readonly run: (context: ActionContext) => unknown;
}

/** The default export of an action module. */
export interface ActionDefinition<Input = unknown, Output = unknown> {
  /** The description in the OpenAPI document. */
  readonly description: string;
  /** JSON Schema 2020-12 of the body, which is an object. */
  readonly input: ObjectSchema;
  /** JSON Schema 2020-12 of the returned value. */
  readonly output?: ObjectSchema;
  /** The time limit. Default: 30 seconds, maximum: 100 seconds. */
  readonly timeoutMs?: number;
  run(context: ActionContext<Input>): Output | Promise<Output>;
}

/** The argument of `run`. */
export interface ActionContext<Input = unknown> {
  /** The validated body, with defaults filled in. */
  readonly input: Input;
  /** Reads and writes resources with the permissions of the caller and the rules of each collection. */
  readonly resources: ActionResources;
  /** The caller's token. */
  readonly caller: ActionCaller;
  /** The id of the request in the log. */
  readonly requestId: string;
  /** Aborts at the time limit. */
  readonly signal: AbortSignal;
  readonly accepted: typeof accepted;
  readonly seeOther: typeof seeOther;
  readonly problem: typeof problem;
}

export interface ActionCaller {
  readonly id: string;
  readonly name: string;
  /** The owner of what the action creates. */
  readonly subject: string;
  readonly scopes: readonly string[];
}

/** What `run` may return: a JSON value is answered with 200, undefined with 204. */
type Returned<Output> = Output | LocationResult | undefined;

/** Infers the types of `run` from the schemas. Returns the definition unchanged. */
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

/** An input is always an object, even when its schema has no type. */
type InputOf<Input> =
  unknown extends FromSchema<Input>
    ? FromSchema<Input & { readonly type: "object" }>
    : FromSchema<Input>;

type OutputOf<Output> = Output extends undefined ? unknown : Returned<FromSchema<Output, "out">>;

/** Registered symbols, so that an action may use its own copy of this package. */
const locationMark = Symbol.for("restante.elsewhere");
const problemMark = Symbol.for("restante.problem");

/** A response that refers to another address. */
export interface LocationResult {
  readonly status: 202 | 303;
  /** An absolute path on this server, or an absolute http or https URL. */
  readonly location: string;
  readonly [locationMark]: true;
}

/** Returns a location result, and undefined for any other value. An action may have made it without our functions. */
export function locationResultIn(value: unknown): LocationResult | undefined {
  if (typeof value !== "object" || value === null || !(locationMark in value)) return undefined;
  const { status, location } = value as Partial<LocationResult>;
  if ((status !== 202 && status !== 303) || typeof location !== "string")
    throw new TypeError("the result with a location must be made by accepted() or seeOther()");
  return locationResult(status, location);
}

/** 202: the work continues, and the location reports its progress. */
export const accepted = (location: string): LocationResult => locationResult(202, location);

/** 303: the client should GET the location. */
export const seeOther = (location: string): LocationResult => locationResult(303, location);

const locationResult = (status: LocationResult["status"], location: string): LocationResult =>
  Object.freeze({ status, location, [locationMark]: true as const });

/** A thrown problem, from the resource methods or from the action itself. It becomes the response. */
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

/** The kinds of problems that an action may throw. */
const actionProblemKinds = [
  "invalid-body",
  "not-found",
  "conflict",
  "precondition-failed",
  "unavailable",
] as const satisfies readonly ProblemKind[];
export type ActionProblemKind = (typeof actionProblemKinds)[number];

/** Makes a problem for an action to throw. Without a detail it has the title of its kind. */
export function problem(
  kind: ActionProblemKind,
  detail: string,
  errors?: readonly FieldError[],
): ProblemError {
  if (!actionProblemKinds.includes(kind))
    throw new TypeError(
      `the problem of an action must be one of: ${actionProblemKinds.join(", ")}`,
    );
  return new ProblemError(thrownProblem({ kind, detail, errors }));
}

/** Returns the problem of a thrown ProblemError, and undefined for any other value. */
export function problemIn(thrown: unknown): Problem | undefined {
  if (!(thrown instanceof Error) || !(problemMark in thrown)) return undefined;
  if (thrown instanceof ProblemError) return thrown[problemMark];
  const marked = thrown[problemMark];
  if (typeof marked !== "object" || marked === null || !("kind" in marked)) return undefined;
  const kind = String(marked.kind);
  return isProblemKind(kind) ? thrownProblem({ ...marked, kind }) : undefined;
}

const isProblemKind = (kind: string): kind is ProblemKind => Object.hasOwn(problemKinds, kind);

interface ThrownProblem {
  readonly kind: ProblemKind;
  readonly detail?: unknown;
  readonly errors?: unknown;
  readonly scope?: unknown;
}

/** Takes only what the schema of problems allows: a module without types can pass anything. */
function thrownProblem({ kind, detail, errors, scope }: ThrownProblem): Problem {
  const list = errors ?? undefined;
  return new Problem(kind, String(detail ?? problemKinds[kind].title), {
    ...(list !== undefined && { errors: errorList(list) }),
    ...(typeof scope === "string" && { scope }),
  });
}

function errorList(errors: unknown): NonNullable<Problem["errors"]> {
  if (!Array.isArray(errors)) throw new TypeError(wrongErrors);
  return errors.map(errorIn);
}

function errorIn(error: unknown): FieldError | ParameterError {
  const { detail, pointer, parameter } = Object(error);
  if (typeof detail !== "string") throw new TypeError(wrongErrors);
  if (typeof pointer === "string") return { pointer, detail };
  if (typeof parameter === "string") return { parameter, detail };
  throw new TypeError(wrongErrors);
}

const wrongErrors =
  "the errors of a problem must be a list of { pointer, detail }, and both are strings";
