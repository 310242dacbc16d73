// Reading a request's body, within its limit.

import { Problem } from "../model/problem.ts";
import type { Exchange } from "./exchange.ts";

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
export function hasNoBody(headers: Headers): boolean {
  const length = headers.get("content-length");
  return (length === null || length === "0") && headers.get("transfer-encoding") === null;
}

const tooLarge = (limitBytes: number): Problem =>
  new Problem("content-too-large", `The body is over ${limitBytes} bytes. Nothing was stored.`);

/** Seldom seen by anyone but the log: who stops sending has mostly stopped listening. */
const cutOff = new Problem("malformed-request", "The body broke off. Nothing was stored.");
