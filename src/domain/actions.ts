// Finds and runs actions: validates the input, enforces the timeout and checks the output.

import { AsyncLocalStorage } from "node:async_hooks";
import { ErrorReport } from "../lib/json/error-report.ts";
import { explain } from "../lib/schema/explain.ts";
import { CompiledSchema } from "../lib/schema/validator.ts";
import {
  type Action,
  type ActionContext,
  type LocationResult,
  locationResultIn,
  problemIn,
} from "../model/action.ts";
import { openDefinition } from "../model/definition.ts";
import type { Principal } from "../model/principal.ts";
import { type FieldError, Problem } from "../model/problem.ts";
import { allowsAction, isAdmin } from "../model/token.ts";
import { type ResourceValidator, validatorOf } from "../model/validator.ts";
import { noAction, requireActionScope } from "./access.ts";

/** One run of an action, for the log. */
export interface ActionRun {
  readonly action: string;
  readonly requestId: string;
}

/** The text of a JSON value, undefined for no content; or another address. */
export type ActionResult = LocationResult | { readonly text: string | undefined };

interface RegisteredAction {
  readonly action: Action;
  readonly validator: ResourceValidator;
  readonly output: CompiledSchema | undefined;
}

/** Of all actions, because they can be replaced while one runs. */
const runs = new AsyncLocalStorage<ActionRun>();

/** The run that the current code belongs to, if it is an action's. */
export const currentRun = (): ActionRun | undefined => runs.getStore();

export class Actions {
  readonly #registered: ReadonlyMap<string, RegisteredAction>;
  readonly #logLateError: (run: ActionRun, thrown: unknown) => void;

  /** Calls `logLateError` with an error that is thrown after the response was sent. */
  constructor(actions: readonly Action[], logLateError: (run: ActionRun, thrown: unknown) => void) {
    this.#registered = new Map(actions.map((action) => [action.name, register(action)]));
    this.#logLateError = logLateError;
  }

  /** Sorted by name. */
  get all(): readonly Action[] {
    return [...this.#registered.values()].map(({ action }) => action);
  }

  find(principal: Principal, name: string): Action | Problem {
    const forbidden = requireActionScope(principal, name);
    return forbidden ?? this.#registered.get(name)?.action ?? noAction;
  }

  /** Returns the actions that the principal may run. */
  visibleTo(principal: Principal): readonly Action[] {
    return this.all.filter(({ name }) => allowsAction(principal, name));
  }

  /** Parses and validates the text of a JSON object; a problem lists every error. */
  accept(
    principal: Principal,
    { name }: Action,
    text: string,
  ): { readonly input: unknown } | Problem {
    const forbidden = requireActionScope(principal, name);
    if (forbidden !== undefined) return forbidden;
    const { validator } = this.#registered.get(name) ?? {};
    const accepted = validator?.accept(text, undefined, isAdmin(principal)) ?? text;
    return typeof accepted === "string" ? { input: JSON.parse(accepted) } : invalid(accepted);
  }

  /** Returns the result of the action or the problem that it throws. Any other error is thrown again. */
  async run(
    principal: Principal,
    action: Action,
    requestId: string,
    contextFor: (signal: AbortSignal) => ActionContext,
  ): Promise<ActionResult | Problem> {
    const forbidden = requireActionScope(principal, action.name);
    if (forbidden !== undefined) return forbidden;
    const run = { action: action.name, requestId };
    try {
      // This includes the abort signal, because its listeners are the action's code too.
      return await runs.run(run, () => this.#race(action, run, contextFor));
    } catch (thrown) {
      const rejected = problemIn(thrown);
      if (rejected === undefined) throw thrown;
      return rejected;
    }
  }

  async #race(
    action: Action,
    run: ActionRun,
    contextFor: (signal: AbortSignal) => ActionContext,
  ): Promise<ActionResult | Problem> {
    const deadline = new AbortController();
    const late = Promise.withResolvers<Problem>();
    const timer = setTimeout(() => {
      late.resolve(timedOut(action));
      deadline.abort(new DOMException(`${action.name} exceeded its timeout.`, "TimeoutError"));
    }, action.timeoutMs);
    const running = this.#answer(action, contextFor(deadline.signal));
    running.catch((thrown) => this.#reportIfLate(run, deadline.signal, thrown));
    try {
      return await Promise.race([running, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #answer(action: Action, context: ActionContext): Promise<ActionResult> {
    const returned: unknown = await action.run(context);
    return resultOf(returned, this.#registered.get(action.name)?.output);
  }

  /** Logs an error after the timeout. The abort reason itself is expected. */
  #reportIfLate(run: ActionRun, { aborted, reason }: AbortSignal, thrown: unknown): void {
    if (aborted && thrown !== reason) this.#logLateError(run, thrown);
  }
}

function register(action: Action): RegisteredAction {
  const { input, output } = action;
  const validator = validatorOf({ ...openDefinition, schema: input });
  return { action, validator, output: output && new CompiledSchema(output) };
}

function resultOf(returned: unknown, output: CompiledSchema | undefined): ActionResult {
  const elsewhere = locationResultIn(returned);
  if (elsewhere !== undefined) return elsewhere;
  if (returned === undefined) return { text: undefined };
  const tag = Object.prototype.toString.call(returned).slice("[object ".length, -1);
  if (notJson.test(tag))
    throw new TypeError(
      `an action must return a JSON value, accepted() or seeOther(), not a ${tag}`,
    );
  const text: string | undefined = JSON.stringify(returned);
  if (text === undefined) throw new TypeError(`an action cannot return a ${typeof returned}`);
  const value = output?.parse(text);
  if (output !== undefined && !output.isValid(value)) throw outputError(output, value);
  return { text };
}

/**
 * The tags of what has no content as JSON, or another on each runtime. A class is not compared: the server of
 * Node replaces the global Response, but not that of `fetch`.
 */
const notJson =
  /^(?:Response|Request|Headers|FormData|URLSearchParams|Blob|File|ReadableStream|AbortSignal|Error|RegExp|Map|Set|WeakMap|WeakSet|DataView)$|.Array$|(?:Buffer|Iterator|Generator)$/;

/** Goes to the log only: the caller cannot fix it. */
function outputError(output: CompiledSchema, value: unknown): Error {
  const report = new ErrorReport();
  explain(output, value, [], report);
  const errors = report.errors.map(({ pointer, detail }) => `${pointer} ${detail}`.trim());
  return new Error(`the action's result does not match its output schema: ${errors.join("; ")}`);
}

const invalid = (errors: readonly FieldError[]): Problem =>
  new Problem("invalid-body", "The input is not valid; `errors` lists each error.", { errors });

const timedOut = ({ name, timeoutMs }: Action): Problem =>
  new Problem(
    "action-timeout",
    `${name} did not finish within ${timeoutMs} ms. Changes it made before then were not rolled back.`,
  );
