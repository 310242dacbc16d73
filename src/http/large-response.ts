// Sends large answers in slices, and counts their bytes until the client has taken the last one.

import { type MemoryBudget, Reservation } from "../lib/memory-budget.ts";
import type { RequestContext } from "./context.ts";

/** Answers up to this size go out as they are and are not counted. */
export const smallAnswerBytes = 65_536;

const sliceBytes = 262_144;

interface AnswerInit {
  readonly status?: number;
  readonly headers: Headers;
}

/** The header fields of a large answer are copied, because its length is added to them. */
export function responseOf(
  context: RequestContext,
  body: string | Uint8Array<ArrayBuffer> | null,
  init: AnswerInit,
): Response {
  if (body === null || body.length <= smallAnswerBytes) return new Response(body, init);
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  const headers = new Headers(init.headers);
  headers.set("content-length", String(bytes.byteLength));
  return new Response(slicesOf(context, bytes), { ...init, headers });
}

function slicesOf(context: RequestContext, bytes: Uint8Array): ReadableStream<Uint8Array> {
  const release = holdWhileSent(context, bytes.byteLength);
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
 * Counts bytes of an answer, whether there is room or not. The function that is returned ends that;
 * so does the client when it leaves, because then a runtime may never ask for the body.
 */
function holdWhileSent({ services, request }: RequestContext, bytes: number): () => void {
  return releasedOnAbort(request, forced(services.memory, bytes));
}

function forced(memory: MemoryBudget, bytes: number): () => void {
  let isHeld = true;
  memory.add(bytes);
  return () => {
    if (isHeld) memory.release(bytes);
    isHeld = false;
  };
}

/** Holds memory for an answer that is made while it is sent; undefined when there is no room. */
export function reserveWhileSent(
  { services, request }: RequestContext,
  bytes: number,
): (() => void) | undefined {
  const memory = new Reservation(services.memory);
  if (!memory.take(bytes)) return undefined;
  return releasedOnAbort(request, () => memory.release());
}

export function releasedOnAbort({ signal }: Request, release: () => void): () => void {
  if (signal.aborted) release();
  else signal.addEventListener("abort", release, { once: true });
  return release;
}
