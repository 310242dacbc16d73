// The log line of a request, written by hand: it is on the hot path, and a logger's call costs far more.

import type { Exchange } from "./exchange.ts";
import { withoutSecrets } from "./problem.ts";

let lastMs = 0;
let lastTime = "";

/** Many requests share a millisecond. */
function timeNow(): string {
  const now = Date.now();
  if (now !== lastMs) {
    lastMs = now;
    lastTime = new Date(now).toISOString();
  }
  return lastTime;
}

/** A path is ASCII without control characters; what JSON would have to escape in it is rare. */
function plain(path: string): string {
  const shown = path.includes("rst_") ? withoutSecrets(path) : path;
  const isPlain = !shown.includes('"') && !shown.includes("\\");
  return isPlain ? shown : JSON.stringify(shown).slice(1, -1);
}

/** Holds the path but never the query, nor a token that strayed into the path. */
export function requestLine(exchange: Exchange, status: number): string {
  const { request, requestId, path, caller, clientAddress, startedAt } = exchange;
  const ms = Math.round((performance.now() - startedAt) * 1000) / 1000;
  const token = caller === undefined ? "" : `,"token":"${caller.id}"`;
  const client = clientAddress === undefined ? "" : `,"client":"${clientAddress}"`;
  return `{"level":30,"time":"${timeNow()}","requestId":"${requestId}","method":"${request.method}","path":"${plain(path)}","status":${status},"ms":${ms}${token}${client}}\n`;
}
