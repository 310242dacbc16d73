// Random bytes to our own HTTP/1.1: which requests reach the application, and which responses are sent.
// @runtimes both

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runs, within } from "../seeds.ts";
import { progress, turn } from "./http1/fake-socket.ts";
import {
  type Choices,
  inPackets,
  mutated,
  randomBytes,
  randomRequests,
} from "./http1/random-requests.ts";
import { type Reading, type ReadRequest, readStream } from "./http1/reading.ts";
import { readResponses, type SentResponse } from "./http1/responses.ts";
import { type Fetch, maxHeaderBytes, repeat, talk } from "./http1/talk.ts";
import { responseOf } from "./web-reply.ts";

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly fields: readonly (readonly [string, string])[];
  readonly body: string;
}

const seenOf = (request: Request, body: Uint8Array): Seen => ({
  method: request.method,
  url: request.url,
  fields: [...request.headers].toSorted(byName),
  body: Buffer.from(body).toString("latin1"),
});

const byName = (one: readonly string[], other: readonly string[]): number =>
  (one[0] ?? "") < (other[0] ?? "") ? -1 : 1;

const expected = ({ method, url, fields, body }: ReadRequest): Seen => ({
  method,
  url,
  fields: fields.toSorted(byName),
  body: body.toString("latin1"),
});

/** Reads the whole body, in one of the ways there are. */
async function readBody(request: Request, way: number): Promise<Uint8Array> {
  if (way % 2 === 0) return request.bytes();
  const chunks: Uint8Array[] = [];
  for await (const chunk of request.body ?? []) {
    chunks.push(chunk);
    progress();
    if (way % 3 === 0) await turn();
  }
  return Buffer.concat(chunks);
}

describe("any bytes", () => {
  /** Compares what the server makes of a stream with the second reading of it. */
  async function check(choices: Choices, stream: Buffer): Promise<void> {
    try {
      await compare(choices, stream);
    } catch (cause) {
      throw new Error(JSON.stringify(stream.toString("latin1")), { cause });
    }
  }

  async function compare(choices: Choices, stream: Buffer): Promise<void> {
    const reading = readStream(stream, maxHeaderBytes);
    const seen: Seen[] = [];
    const cut: string[] = [];
    const fetch: Fetch = (request) => {
      const number = seen.length;
      if (request.body === null && number % 2 === 0) {
        seen.push(seenOf(request, new Uint8Array()));
        return responseOf(`${number}`, {});
      }
      return readBody(request, number).then(
        (body) => {
          seen.push(seenOf(request, body));
          return responseOf(`${number}`, {});
        },
        (error) => {
          cut.push(`${request.method} ${request.url}`);
          throw error;
        },
      );
    };
    const isHasty = choices.isTrue(0.5) ? () => choices.isTrue(0.7) : undefined;
    const packets = inPackets(choices, stream);
    const closesLater = choices.isTrue(0.5);
    const { sentBefore, socket } = await talk(packets, fetch, { isHasty, closesLater });
    assert.deepEqual(seen, reading.requests.map(expected));
    const cutOff = reading.cut === undefined ? [] : [`${reading.cut.method} ${reading.cut.url}`];
    assert.ok(cut.length === 0 || cut.join() === cutOff.join(), `cut ${cut} not ${cutOff}`);
    checkResponses(reading, sentBefore, socket.sent);
  }

  function checkResponses(reading: Reading, sentBefore: Buffer, sent: Buffer): void {
    const { requests, end, lastMethod } = reading;
    const methods = [...requests.map(({ method }) => method), lastMethod ?? ""];
    const before = readResponses(sentBefore, methods);
    const all = readResponses(sent, methods);
    const errors = all.slice(requests.length);
    if (end === "error" || end === "part") {
      assert.equal(errors.length, 1, `${end}: ${errors.length} errors`);
      assert.ok((errors[0]?.status ?? 0) >= 400);
    } else assert.equal(errors.length, 0);
    assert.deepEqual(
      all.slice(0, requests.length).map(({ status }) => status),
      requests.map(() => 200),
    );
    if (end === "error") assert.equal(before.length, all.length, "a late error");
    checkBodies(all.slice(0, requests.length), requests);
    const closing = all.findIndex(({ fields }) => fields.get("connection") === "close");
    assert.ok(closing < 0 || closing === all.length - 1, "a response after the last");
    assert.equal(closing >= 0, end !== "nothing", "Connection: close");
  }

  function checkBodies(responses: readonly SentResponse[], requests: readonly ReadRequest[]) {
    for (const [index, { method }] of requests.entries())
      assert.equal(responses[index]?.body.toString(), method === "HEAD" ? "" : `${index}`);
  }

  it("valid streams", within(300_000), async () => {
    await repeat("valid streams", runs(60, 30_000), async (choices) => {
      const requests = randomRequests(choices);
      const stream = Buffer.concat(requests.map(({ bytes }) => bytes));
      const last = requests.findIndex(({ isLast }) => isLast);
      const { requests: read } = readStream(stream, maxHeaderBytes);
      assert.deepEqual(
        read.map(expected),
        requests.slice(0, last < 0 ? requests.length : last + 1).map(expected),
      );
      await check(choices, stream);
    });
  });

  it("changed streams", within(300_000), async () => {
    await repeat("changed streams", runs(150, 100_000), (choices) => {
      const requests = randomRequests(choices);
      return check(choices, mutated(choices, Buffer.concat(requests.map(({ bytes }) => bytes))));
    });
  });

  it("noise", within(300_000), async () => {
    await repeat("noise", runs(20, 3_000), (choices) => check(choices, randomBytes(choices, 100)));
  });
});
