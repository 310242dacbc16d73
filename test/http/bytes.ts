// Requests and answers as they are on the wire: no client in between that codes, decodes or asks for it.

import { once } from "node:events";
import { type IncomingMessage, request as send } from "node:http";
import { buffer } from "node:stream/consumers";
import type { TestApp } from "./app.ts";
import type { Answer } from "./expect.ts";

export interface Exact extends Answer {
  readonly bytes: Buffer;
}

type Fields = Readonly<Record<string, string>>;

export interface Sent {
  readonly method?: string;
  readonly headers?: Fields;
  /** All at once with its length, or in pieces. */
  readonly body?: string | Uint8Array | Iterable<string | Uint8Array>;
  /** The admin's unless told otherwise; null sends none. */
  readonly token?: string | null;
}

/** Sends the request, and gives the answer as soon as it begins. */
export async function begin(app: TestApp, path: string, sent: Sent): Promise<IncomingMessage> {
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

export async function exactly(app: TestApp, path: string, sent: Sent = {}): Promise<Exact> {
  const response = await begin(app, path, sent);
  const bytes = await buffer(response);
  const headers = new Headers();
  for (const [name, value] of Object.entries(response.headers)) {
    for (const one of [value ?? []].flat()) headers.append(name, one);
  }
  return { status: response.statusCode ?? 0, headers, bytes, body: bytes.toString() };
}
