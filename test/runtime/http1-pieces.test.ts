// What is no valid request gets the same error, whole and in pieces.
// @runtimes both

import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "../fast-check.ts";
import { runs, within } from "../seeds.ts";
import { readResponses } from "./http1/responses.ts";
import { maxHeaderBytes, talk } from "./http1/talk.ts";
import { responseOf } from "./web-reply.ts";

const long = fc
  .tuple(
    fc.constantFrom(0.4, 0.9, 1, 2, 2.3),
    fc.integer({ min: -20, max: 90 }),
    fc.constantFrom("", "\0", "\r", "é", " "),
  )
  .map(([times, more, end]) => `${"l".repeat(maxHeaderBytes * times + more)}${end}`);

const text = (...words: string[]) => fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...words) });
const orLong = (common: fc.Arbitrary<string>) =>
  fc.oneof({ weight: 9, arbitrary: common }, { weight: 1, arbitrary: long });

const firstLine = fc
  .tuple(
    orLong(text("GET", "GET", "GET", "BREW", "CONNECT", "get", "G\0T", "")),
    orLong(text("/", "/", "/a", "*", "h:1", "/\0", "/é", "/\x7f", "")),
    orLong(text("HTTP/1.1", "HTTP/1.1", "HTTP/2.0", "RTSP/1.0", "HTTP/1.1\0", "HTTP/1.1 x", "x")),
    fc.constantFrom(" ", " ", " ", " ", "  ", "\t"),
  )
  .map(([method, target, version, space]) => [method, target, version].join(space));

const field = fc.oneof(
  { weight: 4, arbitrary: text("Host: a", "X: 1", "Accept: */*", "Cookie: a=1") },
  {
    weight: 2,
    arbitrary: text("no colon", " folded", "X : 1", "X: \0", "X: \r1", "X: \n1", ": 1", "X: é"),
  },
  {
    weight: 2,
    arbitrary: text(
      "Expect: a",
      "Content-Length: x",
      "Content-Length: 1",
      "Transfer-Encoding: a, chunked",
    ),
  },
  { weight: 1, arbitrary: long.map((value) => `L: ${value}`) },
  { weight: 1, arbitrary: long },
);

const section = fc
  .tuple(firstLine, fc.array(field, { maxLength: 8 }), fc.constantFrom("\r\n\r\n", "\r\n", ""))
  .map(([line, fields, end]) => Buffer.from([line, ...fields].join("\r\n") + end, "latin1"));

async function statusesOf(packets: readonly Buffer[]): Promise<string> {
  const { socket } = await talk(packets, () => responseOf("ok", {}), { isHasty: () => true });
  return readResponses(socket.sent, [])
    .map(({ status, body }) => `${status} ${body}`)
    .join();
}

it("a request that is not valid gets the same error whole and in pieces", within(300_000), () =>
  fc.assert(
    fc.asyncProperty(
      section,
      fc.array(fc.nat(3 * maxHeaderBytes), { maxLength: 3 }),
      async (bytes, cuts) => {
        const whole = await statusesOf([bytes]);
        const ends = [...cuts.filter((cut) => cut < bytes.length), bytes.length];
        ends.sort((one, other) => one - other);
        const parts = ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
        assert.equal(await statusesOf(parts), whole);
        const each = [...bytes].map((byte) => Buffer.from([byte]));
        assert.equal(await statusesOf(each), whole);
      },
    ),
    { numRuns: runs(300, 20_000) },
  ),
);
