// Progress: what a terminal shows, and what a log file gets.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatBytes, formatCount, formatSeconds, Progress } from "../../src/cli/progress.ts";

/** Records what is written. Time stands still until a test moves it. */
function recorder(isTTY: boolean, columns = 200) {
  const written: string[] = [];
  const clock = { ms: 0 };
  const output = { isTTY, columns, write: (text: string) => written.push(text) };
  return { written, clock, output, now: () => clock.ms };
}

describe("progress on a terminal", () => {
  it("draws a bar with rate and remaining time, and ends it with a summary", () => {
    const { written, clock, output, now } = recorder(true);
    const progress = new Progress({ output, now });
    const step = progress.step("people", { total: 4_000, unit: "resources" });
    assert.deepEqual(written, [
      `\rpeople: [${"-".repeat(24)}] 0 %, 0 of 4,000 resources, 0/s\x1b[K`,
    ]);
    clock.ms = 2_000;
    step.add(1_000);
    progress.note("a note");
    assert.deepEqual(written.slice(1), [
      "\r\x1b[Ka note\n",
      `\rpeople: [${"#".repeat(6)}${"-".repeat(18)}] 25 %, 1,000 of 4,000 resources, 500/s, 0:06 left\x1b[K`,
    ]);
    clock.ms = 4_000;
    step.add(3_000);
    step.done();
    step.done();
    assert.deepEqual(written.slice(3), ["\rpeople: 4,000 resources in 4.0 s (1,000/s)\x1b[K\n"]);
    progress.close();
    assert.equal(written.length, 4);
  });

  it("keeps to one line of a narrow terminal", () => {
    const { written, output, now } = recorder(true, 20);
    const progress = new Progress({ output, now });
    progress.step("people", { total: 10, unit: "lines" });
    progress.close();
    assert.deepEqual(written, ["\rpeople: 0 %, 0 of 1\x1b[K", "\n"]);
  });

  it("has a bar with --json too", () => {
    const { written, output, now } = recorder(true);
    const progress = new Progress({ output, now, isJson: true });
    progress.step("people", { unit: "lines" }).done();
    assert.equal(written.length, 2);
  });
});

describe("a bar on a terminal of 50 columns", () => {
  it("is shorter", () => {
    const { written, output, now } = recorder(true, 50);
    const progress = new Progress({ output, now });
    progress.step("people", { total: 10, unit: "lines" });
    progress.close();
    assert.deepEqual(written, [
      `\rpeople: [${"-".repeat(15)}] 0 %, 0 of 10 lines, 0/s\x1b[K`,
      "\n",
    ]);
  });
});

describe("progress in a file", () => {
  it("has a plain line for each step, without escapes", () => {
    const { written, clock, output, now } = recorder(false);
    const progress = new Progress({ output, now });
    const files = progress.step("files", { unit: "bytes" });
    clock.ms = 500;
    files.add(2_500_000);
    // The next step ends the one before.
    const people = progress.step("people", { total: 2, unit: "lines" });
    people.add(2);
    clock.ms = 1_000;
    people.done();
    assert.deepEqual(written, [
      "files: 2.5 MB in 0.5 s (5.0 MB/s)\n",
      "people: 2 lines in 0.5 s (4/s)\n",
    ]);
  });

  it("has no rate for a step that took too little time for one", () => {
    const { written, clock, output, now } = recorder(false);
    const step = new Progress({ output, now }).step("files", { unit: "files" });
    step.add(3);
    clock.ms = 99;
    step.done();
    assert.deepEqual(written, ["files: 3 files in 0.1 s\n"]);
  });

  it("has only notes with --json", () => {
    const { written, output, now } = recorder(false);
    const progress = new Progress({ output, now, isJson: true });
    progress.step("people", { unit: "lines" }).done();
    progress.note("a note");
    assert.deepEqual(written, ["a note\n"]);
  });
});

describe("formats", () => {
  it("writes counts, bytes and times", () => {
    assert.deepEqual([0, 999, 1_000, 1_234_567].map(formatCount), [
      "0",
      "999",
      "1,000",
      "1,234,567",
    ]);
    assert.deepEqual([0, 999, 1_000, 123_456, 1_500_000_000].map(formatBytes), [
      "0 bytes",
      "999 bytes",
      "1.0 kB",
      "123 kB",
      "1.5 GB",
    ]);
    assert.deepEqual([0, 5.1, 75, 3_675].map(formatSeconds), ["0:00", "0:06", "1:15", "1:01:15"]);
  });
});
