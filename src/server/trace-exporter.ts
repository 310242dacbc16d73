// Sends spans to an OpenTelemetry collector as OTLP over HTTP in JSON, without ever waiting for it.

import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../lib/cli-error.ts";
import type { Metrics } from "../lib/metrics.ts";
import type { Attributes, TraceSpan } from "../lib/traces.ts";
import type { Log } from "./log.ts";

/** About 4 MB. Further spans are dropped while the collector does not take these. */
const maxWaiting = 8_192;
const maxBatch = 512;
const everyMs = 1_000;
const sendMs = 5_000;
const maxPauseMs = 30_000;
/** How long the end of the process waits for the last spans. */
const closeMs = 1_000;

export interface ExporterOptions {
  /** The base URL of the collector. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly resource: Attributes;
  readonly log: Log;
  readonly metrics: Metrics;
}

export class TraceExporter {
  readonly #options: ExporterOptions;
  readonly #url: string;
  readonly #closing = new AbortController();
  #waiting: TraceSpan[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #sending: Promise<void> | undefined;
  #failures = 0;
  #sent = 0;
  #dropped = 0;

  constructor(options: ExporterOptions) {
    this.#options = options;
    const { endpoint, metrics } = options;
    this.#url = endpoint.endsWith("/v1/traces") ? endpoint : `${endpoint}/v1/traces`;
    metrics.count(
      "restante_trace_spans_sent_total",
      "Spans that the collector took.",
      () => this.#sent,
    );
    metrics.count(
      "restante_trace_spans_dropped_total",
      "Spans that the collector did not take in time.",
      () => this.#dropped,
    );
  }

  add(spans: readonly TraceSpan[]): void {
    const room = maxWaiting - this.#waiting.length;
    if (spans.length > room) this.#dropped += spans.length;
    else this.#waiting.push(...spans);
    this.#schedule();
  }

  /** Sends what is left, for at most a second. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    // A collector that does not answer now will not do so in this second.
    if (this.#failures === 0) await Promise.race([this.#flush(), sleep(closeMs)]);
    this.#closing.abort();
    this.#dropped += this.#waiting.splice(0).length;
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => void this.#flush(), everyMs).unref();
  }

  #flush(): Promise<void> {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
      this.#timer = undefined;
      if (this.#waiting.length > 0 && !this.#closing.signal.aborted) this.#schedule();
    });
    return this.#sending;
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#closing.signal.aborted) {
      const batch = this.#waiting.slice(0, maxBatch);
      const failure = await this.#send(batch);
      if (failure?.isTemporary) await this.#pause(failure.reason);
      else this.#settle(batch, failure?.reason);
    }
  }

  /** Returns why the collector did not take the spans, and whether it may take them later. */
  async #send(spans: readonly TraceSpan[]): Promise<ExportFailure | undefined> {
    const { headers, resource } = this.#options;
    try {
      const response = await fetch(this.#url, {
        method: "POST",
        headers: { ...headers, "Content-Type": "application/json" },
        body: encodeSpans(spans, resource),
        redirect: "error",
        signal: AbortSignal.any([AbortSignal.timeout(sendMs), this.#closing.signal]),
      });
      await response.body?.cancel();
      if (response.ok) return undefined;
      const { status } = response;
      return { isTemporary: temporary.has(status), reason: `it answered ${status}` };
    } catch (error) {
      return { isTemporary: true, reason: messageOf(error) };
    }
  }

  #settle(batch: readonly TraceSpan[], reason: string | undefined): void {
    this.#waiting.splice(0, batch.length);
    if (reason === undefined) this.#sent += batch.length;
    else this.#dropped += batch.length;
    if (reason === undefined && this.#failures > 0) this.#options.log.info("traces are sent again");
    if (reason !== undefined) this.#warn(reason);
    this.#failures = reason === undefined ? 0 : this.#failures + 1;
  }

  async #pause(reason: string): Promise<void> {
    this.#warn(reason);
    const ms = Math.min(everyMs * 2 ** this.#failures++, maxPauseMs);
    await sleep(ms, undefined, { ref: false, signal: this.#closing.signal }).catch(() => undefined);
  }

  /** Logs the first failure of an outage. */
  #warn(reason: string): void {
    if (this.#failures === 0 && !this.#closing.signal.aborted)
      this.#options.log.warn({ url: this.#url, reason }, "traces cannot be sent");
  }
}

interface ExportFailure {
  readonly isTemporary: boolean;
  readonly reason: string;
}

/** What a client should try again (OTLP specification, "Retryable Response Codes"). */
const temporary = new Set([429, 502, 503, 504]);

function encodeSpans(spans: readonly TraceSpan[], resource: Attributes): string {
  const scope = { name: "restante" };
  const scopeSpans = [{ scope, spans: spans.map(encodeSpan) }];
  return JSON.stringify({
    resourceSpans: [{ resource: { attributes: encodeAttributes(resource) }, scopeSpans }],
  });
}

const encodeSpan = (span: TraceSpan) => ({
  traceId: span.traceId,
  spanId: span.spanId,
  parentSpanId: span.parentSpanId,
  traceState: span.traceState,
  flags: 1,
  name: span.name,
  // 2 is a server, 1 is internal.
  kind: span.isServer ? 2 : 1,
  startTimeUnixNano: nanoseconds(span.startedAt),
  endTimeUnixNano: nanoseconds(span.endedAt),
  attributes: encodeAttributes(span.attributes),
  status: span.isError ? { code: 2 } : {},
});

/** A number of nanoseconds is too large for a double. */
const nanoseconds = (ms: number): string => `${Math.round(ms * 1_000)}000`;

const encodeAttributes = (attributes: Attributes) =>
  Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === "number" ? { intValue: String(value) } : { stringValue: value },
  }));
