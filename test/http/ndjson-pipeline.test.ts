// The groups of NDJSON lines are read and written in their order.

import assert from "node:assert/strict";
import { it } from "node:test";
import { NdjsonLines } from "../../src/http/body/bulk-lines.ts";
import { BulkPipeline } from "../../src/http/body/bulk-pipeline.ts";
import { MemoryBudget, Reservation } from "../../src/lib/memory-budget.ts";
import { turnBytes } from "../../src/lib/turns.ts";
import { turnsOf } from "../turns-of.ts";

it("a group of lines is read while the one before it is written, and written when that is stored", async () => {
  const events: string[] = [];
  const waiting: (() => void)[] = [];
  const pipeline = new BulkPipeline(
    {
      async read(lines) {
        const first = lines[0]?.number;
        events.push(`reads ${first}`);
        return first;
      },
      async write(first) {
        events.push(`begins ${first}`);
        await new Promise<void>((resolve) => waiting.push(resolve));
        events.push(`ends ${first}`);
        return `${first} `;
      },
    },
    new Reservation(new MemoryBudget(2 ** 30)),
  );
  async function* content() {
    yield Buffer.from("{}\n".repeat(1_200));
  }
  let text = "";
  const read = (async () => {
    for await (const result of pipeline.results(content(), new NdjsonLines(1_000))) text += result;
  })();
  for (let group = 0; group < 3; group++) {
    while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));
    waiting.shift()?.();
  }
  await read;
  assert.equal(text, "1 501 1001 ");
  const groups = [1, 501, 1001];
  assert.deepEqual(
    events.filter((event) => event.startsWith("reads")),
    groups.map((first) => `reads ${first}`),
  );
  assert.deepEqual(
    events.filter((event) => !event.startsWith("reads")),
    groups.flatMap((first) => [`begins ${first}`, `ends ${first}`]),
  );
  assert.ok(events.indexOf("reads 501") < events.indexOf("ends 1"));
  assert.ok(events.indexOf("reads 1001") < events.indexOf("ends 501"));
});

it("a body that has arrived is read in turns of the event loop", async () => {
  const chunks = 50;
  async function* content() {
    for (let chunk = 0; chunk < chunks; chunk++) yield Buffer.from(`{}${" ".repeat(turnBytes)}\n`);
  }
  const pipeline = new BulkPipeline(
    { read: async (lines) => lines, write: async (lines) => `${lines.length} ` },
    new Reservation(new MemoryBudget(2 ** 30)),
    { lines: chunks, bytes: 2 ** 30, isEager: false },
  );
  const texts: unknown[] = [];
  const results = pipeline.results(content(), new NdjsonLines(2 * turnBytes));
  const turns = await turnsOf(async () => {
    for await (const result of results) texts.push(result);
  });
  assert.deepEqual(texts, [`${chunks} `]);
  assert.ok(turns >= chunks - 1, `${turns} turns`);
});
