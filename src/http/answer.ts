// Plain answers that several doors give.

import type { Exchange } from "./exchange.ts";

/** JSON that no cache keeps: what administrators and machines ask for, as of now. */
export function json(exchange: Exchange, status: number, value: unknown): Response {
  return text(exchange, status, "application/json", JSON.stringify(value));
}

export function text(exchange: Exchange, status: number, type: string, body: string): Response {
  const headers = new Headers(exchange.house.commonHeaders);
  headers.set("content-type", type);
  headers.set("cache-control", "no-store");
  return new Response(body, { status, headers });
}
