// Reading a request's body: what is wrong before it is read, within its limit, and with its JSON.

import { type Draft, readDraft } from "../model/draft.ts";
import { scanJson } from "../model/json/json.ts";
import { decodeUtf8 } from "../model/json/utf8.ts";
import { Problem } from "../model/problem.ts";
import type { Exchange } from "./exchange.ts";
import { jsonTypes, refuseUnacceptable, refuseUnlessJson, type Taken } from "./media.ts";

/** Refuses by Content-Length, before a byte of the body is read. */
export function refuseTooLarge({ request, house }: Exchange): Problem | undefined {
  const declared = request.headers.get("content-length");
  return Number(declared) > house.maxBodyBytes ? tooLarge(house.maxBodyBytes) : undefined;
}

/** The whole body; what has no declared length is counted while it is read. */
export async function readBody(exchange: Exchange): Promise<Uint8Array | Problem> {
  const { request, house } = exchange;
  const refused = refuseTooLarge(exchange);
  if (refused !== undefined) return refused;
  try {
    if (request.headers.has("content-length")) return new Uint8Array(await request.arrayBuffer());
    if (request.body === null) return new Uint8Array();
    return await readStream(request.body, house.maxBodyBytes);
  } catch (thrown) {
    if (request.signal.aborted) return cutOff;
    throw thrown;
  }
}

async function readStream(
  body: ReadableStream<Uint8Array>,
  limitBytes: number,
): Promise<Uint8Array | Problem> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.byteLength;
    if (length > limitBytes) return tooLarge(limitBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}

/** Whether the framing says that there is no body at all (RFC 9112 §6.3). */
function hasNoBody(headers: Headers): boolean {
  const length = headers.get("content-length");
  return (length === null || length === "0") && headers.get("transfer-encoding") === null;
}

const tooLarge = (limitBytes: number): Problem =>
  new Problem("content-too-large", `The body is over ${limitBytes} bytes. Nothing was stored.`);

/** Seldom seen by anyone but the log: who stops sending has mostly stopped listening. */
const cutOff = new Problem("malformed-request", "The body broke off. Nothing was stored.");

/** What is wrong with a body before it is read. */
export function refuseBody(exchange: Exchange, taken: Taken): Problem | undefined {
  const { headers } = exchange.request;
  return (
    (hasNoBody(headers) ? emptyBody : undefined) ??
    refuseUnlessJson(headers, taken) ??
    refuseTooLarge(exchange) ??
    refuseUnacceptable(headers, jsonTypes)
  );
}

export function readFields(bytes: Uint8Array): Draft | Problem {
  if (bytes.byteLength === 0) return emptyBody;
  const draft = readDraft(bytes);
  return "fields" in draft ? draft : invalidBody(draft);
}

/** A body that may be any JSON value, as a patch may. */
export function readText(bytes: Uint8Array | Problem): string | Problem {
  if (bytes instanceof Problem) return bytes;
  if (bytes.byteLength === 0) return emptyBody;
  const text = decodeUtf8(bytes);
  if (typeof text !== "string") return invalidBody([text]);
  const faults = scanJson(text);
  return faults.length > 0 ? invalidBody(faults) : text;
}

export const emptyBody = new Problem("invalid-body", "The body is empty; send a JSON object.", {
  errors: [{ pointer: "", detail: "a JSON object is needed" }],
});

export const invalidBody = (errors: Problem["errors"]): Problem =>
  new Problem("invalid-body", "The body is not valid; `errors` names each fault.", {
    errors: errors ?? [],
  });
