// Opens what records and sends traces, when the config has a collector. Nothing of it is loaded otherwise.

import { hostname } from "node:os";
import type { Metrics } from "../lib/metrics.ts";
import { version } from "../lib/program.ts";
import type { Traces } from "../lib/traces.ts";
import type { Store } from "../store/store.ts";
import type { Config } from "./config.ts";
import type { Log } from "./log.ts";
import { readHeaderFields } from "./trace-settings.ts";

export interface OpenTraces {
  readonly traces: Traces;
  /** Returns the store with its reads and commits measured. */
  readonly traceStore: <Traced extends Store>(store: Traced) => Traced;
  close(): Promise<void>;
}

export async function openTraces(
  { otlpEndpoint: endpoint, otlpHeaders = "", traceSample }: Config,
  log: Log,
  metrics: Metrics,
): Promise<OpenTraces | undefined> {
  if (endpoint === undefined) return undefined;
  const [{ Traces }, { traceStore }, { TraceExporter }] = await Promise.all([
    import("../lib/traces.ts"),
    import("../store/traced-store.ts"),
    import("./trace-exporter.ts"),
  ]);
  const headers = readHeaderFields(otlpHeaders) ?? {};
  const resource = {
    "service.name": "restante",
    "service.version": version,
    "service.instance.id": `${hostname()}:${process.pid}`,
  };
  const exporter = new TraceExporter({ endpoint, headers, resource, log, metrics });
  return {
    traces: new Traces(traceSample, (spans) => exporter.add(spans)),
    traceStore,
    close: () => exporter.close(),
  };
}
