// Sends a request as it is, and returns the answer whatever its status is.

import { type ApiRequest, bodyOf, signedHeaders, urlOf } from "./client.ts";

export interface RawAnswer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Null when it is not text. */
  readonly text: string | null;
  readonly bytes: number;
  readonly milliseconds: number;
}

const isText = (type: string): boolean => /^text\/|json|xml|javascript|linkset/.test(type);

/** Throws only when there is no answer. */
export async function tryRequest(request: ApiRequest, signal: AbortSignal): Promise<RawAnswer> {
  const { method, path } = request;
  const init = { method, headers: signedHeaders(request), body: bodyOf(request) ?? null };
  const startedAt = performance.now();
  const response = await fetch(urlOf(path), { ...init, signal, cache: "no-store" });
  const body = await response.arrayBuffer();
  const { status, statusText, headers } = response;
  return {
    ...{ status, statusText, headers: [...headers], bytes: body.byteLength },
    text: isText(headers.get("content-type") ?? "text/") ? new TextDecoder().decode(body) : null,
    milliseconds: performance.now() - startedAt,
  };
}
