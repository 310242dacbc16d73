// Serves the metrics on a port of their own, without a token.

import { serve } from "#runtime";
import { metricsType } from "../http/admin/metrics.ts";
import { CliError, messageOf } from "../lib/cli-error.ts";
import { writeMetrics } from "../lib/metrics.ts";
import type { Server } from "../runtime/runtime.ts";
import type { CollectMetrics } from "./app.ts";
import type { Config } from "./config.ts";

const paths = new Set(["/metrics", "/-/metrics"]);
const maxHeaderBytes = 16_384;

/** Returns undefined when the config names no port. */
export async function serveMetrics(
  { metricsPort: port, metricsHost: host }: Config,
  collect: CollectMetrics,
): Promise<Server | undefined> {
  if (port === undefined) return undefined;
  const fetch = async ({ method, url }: Request): Promise<Response> => {
    if (!paths.has(new URL(url, "http://localhost").pathname))
      return text(404, "The metrics are at /metrics.\n");
    if (method !== "GET" && method !== "HEAD")
      return text(405, "Use GET.\n", { Allow: "GET, HEAD" });
    return text(200, writeMetrics(await collect()));
  };
  const errorResponse = (status: number, detail: string) => text(status, `${detail}\n`);
  try {
    return await serve({ host, port, fetch, errorResponse, maxHeaderBytes });
  } catch (cause) {
    const message = `Cannot serve the metrics on port ${port} of ${host}: ${messageOf(cause)}. Choose another --metrics-port.`;
    throw new CliError(1, message, { cause });
  }
}

const text = (status: number, body: string, more: Record<string, string> = {}): Response =>
  new Response(body, {
    status,
    headers: { "Content-Type": metricsType, "Cache-Control": "no-store", ...more },
  });
