// The groups of NDJSON lines are read and written in their order.

import assert from "node:assert/strict";
import { it } from "node:test";
import { type BulkLine, type LineReader, NdjsonLines } from "../../src/http/body/bulk-lines.ts";
import {
  BulkPipeline,
  groupsBeside,
  smallGroups,
  writeGroups,
} from "../../src/http/body/bulk-pipeline.ts";
import { workOf } from "../../src/http/body/bulk-results.ts";
import { MemoryBudget, Reservation } from "../../src/lib/memory-budget.ts";
import { eachInTurns, turnBytes } from "../../src/lib/turns.ts";
import { largestTurn, turnsOf } from "../turns-of.ts";

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
    const isNextRead = () => events.includes(`reads ${Math.min(2, group + 1) * 500 + 1}`);
    while (waiting.length === 0 || !isNextRead())
      await new Promise((resolve) => setImmediate(resolve));
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
    () => ({ lines: chunks, bytes: 2 ** 30, isEager: false }),
  );
  const texts: unknown[] = [];
  const results = pipeline.results(content(), new NdjsonLines(2 * turnBytes));
  const turns = await turnsOf(async () => {
    for await (const result of results) texts.push(result);
  });
  assert.deepEqual(texts, [`${chunks} `]);
  assert.ok(turns >= chunks - 1, `${turns} turns`);
});

it("groups are small while other requests are answered, and large when none are", async () => {
  let answered = 7;
  const sizes: number[] = [];
  const pipeline = new BulkPipeline(
    {
      read: async (lines) => lines.length,
      async write(count) {
        sizes.push(count);
        // Others are answered while the groups from the second to the fifth are stored.
        if (sizes.length > 1 && sizes.length < 6) answered++;
        return "-";
      },
    },
    new Reservation(new MemoryBudget(2 ** 30)),
    groupsBeside(() => answered),
  );
  async function* content() {
    yield Buffer.from("{}\n".repeat(5_000));
  }
  for await (const _ of pipeline.results(content(), new NdjsonLines(1_000)));
  const { lines: large } = writeGroups;
  const { lines: small } = smallGroups;
  assert.equal(
    sizes.reduce((sum, size) => sum + size, 0),
    5_000,
  );
  assert.deepEqual(sizes.slice(0, 2), [large, large]);
  const firstSmall = sizes.indexOf(small);
  assert.ok(firstSmall > 1 && firstSmall <= 4, sizes.join(" "));
  assert.deepEqual(sizes.slice(firstSmall, firstSmall + 4), [small, small, small, small]);
  assert.ok(
    sizes.slice(firstSmall + 4, -1).every((size) => size === large),
    sizes.join(" "),
  );
});

/** Bodies that arrive in one chunk, as when the server was busy meanwhile. */
const bodies = {
  "many small lines": "{}\n".repeat(100_000),
  "lines of some hundred bytes": `{"a":"${"x".repeat(200)}"}\n`.repeat(5_000),
  "few large lines": `{"a":"${"x".repeat(300_000)}"}\n`.repeat(8),
};

for (const [title, body] of Object.entries(bodies)) {
  const longest = body.indexOf("\n") + 1;
  const content = async function* () {
    yield Buffer.from(body);
  };
  const consume = async (
    reader: LineReader,
    read: (lines: readonly BulkLine[]) => Promise<void>,
  ) => {
    const work = {
      read: (lines: readonly BulkLine[]) => read(lines).then(() => lines.length),
      write: async (count: number) => `${count} `,
    };
    const memory = new Reservation(new MemoryBudget(2 ** 30));
    let text = "";
    for await (const result of new BulkPipeline(work, memory).results(content(), reader))
      text += result;
    const counts = text.trim().split(" ").map(Number);
    assert.equal(
      counts.reduce((sum, count) => sum + count, 0),
      body.length / longest,
    );
  };

  it(`a turn splits only a part of ${title}`, async () => {
    const largest = await largestTurn((note) => {
      const reader = new NdjsonLines(2 ** 20);
      const add = reader.add.bind(reader);
      reader.add = (chunk) => {
        note(chunk.length);
        return add(chunk);
      };
      return consume(reader, async () => undefined);
    });
    assert.ok(largest <= turnBytes, `${largest} bytes`);
  });

  it(`a turn reads only a part of ${title}`, async () => {
    const largest = await largestTurn((note) =>
      consume(new NdjsonLines(2 ** 20), (lines) =>
        eachInTurns(lines, workOf, (line) => note(workOf(line))),
      ),
    );
    assert.ok(largest <= turnBytes + workOf({ size: longest } as BulkLine), `${largest} bytes`);
  });
}
