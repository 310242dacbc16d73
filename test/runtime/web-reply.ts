// Lets the application of a test return a Reply, or a Response whose body is known or a stream.

import type { Client, Fetch } from "../../src/lib/client.ts";
import { type MaybePromise, then } from "../../src/lib/maybe-promise.ts";
import { type Reply, ReplyFields, replyOf, SharedFields } from "../../src/lib/reply.ts";

type KnownBody = string | Uint8Array<ArrayBuffer>;

const knownBodies = new WeakMap<Response, KnownBody>();

/** Creates a Response whose body is known. */
export function responseOf(body: KnownBody, init: ResponseInit = {}): Response {
  const response = new Response(body, init);
  knownBodies.set(response, body);
  return response;
}

export function replyFrom(response: Response): Reply {
  const { status, headers, body } = response;
  const fields = new ReplyFields(new SharedFields([]));
  for (const [name, value] of headers) fields.set(name, value);
  return replyOf(status, fields, knownBodies.get(response) ?? body);
}

export type WebFetch = (request: Request, client: Client) => MaybePromise<Response | Reply>;

/** Returns what a server calls. */
export const replying =
  (fetch: WebFetch): Fetch =>
  (request, client) =>
    then(fetch(request, client), (answer) =>
      answer instanceof Response ? replyFrom(answer) : answer,
    );
