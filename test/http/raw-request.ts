// Sends requests with node:http, which adds no headers and decodes no responses as fetch does.

import { once } from "node:events";
import { type IncomingMessage, request as send } from "node:http";
import { buffer } from "node:stream/consumers";
import type { TestApp } from "./app.ts";
import type { Answer } from "./expect.ts";

export interface RawResponse extends Answer {
  readonly bytes: Buffer;
}

type Fields = Readonly<Record<string, string>>;

export interface RawRequest {
  readonly method?: string;
  readonly headers?: Fields;
  /** In one piece with its length, or in chunks. */
  readonly body?: string | Uint8Array | Iterable<string | Uint8Array>;
  /** By default that of the admin; null sends none. */
  readonly token?: string | null;
}

/** Sends the request, and returns the response as soon as it begins. */
export async function beginRawRequest(
  app: TestApp,
  path: string,
  sent: RawRequest,
): Promise<IncomingMessage> {
  const { method = "GET", headers = {}, body, token = app.admin } = sent;
  const isWhole = typeof body === "string" || body instanceof Uint8Array;
  const request = send(app.url + path, {
    method,
    agent: false,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(isWhole ? { "content-length": Buffer.byteLength(body) } : {}),
      ...headers,
    },
  });
  const answered = once(request, "response");
  if (isWhole || body === undefined) request.end(body);
  else {
    for (const piece of body) request.write(piece);
    request.end();
  }
  const [response] = await answered;
  return response as IncomingMessage;
}

export async function rawRequest(
  app: TestApp,
  path: string,
  sent: RawRequest = {},
): Promise<RawResponse> {
  const response = await beginRawRequest(app, path, sent);
  const bytes = await buffer(response);
  const headers = new Headers();
  for (const [name, value] of Object.entries(response.headers)) {
    for (const one of [value ?? []].flat()) headers.append(name, one);
  }
  return { status: response.statusCode ?? 0, headers, bytes, body: bytes.toString() };
}
