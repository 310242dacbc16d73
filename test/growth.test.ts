// The steps of a request grow linearly with its length: counted at n, 2n and 4n.
// @tier all

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { newSeed, runs } from "./seeds.ts";

/** Only Node counts steps. The parsers are the same on Bun. */
const node =
  "bun" in process.versions
    ? fileURLToPath(new URL("../node_modules/.bin/node", import.meta.url))
    : process.execPath;
const program = fileURLToPath(new URL("growth.ts", import.meta.url));

type Counted = readonly [what: string, unit: string, at: number, ...steps: number[]];

/** Twice the text takes twice the steps; what is the same for all requests makes it less. */
const isSlow = ([, , , few = 0, some = 0, many = 0]: Counted): boolean =>
  some > 2.5 * few + 1_000 || many > 2.5 * some + 1_000;

describe("the steps of a request", () => {
  it("grow linearly with its length, whatever is repeated", () => {
    const seed = newSeed("growth");
    const { stdout, stderr, status } = spawnSync(
      node,
      ["--disable-warning=ExperimentalWarning", program, `${seed}`, `${runs(50, 20_000)}`],
      { encoding: "utf8", maxBuffer: 1e8 },
    );
    assert.equal(status, 0, stderr);
    const lines = stdout.trim().split("\n");
    const counted = lines.map((line): Counted => JSON.parse(line));
    assert.ok(counted.length > 30, `only ${counted.length} were counted`);
    // Two slow ones are there to show that they are found.
    assert.deepEqual(
      counted.filter(isSlow).map(([what]) => what),
      ["slowParser", "slowSearch"],
      JSON.stringify(counted.filter(isSlow)),
    );
  });
});
