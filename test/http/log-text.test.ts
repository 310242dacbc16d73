// The log for people: short lines, colours on a terminal only, no control characters; and sampling.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { linesAsText } from "../../src/server/log-text.ts";
import { startApp } from "./app.ts";
import { captureLog } from "./captured-log.ts";

const shown = (...lines: readonly object[]) =>
  linesAsText(lines.map((line) => `${JSON.stringify(line)}\n`).join("")).replaceAll(
    /^\d\d:\d\d:\d\d/gm,
    "12:00:00",
  );

const request = {
  ...{ level: 30, time: "2026-11-16T12:00:00.000Z", requestId: "1-a", method: "GET" },
  ...{ path: "/people", status: 200, ms: 1.234 },
};

describe("a line for people", () => {
  it("shows a request with its status, its problem and its caller", () => {
    assert.equal(shown(request), "12:00:00 200 GET /people 1.2 ms\n");
    const rejected = { ...request, status: 400, problem: "invalid-parameter", ms: 12.3 };
    assert.equal(
      shown({ ...rejected, token: "7", subject: "ann", client: "::1" }),
      "12:00:00 400 GET /people invalid-parameter 12 ms token=7 subject=ann client=::1\n",
    );
  });

  it("shows other events with their members, and an error with its stack", () => {
    const { time } = request;
    const err = { type: "Error", message: "no", stack: "Error: no\n    at x.ts:1" };
    assert.equal(
      shown(
        { level: 30, time, collection: "a", msg: "defined" },
        { level: 50, time, err, msg: "failed" },
      ),
      "12:00:00 info defined collection=a\n12:00:00 error failed\nError: no\n    at x.ts:1\n",
    );
    assert.equal(
      shown({ level: 50, time, errors: ["a.json: no", "b.ts:1: no"], msg: "failed" }),
      "12:00:00 error failed\n  a.json: no\n  b.ts:1: no\n",
    );
    assert.equal(shown({ level: 40, droppedLines: 3 }), "12:00:00 warn droppedLines=3\n");
  });

  it("lets nobody control the terminal", () => {
    const evil = "\u001b[2J\u0007\r\nfaked \u009b31m\u202e";
    const { time } = request;
    const text = shown(
      { ...request, path: evil, subject: evil, method: evil },
      { level: 50, time, [evil]: evil, msg: evil, err: { stack: evil } },
    );
    assert.doesNotMatch(stripVTControlCharacters(text).replaceAll("\n", ""), /[\p{Cc}\p{Cf}]/u);
    assert.equal(text.split("\n").length, 5, "a new line begins only in a stack");
  });
});

describe("a sample of the requests", () => {
  /** How many lines there are for so many successes, and the lines. */
  async function linesWith(logSample: number, count: number) {
    const captured = captureLog();
    const app = await startApp({ logSample }, captured.log);
    try {
      for (let turn = 0; turn < count; turn++)
        await app.direct(new Request("http://x/-/openapi.json"));
      for (let turn = 0; turn < 5; turn++) await app.direct(new Request("http://x/people/none"));
      await captured.settled();
      const lines = captured.lines().filter(({ status }) => status !== undefined);
      return {
        successes: lines.filter(({ status }) => Number(status) < 400),
        failures: lines.filter(({ status }) => Number(status) >= 400),
      };
    } finally {
      await app.stop();
    }
  }

  it("has all errors, and a share of the others that says so", async () => {
    const none = await linesWith(0, 20);
    assert.deepEqual([none.successes.length, none.failures.length], [0, 5]);
    const half = await linesWith(0.5, 400);
    assert.equal(half.failures.length, 5);
    assert.ok(
      half.successes.length > 100 && half.successes.length < 300,
      `${half.successes.length}`,
    );
    assert.ok(half.successes.every(({ sample }) => sample === 0.5));
    assert.ok(half.failures.every((line) => !("sample" in line)));
    const all = await linesWith(1, 20);
    assert.deepEqual([all.successes.length, all.failures.length], [20, 5]);
    assert.ok(all.successes.every((line) => !("sample" in line)));
  });
});
