// Sends requests to the API of this server. Every screen uses it, so whatever the console does a script can do.

import { Sender } from "../../client/send.ts";
import { reportLoss } from "./connection.ts";
import type { Json } from "./json.ts";
import { renewToken, token } from "./session.ts";

/** A request as a person could send it: a path from the root of the API, and a body. */
export interface ApiRequest {
  readonly method: string;
  /** With the query string, such as `/people?limit=1`. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text is sent as it is; anything else as JSON. */
  readonly body?: Json | Blob | FormData | undefined;
}

/** The root of the API. The console is at `…/-/console`, under any prefix. */
export const root: URL = new URL("..", location.href.split("#", 1)[0]);

export const urlOf = (path: string): URL => new URL(path.slice(1), root);

const readyUrl = urlOf("/-/ready").href;
addEventListener("offline", () => reportLoss("offline", readyUrl));

const isRaw = (body: unknown): body is Blob | FormData | string =>
  typeof body === "string" || body instanceof Blob || body instanceof FormData;

/** The header fields that are sent, without the token. */
export function headersOf({ body, headers = {} }: ApiRequest): Record<string, string> {
  const isJson = body !== undefined && !isRaw(body);
  return { ...(isJson && { "Content-Type": "application/json" }), ...headers };
}

export const bodyOf = ({ body }: ApiRequest): string | Blob | FormData | undefined =>
  body === undefined || isRaw(body) ? body : JSON.stringify(body);

/** The header fields with the token. */
export function signedHeaders(request: ApiRequest): Record<string, string> {
  const secret = token.peek();
  return { ...headersOf(request), ...(secret && { Authorization: `Bearer ${secret}` }) };
}

/** Sends it again with another token, and reports a server that is lost. */
export async function fetchHere(
  url: Parameters<typeof fetch>[0],
  init: RequestInit = {},
): Promise<Response> {
  const secret = token.peek();
  // What is deleted while the page is left is sent, too. A browser does so with little bodies only.
  const keepalive = init.method === "DELETE";
  const response = await fetch(url, { ...init, keepalive, cache: "no-cache" }).catch((error) => {
    if (!init.signal?.aborted) reportLoss("offline", readyUrl);
    throw error;
  });
  if (response.status === 503) reportLoss("restarting", readyUrl);
  if (response.status !== 401 || !secret || !(await renewToken(secret))) return response;
  const headers = new Headers(init.headers);
  headers.set("Authorization", `Bearer ${token.peek()}`);
  return fetchHere(url, { ...init, headers });
}

/** Nothing is sent again by itself: the screens do so when the server is back. */
export const senderWith = (send: typeof fetchHere): Sender =>
  new Sender(root.href, { token: () => token.peek(), fetch: send as typeof fetch, retries: 0 });

const sender = senderWith(fetchHere);

/** A key is sent only where the request has one. */
const asSent = (request: ApiRequest, signal?: AbortSignal) => ({
  ...{ ...request, signal },
  headers: { "Idempotency-Key": undefined, ...request.headers },
});

/** Returns the response to a request that succeeded; throws a `Problem` otherwise. */
export const send = (request: ApiRequest, signal?: AbortSignal): Promise<Response> =>
  sender.send(asSent(request, signal));

/** Returns the JSON of a response. */
export const fetchJson = <Body>(request: ApiRequest, signal?: AbortSignal): Promise<Body> =>
  sender.json(asSent(request, signal));

export const get = <Body>(path: string, signal?: AbortSignal): Promise<Body> =>
  fetchJson<Body>({ method: "GET", path }, signal);

/** A resource with its ETag, for `If-Match`. */
export interface Tagged<Body> {
  readonly body: Body;
  readonly etag: string;
}

export const getTagged = <Body>(path: string, signal?: AbortSignal): Promise<Tagged<Body>> =>
  sender.read(asSent({ method: "GET", path }, signal), async (response) => ({
    body: (await response.json()) as Body,
    etag: response.headers.get("etag") ?? "",
  }));
