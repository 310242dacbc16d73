// Responds to requests on the port of the metrics, which needs no token.

import { metricsType } from "../http/admin/metrics.ts";
import { writeMetrics } from "../lib/metrics.ts";
import { type Reply, ReplyFields, replyOf, SharedFields } from "../lib/reply.ts";
import type { ServeOptions } from "../runtime/runtime.ts";
import type { CollectMetrics } from "./app.ts";

const paths = new Set(["/metrics", "/-/metrics"]);

export function metricsResponder(
  collect: CollectMetrics,
): Pick<ServeOptions, "fetch" | "errorResponse"> {
  return {
    async fetch({ method, url }) {
      if (!paths.has(pathOf(url))) return text(404, "The metrics are at /metrics.\n");
      if (method !== "GET" && method !== "HEAD")
        return text(405, "Use GET.\n", { Allow: "GET, HEAD" });
      return text(200, writeMetrics(await collect()));
    },
    errorResponse: (status, detail) => text(status, `${detail}\n`),
  };
}

/** Any host is served, also one that a URL cannot have, such as 999.1.1.1. */
const pathOf = (url: string): string => url.replace(/^https?:\/\/[^/]*/, "").split("?", 1)[0] ?? "";

const text = (status: number, body: string, more: Record<string, string> = {}): Reply =>
  replyOf(
    status,
    new ReplyFields(
      new SharedFields(
        Object.entries({ "Content-Type": metricsType, "Cache-Control": "no-store", ...more }),
      ),
    ),
    body,
  );
