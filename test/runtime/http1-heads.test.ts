// Header sections that repeat lines of the one before: they are read as if there had been none.
// @runtimes both

import assert from "node:assert/strict";
import { it } from "node:test";
import { isError } from "../../src/runtime/http1/http-errors.ts";
import { parseHead, type RequestHead } from "../../src/runtime/http1/request-head.ts";
import fc from "../fast-check.ts";
import { runs, within } from "../seeds.ts";

const options = { maxHeaderBytes: 4_096, scheme: "http" } as const;

const credentials = fc.constantFrom(
  "Authorization: Bearer a1",
  "Authorization: Bearer b1",
  "Authorization: Bearer X1",
  "Authorization: Bearer ab",
  "authorization:\tBearer c1 ",
  "Authorization: Bearer d ",
  "Authorization:  Bearer e",
  "Authorization: Basic cde=",
  "Authorization: Bearer \x01f",
  "Authorization: Bearer \x7ff",
  "Authorization: Bearer g\r",
  "Authorization: Bearer \xe9",
  "Authorization:",
);

const line = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom("Host: a", "Accept: */*", "X: 1", "X: 12", "X: 1 ", "x:\t1"),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom("Host: a:80", "Cookie: a=1", "Cookie: b=2", "X:", "Y: \xff"),
  },
  { weight: 3, arbitrary: credentials },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      "Content-Length: 0",
      "Transfer-Encoding: chunked",
      "Connection: close",
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom("Host: b b", "no colon", " folded: 1", "X: 1\r", "X: \n1", "X : 1"),
  },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 1, max: 3_000 }).map((size) => `L: ${"l".repeat(size)}`),
  },
);

/** What the last request may leave out, repeat, change or add. */
const unlike = fc.array(fc.array(line, { maxLength: 40 }), { minLength: 2, maxLength: 6 });

/** Each has one line that the one before does not have. */
const alike = fc
  .tuple(
    fc.array(line, { maxLength: 3 }),
    fc.array(line, { maxLength: 2 }),
    fc.array(fc.tuple(fc.nat(6), fc.oneof(line, { weight: 3, arbitrary: credentials })), {
      minLength: 1,
      maxLength: 5,
    }),
  )
  .map(([before, after, changes]) => {
    const place = before.length + 1;
    const all = [["Host: a", ...before, "Authorization: Bearer a1", ...after]];
    for (const [at, changed] of changes) {
      const index = changed.toLowerCase().startsWith("authorization") ? place : at;
      all.push((all.at(-1) ?? []).map((same, other) => (other === index ? changed : same)));
    }
    return all;
  });

const sections = fc.oneof(unlike, alike);

const requestLine = fc.constantFrom(
  "GET /a HTTP/1.1",
  "GET /b HTTP/1.1",
  "POST http://c/ HTTP/1.1",
);

const described = (head: ReturnType<typeof parseHead>) =>
  isError(head)
    ? head
    : { ...head, fields: { ...head.fields, lines: [], headers: [...head.fields.headers] } };

it("a header section means the same after any other", within(300_000), () => {
  const firstLines = fc.oneof(
    requestLine.map((same) => new Array<string>(6).fill(same)),
    fc.array(requestLine, { minLength: 6, maxLength: 6 }),
  );
  fc.assert(
    fc.property(sections, firstLines, (all, first) => {
      let last: RequestHead | undefined;
      for (const [index, lines] of all.entries()) {
        const text = [first[index] ?? "", ...lines].join("\r\n");
        const head = parseHead(text, options, last);
        assert.deepEqual(described(head), described(parseHead(text, options, undefined)));
        last = isError(head) ? last : head;
      }
    }),
    { numRuns: runs(1_000, 50_000) },
  );
});
