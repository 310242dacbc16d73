// Running actions: who may, what goes in, how long it takes, and what comes of it.

import { AsyncLocalStorage } from "node:async_hooks";
import { ErrorReport } from "../lib/json/error-report.ts";
import { explain } from "../lib/schema/explain.ts";
import { CompiledSchema } from "../lib/schema/validator.ts";
import {
  type Action,
  type ActionContext,
  isLocationResult,
  type LocationResult,
  problemIn,
} from "../model/action.ts";
import { openDefinition } from "../model/definition.ts";
import { type FieldError, Problem } from "../model/problem.ts";
import { allowsAction, isAdmin, type Token } from "../model/token.ts";
import { type ResourceValidator, validatorOf } from "../model/validator.ts";
import { type Caller, noAction } from "./access.ts";

/** What an action is doing something for. */
export interface ActionRun {
  readonly action: string;
  readonly requestId: string;
}

/** The text of a JSON value, none for nothing; or another address. */
export type ActionResult = LocationResult | { readonly text: string | undefined };

interface Known {
  readonly action: Action;
  readonly shape: ResourceValidator;
  readonly output: CompiledSchema | undefined;
}

export class Actions {
  readonly #known: ReadonlyMap<string, Known>;
  readonly #errands = new AsyncLocalStorage<ActionRun>();
  readonly #logStray: (errand: ActionRun, thrown: unknown) => void;

  /** What fails after its request was answered is told to `logStray`. */
  constructor(actions: readonly Action[], logStray: (errand: ActionRun, thrown: unknown) => void) {
    this.#known = new Map(actions.map((action) => [action.name, knownOf(action)]));
    this.#logStray = logStray;
  }

  /** In the order of their names. */
  get all(): readonly Action[] {
    return [...this.#known.values()].map(({ action }) => action);
  }

  find(name: string): Action | Problem {
    return this.#known.get(name)?.action ?? noAction;
  }

  /** Those that the caller may run. */
  visibleTo(caller: Caller): readonly Action[] {
    return caller === undefined ? [] : this.all.filter(({ name }) => allowsAction(caller, name));
  }

  /** What an action is given, made of the text of a JSON object; or every fault of it at once. */
  accept({ name }: Action, caller: Token, text: string): { readonly input: unknown } | Problem {
    const accepted = this.#known.get(name)?.shape.accept(text, undefined, isAdmin(caller)) ?? text;
    return typeof accepted === "string" ? { input: JSON.parse(accepted) } : invalid(accepted);
  }

  /** What it answers, or why it refuses. What it throws otherwise is thrown here: that is its bug. */
  async run(
    action: Action,
    requestId: string,
    contextFor: (signal: AbortSignal) => ActionContext,
  ): Promise<ActionResult | Problem> {
    const errand = { action: action.name, requestId };
    try {
      // All of it, because the signal, too, calls what the action wrote.
      return await this.#errands.run(errand, () => this.#race(action, errand, contextFor));
    } catch (thrown) {
      const refused = problemIn(thrown);
      if (refused === undefined) throw thrown;
      return refused;
    }
  }

  async #race(
    action: Action,
    errand: ActionRun,
    contextFor: (signal: AbortSignal) => ActionContext,
  ): Promise<ActionResult | Problem> {
    const deadline = new AbortController();
    const late = Promise.withResolvers<Problem>();
    const timer = setTimeout(() => {
      late.resolve(tooLate(action));
      deadline.abort(new DOMException(`The deadline of ${action.name} is over.`, "TimeoutError"));
    }, action.timeoutMs);
    const running = this.#answer(action, contextFor(deadline.signal));
    running.catch((thrown) => this.#noteIfLate(errand, deadline.signal, thrown));
    try {
      return await Promise.race([running, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #answer(action: Action, context: ActionContext): Promise<ActionResult> {
    const returned: unknown = await action.run(context);
    return answeredBy(returned, this.#known.get(action.name)?.output);
  }

  /** Nobody waits for it any more, but it must not get lost. That it heeds the signal is no news. */
  #noteIfLate(errand: ActionRun, { aborted, reason }: AbortSignal, thrown: unknown): void {
    if (aborted && thrown !== reason) this.#logStray(errand, thrown);
  }

  /** The errand of the code that runs right now, if it is an action's. */
  get errand(): ActionRun | undefined {
    return this.#errands.getStore();
  }
}

function knownOf(action: Action): Known {
  const { input, output } = action;
  const shape = validatorOf({ ...openDefinition, schema: input });
  return { action, shape, output: output && new CompiledSchema(output) };
}

function answeredBy(returned: unknown, output: CompiledSchema | undefined): ActionResult {
  if (isLocationResult(returned)) return returned;
  if (returned === undefined) return { text: undefined };
  if (returned instanceof Response)
    throw new TypeError("an action returns a JSON value, or accepted() or seeOther(); no Response");
  const text: string | undefined = JSON.stringify(returned);
  if (text === undefined) throw new TypeError(`an action cannot return a ${typeof returned}`);
  const value = output?.parse(text);
  if (output !== undefined && !output.isValid(value)) throw violation(output, value);
  return { text };
}

/** Told to the log only: the caller cannot mend it. */
function violation(output: CompiledSchema, value: unknown): Error {
  const report = new ErrorReport();
  explain(output, value, [], report);
  const faults = report.errors.map(({ pointer, detail }) => `${pointer} ${detail}`.trim());
  return new Error(`what the action returned does not fit its output schema: ${faults.join("; ")}`);
}

const invalid = (errors: readonly FieldError[]): Problem =>
  new Problem("invalid-body", "The input is not valid; `errors` names each fault.", { errors });

const tooLate = ({ name, timeoutMs }: Action): Problem =>
  new Problem(
    "action-timeout",
    `${name} did not answer within ${timeoutMs} ms. What it has done by then stays done.`,
  );
