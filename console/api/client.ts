// Sends requests to the API of this server. Every screen uses it, so whatever the console does a script can do.

import { reportLoss } from "./connection.ts";
import type { Json } from "./json.ts";
import { offline, readProblem } from "./problem.ts";
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

/** Returns the response to a request that succeeded; throws a `Problem` otherwise. With another token it is sent again. */
export async function send(request: ApiRequest, signal?: AbortSignal): Promise<Response> {
  const secret = token.peek();
  const response = await fetchOf(request, signal);
  if (response.ok || response.status === 304) return response;
  if (response.status === 401 && secret && (await renewToken(secret))) return send(request, signal);
  if (response.status === 503) reportLoss("restarting", readyUrl);
  throw await readProblem(response);
}

async function fetchOf(request: ApiRequest, signal?: AbortSignal): Promise<Response> {
  const { method, path } = request;
  const init = { method, headers: signedHeaders(request), body: bodyOf(request) ?? null };
  try {
    // What is deleted while the page is left is sent, too. A browser does so with little bodies only.
    const keepalive = method === "DELETE";
    const more = { ...(signal && { signal }), keepalive, cache: "no-cache" } as const;
    return await fetch(urlOf(path), { ...init, ...more });
  } catch (error) {
    if (signal?.aborted) throw error;
    reportLoss("offline", readyUrl);
    throw offline();
  }
}

/** Returns the JSON of a response. */
export async function fetchJson<Body>(request: ApiRequest, signal?: AbortSignal): Promise<Body> {
  const response = await send(request, signal);
  return (await response.json()) as Body;
}

export const get = <Body>(path: string, signal?: AbortSignal): Promise<Body> =>
  fetchJson<Body>({ method: "GET", path }, signal);

/** A resource with its ETag, for `If-Match`. */
export interface Tagged<Body> {
  readonly body: Body;
  readonly etag: string;
}

export async function getTagged<Body>(path: string, signal?: AbortSignal): Promise<Tagged<Body>> {
  const response = await send({ method: "GET", path }, signal);
  const body = (await response.json()) as Body;
  return { body, etag: response.headers.get("etag") ?? "" };
}
