// Runs an application on our own HTTP/1.1 with a fake socket, with choices that a seed repeats.

import assert from "node:assert/strict";
import type { MaybePromise } from "../../../src/lib/maybe-promise.ts";
import type { Reply } from "../../../src/lib/reply.ts";
import { Http1Server } from "../../../src/runtime/http1/server.ts";
import { newSeed, randomNumbers } from "../../seeds.ts";
import { replyFrom, replying, responseOf } from "../web-reply.ts";
import { FakeSocket, type SocketOptions, turn } from "./fake-socket.ts";
import { Choices } from "./random-requests.ts";

/** Small, so that random requests reach it. */
export const maxHeaderBytes = 600;

/** Runs a test with choices that a seed repeats. */
export async function repeat(
  name: string,
  count: number,
  act: (choices: Choices) => Promise<void>,
): Promise<void> {
  const seed = newSeed(name);
  for (let run = 0; run < count; run++) {
    try {
      await act(new Choices(randomNumbers(seed + run)));
    } catch (cause) {
      throw new Error(`RESTANTE_TEST_SEED=${seed + run}`, { cause });
    }
  }
}

export type Fetch = (request: Request) => MaybePromise<Response | Reply>;

export interface Outcome {
  readonly socket: FakeSocket;
  /** What was sent before the client ended. */
  readonly sentBefore: Buffer;
}

export interface TalkOptions extends SocketOptions {
  /** Whether the next packet arrives in the same turn. */
  readonly isHasty?: (() => boolean) | undefined;
  /** Whether the client closes its sending side right after the last packet. */
  readonly endsEarly?: boolean;
}

/** Sends packets to an application, then ends the connection. */
export async function talk(
  packets: readonly Buffer[],
  fetch: Fetch,
  options: TalkOptions = {},
): Promise<Outcome> {
  const served = { scheme: "http", maxHeaderBytes, errorResponse } as const;
  const server = new Http1Server({ ...served, fetch: replying(fetch) });
  const socket = new FakeSocket(server, options);
  for (const packet of packets) {
    await socket.receive(packet);
    if (options.isHasty?.() !== true) await turn();
  }
  if (options.endsEarly !== true) await socket.settle();
  const sentBefore = socket.sent;
  await socket.end();
  await socket.settle();
  await server.stop(0);
  assert.deepEqual(socket.mistakes, []);
  assert.ok(socket.isClosed);
  return { socket, sentBefore };
}

export const errorResponse = (status: number, detail: string): Reply =>
  replyFrom(responseOf(detail, { status }));
