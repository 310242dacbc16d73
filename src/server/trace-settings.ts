// The settings of traces.

import { baseUrl, type SettingEntry } from "./setting-values.ts";

export interface TraceConfig {
  /** The URL of an OTLP collector. Undefined means no traces. */
  readonly otlpEndpoint: string | undefined;
  /** Header fields for the collector, such as its API key, as `readHeaderFields` takes them. */
  readonly otlpHeaders: string | undefined;
  /** The share of the requests that is traced, from 0 to 1. */
  readonly traceSample: number;
}

function share(text: string): number | undefined {
  return /^(?:0(?:\.\d{1,6})?|1(?:\.0{1,6})?)$/.test(text) ? Number(text) : undefined;
}

/** As OTEL_EXPORTER_OTLP_HEADERS: `name=value` separated by commas, values percent-encoded. */
export function readHeaderFields(text: string): Readonly<Record<string, string>> | undefined {
  if (text === "") return {};
  const pairs = text.split(",").map((pair) => /^\s*([\w-]+)=([\x21-\x7e ]*)$/.exec(pair));
  try {
    return Object.fromEntries(
      pairs.map((pair) => {
        if (pair === null) throw new URIError(text);
        return [pair[1], decodeURIComponent(pair[2]?.trim() ?? "")];
      }),
    );
  } catch {
    return undefined;
  }
}

export const traceSettings = {
  otlpEndpoint: {
    standardVariable: "OTEL_EXPORTER_OTLP_ENDPOINT",
    placeholder: "url",
    about:
      "The URL of an OpenTelemetry collector that takes OTLP over HTTP; traces of requests are sent there. OTEL_EXPORTER_OTLP_ENDPOINT is read, too. Default: no traces.",
    allowed: "an http or https URL without user, query and fragment, such as http://localhost:4318",
    read: baseUrl,
  },
  otlpHeaders: {
    isOnlyVariable: true,
    standardVariable: "OTEL_EXPORTER_OTLP_HEADERS",
    placeholder: "fields",
    about:
      "Header fields for the collector, such as its API key. There is no flag, because other users of the machine can see command lines.",
    allowed: "name=value pairs separated by commas, with values percent-encoded",
    isPrivate: true,
    read: (text) => readHeaderFields(text) && text,
  },
  traceSample: {
    type: "number",
    placeholder: "share",
    about:
      "The share of the requests that is traced. A request with a traceparent is traced if its caller traces it.",
    allowed: "a number from 0 to 1, such as 0.05",
    fallback: "1",
    read: share,
  },
} satisfies { readonly [Name in keyof TraceConfig]: SettingEntry<TraceConfig[Name]> };
