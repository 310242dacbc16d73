// Sends large responses in slices, and counts their bytes until the client has read them.

import { type MemoryBudget, Reservation } from "../../lib/memory-budget.ts";
import type { RequestContext } from "../request/context.ts";

/** Responses up to this size are sent as they are and are not counted. */
export const smallResponseBytes = 65_536;

const sliceBytes = 262_144;

interface ResponseInit {
  readonly status?: number;
  readonly headers: Headers;
}

/** Copies the headers of a large response, because its length is added to them. */
export function createResponse(
  context: RequestContext,
  body: string | Uint8Array<ArrayBuffer> | null,
  init: ResponseInit,
): Response {
  if (body === null || body.length <= smallResponseBytes) return new Response(body, init);
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  const headers = new Headers(init.headers);
  headers.set("content-length", String(bytes.byteLength));
  return new Response(slicesOf(context, bytes), { ...init, headers });
}

function slicesOf(context: RequestContext, bytes: Uint8Array): ReadableStream<Uint8Array> {
  const release = countWhileSent(context, bytes.byteLength);
  let position = 0;
  return new ReadableStream(
    {
      pull(controller) {
        // A client that reads slowly is not idle.
        context.extendTimeout();
        controller.enqueue(bytes.subarray(position, position + sliceBytes));
        position += sliceBytes;
        if (position < bytes.byteLength) return;
        controller.close();
        release();
      },
      cancel: release,
    },
    { highWaterMark: 0 },
  );
}

/**
 * Counts the bytes of a response even when the budget is used up. The returned function releases
 * them; so does an abort, because then a runtime may never read the body.
 */
function countWhileSent({ services, request }: RequestContext, bytes: number): () => void {
  return releaseOnAbort(request, addForced(services.memory, bytes));
}

function addForced(memory: MemoryBudget, bytes: number): () => void {
  let isHeld = true;
  memory.add(bytes);
  return () => {
    if (isHeld) memory.release(bytes);
    isHeld = false;
  };
}

/** Reserves memory for a streamed response; returns undefined when the budget is used up. */
export function reserveWhileSent(
  { services, request }: RequestContext,
  bytes: number,
): (() => void) | undefined {
  const memory = new Reservation(services.memory);
  if (!memory.take(bytes)) return undefined;
  return releaseOnAbort(request, () => memory.release());
}

export function releaseOnAbort({ signal }: Request, release: () => void): () => void {
  if (signal.aborted) release();
  else signal.addEventListener("abort", release, { once: true });
  return release;
}
