// A trivial application behind the real runtime, and a record of what reached it.

import { serve } from "#runtime";
import type { Fetch, Server } from "../../src/runtime/runtime.ts";

export const isBun = process.versions.bun !== undefined;

export const maxHeaderBytes = 16_384;

/** What the application saw of one request; it answers with this as JSON. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly peerAddress: string;
  readonly body: string;
}

export interface Fixture extends Server {
  /** "METHOD url" of every request that reached the application, in order. */
  readonly reached: string[];
  /** Why reading a body failed, in order. */
  readonly bodyErrors: unknown[];
  /** What `refuse` was told, in order. */
  readonly refusals: { status: number; detail: string; cause: unknown }[];
}

/** Serves `fetch`, or an application that reads the body and tells what it saw. */
export async function start(fetch?: Fetch): Promise<Fixture> {
  const reached: string[] = [];
  const bodyErrors: unknown[] = [];
  const refusals: Fixture["refusals"] = [];
  const tell: Fetch = async (request, peerAddress) => {
    try {
      return Response.json({
        method: request.method,
        url: request.url,
        headers: Object.fromEntries(request.headers),
        peerAddress: peerAddress(),
        body: await request.text(),
      } satisfies Seen);
    } catch (error) {
      bodyErrors.push(error);
      throw error;
    }
  };
  const server = await serve({
    host: "127.0.0.1",
    port: 0,
    maxHeaderBytes,
    fetch: (request, peerAddress) => {
      reached.push(`${request.method} ${request.url}`);
      return (fetch ?? tell)(request, peerAddress);
    },
    errorResponse: (status, detail, cause) => {
      refusals.push({ status, detail, cause });
      return new Response(JSON.stringify({ status, detail }), {
        status,
        headers: { "content-type": "application/problem+json" },
      });
    },
  });
  return { ...server, reached, bodyErrors, refusals };
}
