// Records the steps of a request as spans of a trace, and continues the trace of the caller (W3C Trace Context).

import { AsyncLocalStorage } from "node:async_hooks";
import { randomBytes } from "node:crypto";

export type Attributes = Readonly<Record<string, string | number>>;

/** Times are milliseconds since 1970. */
export interface TraceSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly traceState: string | undefined;
  readonly isServer: boolean;
  readonly isError: boolean;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attributes: Attributes;
}

/** Takes the spans of a trace when its request is answered. */
export type Collect = (spans: readonly TraceSpan[]) => void;

export interface Parent {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
  readonly state: string | undefined;
}

/** An import commits often. Further steps of such a request are not recorded. */
const maxSpans = 64;
const maxStateChars = 512;

const format = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-|$)/;
const onlyZeros = /^0+$/;

/** Returns undefined for what is not valid; then a new trace begins. */
export function readParent(traceparent: string | null, state: string | null): Parent | undefined {
  const [, version, traceId = "0", spanId = "0", flags = "", rest] =
    format.exec(traceparent ?? "") ?? [];
  if (onlyZeros.test(traceId) || onlyZeros.test(spanId) || version === "ff") return undefined;
  // Only a later version may have more members.
  if (version === "00" && rest !== "") return undefined;
  const isKept = state !== null && state.length <= maxStateChars;
  const isSampled = (Number.parseInt(flags, 16) & 1) === 1;
  return { traceId, spanId, isSampled, state: isKept ? state : undefined };
}

const now = (): number => performance.timeOrigin + performance.now();
const newId = (bytes: number): string => randomBytes(bytes).toString("hex");

interface TraceScope {
  readonly trace: Trace;
  readonly spanId: string;
}

/** The step that runs, where a request is traced. */
const running = new AsyncLocalStorage<TraceScope>();

/** Measures a step of the request that runs, if it is traced. */
export function measureStep<Result>(
  name: string,
  attributes: Attributes,
  work: () => Result,
): Result {
  const scope = running.getStore();
  return scope === undefined ? work() : scope.trace.measure(name, work, attributes, scope.spanId);
}

export class Traces {
  readonly #share: number;
  readonly #collect: Collect;

  /** `share` of the requests without a traceparent are traced. For others the caller has decided. */
  constructor(share: number, collect: Collect) {
    this.#share = share;
    this.#collect = collect;
  }

  /** Returns undefined when the request is not traced. */
  start(headers: Headers): Trace | undefined {
    const parent = readParent(headers.get("traceparent"), headers.get("tracestate"));
    const isSampled = parent?.isSampled ?? Math.random() < this.#share;
    return isSampled ? new Trace(parent, this.#collect) : undefined;
  }
}

export class Trace {
  readonly traceId: string;
  readonly #spanId = newId(8);
  readonly #parent: Parent | undefined;
  readonly #collect: Collect;
  readonly #startedAt = now();
  readonly #spans: TraceSpan[] = [];
  #answerStartedAt: number | undefined;
  #isEnded = false;

  constructor(parent: Parent | undefined, collect: Collect) {
    this.traceId = parent?.traceId ?? newId(16);
    this.#parent = parent;
    this.#collect = collect;
  }

  /** Lets the steps of this request find its trace. */
  run<Result>(work: () => Result): Result {
    return running.run({ trace: this, spanId: this.#spanId }, work);
  }

  measure<Result>(
    name: string,
    work: () => Result,
    attributes: Attributes = {},
    parentSpanId = this.#spanId,
  ): Result {
    const startedAt = now();
    const spanId = newId(8);
    const end = (isError: boolean) =>
      this.#add({ name, spanId, parentSpanId, startedAt, attributes, isError, isServer: false });
    let result: Result;
    try {
      result = running.run({ trace: this, spanId }, work);
    } catch (thrown) {
      end(true);
      throw thrown;
    }
    if (!(result instanceof Promise)) end(false);
    else
      result.then(
        () => end(false),
        () => end(true),
      );
    return result;
  }

  /** The rest of the request makes the response. */
  beginAnswer(): void {
    this.#answerStartedAt ??= now();
  }

  /** What ends later is not recorded. */
  end(name: string, attributes: Attributes, isError: boolean): void {
    if (this.#isEnded) return;
    const spanId = this.#spanId;
    if (this.#answerStartedAt !== undefined)
      this.#add({
        name: "answer",
        spanId: newId(8),
        parentSpanId: spanId,
        attributes: {},
        startedAt: this.#answerStartedAt,
        isError: false,
        isServer: false,
      });
    this.#spans.length = Math.min(this.#spans.length, maxSpans - 1);
    const parentSpanId = this.#parent?.spanId;
    const startedAt = this.#startedAt;
    this.#add({ name, spanId, parentSpanId, startedAt, attributes, isError, isServer: true });
    this.#isEnded = true;
    this.#collect(this.#spans);
  }

  #add(span: Omit<TraceSpan, "traceId" | "traceState" | "endedAt">): void {
    if (this.#isEnded || this.#spans.length >= maxSpans) return;
    const { traceId } = this;
    this.#spans.push({ ...span, traceId, traceState: this.#parent?.state, endedAt: now() });
  }
}
