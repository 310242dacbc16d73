// Serves a trivial application on the real runtime, and records what reaches it.

import { serve } from "#runtime";
import type { ServeOptions, Server } from "../../src/runtime/runtime.ts";

import { replyFrom, replying, responseOf, type WebFetch } from "./web-reply.ts";

export const isBun = process.versions.bun !== undefined;

export const maxHeaderBytes = 16_384;

/** What the application received. It returns this as JSON. */
export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly peerAddress: string;
  readonly body: string;
}

export interface TestServer extends Server {
  /** "METHOD url" of every request that reached the application, in order. */
  readonly reached: string[];
  /** Why reading a body failed, in order. */
  readonly bodyErrors: unknown[];
  /** The calls of `errorResponse`, in order. */
  readonly errors: { status: number; detail: string; cause: unknown }[];
}

/** Serves `fetch`, or an application that reads the body and returns what it received. */
export async function start(
  fetch?: WebFetch,
  more: Partial<ServeOptions> = {},
): Promise<TestServer> {
  const reached: string[] = [];
  const bodyErrors: unknown[] = [];
  const errors: TestServer["errors"] = [];
  const echo: WebFetch = async (request, client) => {
    try {
      const seen: SeenRequest = {
        method: request.method,
        url: request.url,
        headers: Object.fromEntries(request.headers),
        peerAddress: client.peerAddress(),
        body: await request.text(),
      };
      return responseOf(JSON.stringify(seen), { headers: { "content-type": "application/json" } });
    } catch (error) {
      bodyErrors.push(error);
      throw error;
    }
  };
  const server = await serve({
    host: "127.0.0.1",
    port: 0,
    maxHeaderBytes,
    ...more,
    fetch: replying((request, client) => {
      reached.push(`${request.method} ${request.url}`);
      return (fetch ?? echo)(request, client);
    }),
    errorResponse: (status, detail, cause) => {
      errors.push({ status, detail, cause });
      const headers = { "content-type": "application/problem+json" };
      return replyFrom(responseOf(JSON.stringify({ status, detail }), { status, headers }));
    },
  });
  return { ...server, reached, bodyErrors, errors };
}
