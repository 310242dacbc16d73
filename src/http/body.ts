// Reading a request's body, within its limit.

import { Problem } from "../model/problem.ts";
import type { Exchange } from "./exchange.ts";

/** The whole body; refused by its Content-Length before reading, and by counting while reading. */
export async function readBody(exchange: Exchange): Promise<Uint8Array | Problem> {
  const { request, house } = exchange;
  const declared = request.headers.get("content-length");
  if (declared !== null) {
    if (Number(declared) > house.maxBodyBytes) return tooLarge(house.maxBodyBytes);
    return new Uint8Array(await request.arrayBuffer());
  }
  return request.body === null ? new Uint8Array() : readStream(request.body, house.maxBodyBytes);
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
