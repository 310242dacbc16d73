// Our own HTTP/1.1 with applications and sockets of every kind, and clients that leave at any moment.
// @runtimes both

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Http1Server } from "../../src/runtime/http1/server.ts";
import { runs, within } from "../seeds.ts";
import { FakeSocket, turn } from "./http1/fake-socket.ts";
import { contentOf, type Handled, RandomApplication } from "./http1/random-application.ts";
import {
  type Choices,
  inPackets,
  type RandomRequest,
  randomRequests,
} from "./http1/random-requests.ts";
import { readResponses, type SentResponse } from "./http1/responses.ts";
import { errorResponse, maxHeaderBytes, repeat, talk } from "./http1/talk.ts";
import { replying } from "./web-reply.ts";

const served = { scheme: "http", maxHeaderBytes, errorResponse } as const;

/** Without those for the whole server, which the application does not get. */
const requestsOf = (choices: Choices): RandomRequest[] =>
  randomRequests(choices).filter(({ url }) => url !== undefined);

const streamOf = (requests: readonly RandomRequest[]): Buffer =>
  Buffer.concat(requests.map(({ bytes }) => bytes));

/** A socket that takes all, one byte at a time, or any number. */
function randomTake(choices: Choices): (bytes: number) => number {
  const way = choices.below(3);
  if (way === 0) return (bytes) => bytes;
  return (bytes) => (way === 1 ? choices.of([0, 1, 7, 500]) : choices.below(bytes + 1));
}

/** Whether a socket keeps some of what it takes. */
function randomKeeps(choices: Choices): (() => boolean) | undefined {
  return choices.isTrue(0.5) ? () => choices.isTrue(0.5) : undefined;
}

function checkContent(handled: Handled, response: SentResponse | undefined): void {
  assert.equal(response?.status, handled.status);
  const content = contentOf(handled);
  if (content !== undefined) assert.deepEqual(Buffer.from(response.body), Buffer.from(content));
}

describe("any application", () => {
  it("gets each request, and its responses are sent in order", within(300_000), () =>
    repeat("applications", runs(60, 40_000), async (choices) => {
      const requests = requestsOf(choices);
      const application = new RandomApplication(choices);
      const isHasty = choices.isTrue(0.5) ? () => choices.isTrue(0.7) : undefined;
      const closesLater = choices.isTrue(0.5);
      const take = randomTake(choices);
      const packets = inPackets(choices, streamOf(requests));
      const keeps = randomKeeps(choices);
      const options = { isHasty, closesLater, take, keeps, endsEarly: choices.isTrue(0.3) };
      const { socket } = await talk(packets, application.fetch, options);
      const { handled, pending } = application;
      assert.equal(pending, 0, "pending promises");
      const methods = requests.map(({ method }) => method);
      const responses = readResponses(socket.sent, methods);
      assert.equal(responses.length, handled.length);
      for (const [index, each] of handled.entries())
        checkResponse(each, requests[index], responses[index]);
      const last = responses.at(-1)?.fields.get("connection");
      if (last !== "close") assert.equal(handled.length, requests.length);
    }),
  );

  function checkResponse(
    handled: Handled,
    request: RandomRequest | undefined,
    response: SentResponse | undefined,
  ): void {
    assert.ok(request !== undefined && response !== undefined);
    const { body, status, stream } = handled;
    assert.equal(handled.url, request.url);
    assert.equal(handled.method, request.method);
    assert.deepEqual(
      Object.fromEntries(handled.request.headers),
      Object.fromEntries(request.fields),
    );
    if (body !== undefined) assert.deepEqual(body, request.body);
    checkContent(handled, response);
    if (status !== 500) assert.equal(response.fields.get("x-bytes"), "\xe4\x80\xff");
    assert.notEqual(stream, "open");
    const closes = response.fields.get("connection") === "close";
    const isUnread = request.fields.some(([name]) => /^(content-length|transfer-)/.test(name));
    const isEndless = request.minor === 0 && handled.answer === "stream";
    const mayClose =
      isEndless || (isUnread && handled.reading !== "all" && handled.reading !== "stream");
    if (request.isLast) assert.ok(closes);
    else if (!closes && request.minor === 0)
      assert.equal(response.fields.get("connection"), "keep-alive");
    else if (closes) assert.ok(mayClose, `closed after ${handled.reading}`);
  }
});

describe("a client that leaves", () => {
  it("at any moment leaves nothing behind", within(300_000), () =>
    repeat("leaving clients", runs(60, 40_000), async (choices) => {
      const application = new RandomApplication(choices);
      const { fetch } = application;
      const server = new Http1Server({ ...served, fetch: replying(fetch) });
      const take = randomTake(choices);
      const keeps = randomKeeps(choices);
      const socket = new FakeSocket(server, { closesLater: choices.isTrue(0.5), take, keeps });
      await leave(choices, socket, streamOf(requestsOf(choices)));
      const stopping = choices.isTrue(0.3) ? server.stop(0) : undefined;
      await socket.settle();
      await (stopping ?? server.stop(0));
      await socket.settle();
      assert.deepEqual(socket.mistakes, []);
      assert.ok(socket.isClosed);
      checkEnds(application, socket);
    }),
  );

  async function leave(choices: Choices, socket: FakeSocket, stream: Buffer): Promise<void> {
    const packets = inPackets(choices, stream);
    const count = choices.below(packets.length + 1);
    for (const packet of packets.slice(0, count)) {
      await socket.receive(packet);
      if (choices.isTrue(0.5)) await turn();
    }
    for (let turns = choices.below(6); turns > 0; turns--) {
      await turn();
      if (socket.isFull && choices.isTrue(0.5)) socket.drain();
    }
    if (choices.isTrue(0.5)) socket.reset();
    else await socket.end();
  }

  function checkEnds({ handled, pending }: RandomApplication, { sent }: FakeSocket): void {
    assert.equal(pending, 0, "pending promises");
    for (const { stream } of handled) assert.notEqual(stream, "open");
    // All but the last were answered, or else it would not have been handled.
    for (const { request } of handled.slice(0, -1)) assert.equal(request.signal.aborted, false);
    const last = handled.at(-1);
    if (last === undefined) return;
    const isSent = isWhole(sent, handled);
    const { aborted } = last.request.signal;
    if (!isSent) assert.ok(aborted, "not aborted");
    // The end of a stream may be unknown when all of its bytes were sent.
    else if (last.stream === "none") assert.ok(!aborted, "aborted");
  }

  /** Whether the responses to all requests were sent as a whole, and not an error instead. */
  function isWhole(sent: Buffer, handled: readonly Handled[]): boolean {
    const methods = handled.map(({ method }) => method);
    try {
      // An error that follows them may be cut off.
      const responses = readResponses(sent, methods, handled.length);
      return (
        responses.length === handled.length && responses.at(-1)?.status === handled.at(-1)?.status
      );
    } catch {
      return false;
    }
  }
});

describe("a server that stops", () => {
  it("at any moment sends the responses of the requests that it has begun", within(300_000), () =>
    repeat("stopping servers", runs(40, 40_000), async (choices) => {
      const application = new RandomApplication(choices);
      const { fetch, handled } = application;
      const server = new Http1Server({ ...served, fetch: replying(fetch) });
      const take = randomTake(choices);
      const keeps = randomKeeps(choices);
      const socket = new FakeSocket(server, { closesLater: choices.isTrue(0.5), take, keeps });
      const requests = requestsOf(choices);
      const packets = inPackets(choices, streamOf(requests));
      const moment = choices.below(packets.length + 1);
      let stopped: Promise<void> | undefined;
      for (const [index, packet] of packets.entries()) {
        if (index === moment) stopped = server.stop(3_600_000);
        await socket.receive(packet);
        if (choices.isTrue(0.5)) await turn();
      }
      await socket.settle();
      stopped ??= server.stop(3_600_000);
      await socket.end();
      await stopped;
      assert.deepEqual(socket.mistakes, []);
      assert.equal(application.pending, 0, "pending promises");
      const methods = requests.map(({ method }) => method);
      const responses = readResponses(socket.sent, methods);
      // A request that was cut off by the end of the connection may get an error.
      assert.ok(responses.length >= handled.length);
      for (const [index, each] of handled.entries())
        if (!each.request.signal.aborted) checkContent(each, responses[index]);
    }),
  );
});
