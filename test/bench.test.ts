// Checks what the benchmark makes of its figures: verdicts, the merge of parts, the page and its pictures.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import type { FairnessLine } from "../bench/parts/fairness.ts";
import type { EngineFigures } from "../bench/parts/relations.ts";
import type { RulesLine } from "../bench/parts/rules.ts";
import type { ScenarioFigures } from "../bench/report/figures.ts";
import { median, scenarioFigures } from "../bench/report/figures.ts";
import { growthPlot } from "../bench/report/growth-plot.ts";
import { plot } from "../bench/report/plot.ts";
import { report } from "../bench/report/report.ts";
import {
  merge,
  type PartRun,
  type Results,
  readResults,
  writeResults,
} from "../bench/report/results.ts";
import { verdicts } from "../bench/report/verdicts.ts";
import { itLong } from "./short-run.ts";

const run: PartRun = {
  date: "2026-01-02",
  version: "0.1.0 abc1234",
  seconds: 60,
  machine: {
    processor: "A processor",
    cores: 2,
    memoryGb: 8,
    kernel: "Linux",
    fsync: { medianMs: 1, p99Ms: 2 },
    loadAverage: 0,
    versions: { Bun: "1.4.4" },
  },
};

const comparison = (key: string, ratioToBare: number, faults: readonly string[] = []) => {
  const rate = { lowest: 1, highest: 3, p50Ms: 1, p99Ms: 2 };
  const figures = [
    { server: "bare", requestsPerSecond: 1000, ratioToBare: 1, faults: [], ...rate },
    { server: "restante", requestsPerSecond: 1000 * ratioToBare, ratioToBare, faults, ...rate },
    { server: "pocketbase", absence: "Go is not installed" },
  ] as const;
  return { key, title: `Title of ${key}`, about: "about it", figures } satisfies ScenarioFigures;
};

const speed = (...comparisons: readonly ScenarioFigures[]): Results => ({
  speed: { ...run, figures: { comparisons, memory: undefined } },
});

const fairnessLine: FairnessLine = {
  engine: "embedded",
  heavy: "search",
  getsPerSecond: 5000,
  idle: { p50Ms: 0.2, p99Ms: 1, maxMs: 2 },
  loaded: { p50Ms: 0.3, p99Ms: 2.5, maxMs: 9 },
  done: 7,
  peakMb: 120,
  faults: [],
};

const fairness = (line: FairnessLine): Results => ({
  fairness: { ...run, figures: { share: 0.2, lines: [line], builds: [] } },
});

const growth: Results = {
  growth: {
    ...run,
    figures: {
      sizes: [10, 100, 1000],
      lines: [
        {
          engine: "postgres",
          request: "search",
          points: [10, 20, 30].map((serverUs) => ({ serverUs, databaseUs: 5 })),
          faults: [],
        },
      ],
      errors: ["embedded: it failed"],
    },
  },
};

const verdictOf = (results: Results, what: string) =>
  verdicts(results).find((verdict) => verdict.what === what);

describe("the benchmark", () => {
  it("says yes, no, or that something was not measured", () => {
    assert.equal(verdictOf(speed(comparison("get", 0.71)), "GET one")?.reached, true);
    assert.equal(verdictOf(speed(comparison("get", 0.69)), "GET one")?.reached, false);
    const missing = verdictOf(speed(), "GET one");
    assert.deepEqual([missing?.measured, missing?.reached], [undefined, false]);
  });

  it("counts no figure with faults", () => {
    const results = speed(comparison("get", 0.9, ["1 broken connections"]));
    const verdict = verdictOf(results, "GET one");
    assert.deepEqual([verdict?.measured, verdict?.reached], [undefined, false]);
    assert.match(report(results), /invalid, 1 broken connections/);
  });

  it("compares the p99 of a GET with the same when idle", () => {
    const what = "Search `w*`, which all match";
    assert.equal(verdictOf(fairness(fairnessLine), what)?.measured, 2.5);
    assert.equal(verdictOf(fairness(fairnessLine), what)?.reached, true);
    const slow = { ...fairnessLine, loaded: { ...fairnessLine.loaded, p99Ms: 3.1 } };
    assert.equal(verdictOf(fairness(slow), what)?.reached, false);
  });

  it("compares an expanded page with the plain one, and CSV with NDJSON", () => {
    const pair = { firstPerSecond: 100, lastPerSecond: 60, lastToFirst: 0.6 };
    const line: EngineFigures = {
      engine: "embedded",
      expand: { plain: { p50Ms: 1, cpuUs: 100 }, expanded: { p50Ms: 3, cpuUs: 450 } },
      csv: { ...pair, lowest: 0.6, highest: 0.6 },
      sum: { count: 1_000_000, ms: 1_500, cpuMs: 900, beside: { ...fairnessLine, heavy: "sum" } },
      faults: [],
    };
    const lines = [line, { engine: "postgres", error: "it failed" } as const];
    const results: Results = { relations: { ...run, figures: { lines } } };
    const measured = verdicts(results).filter((verdict) => verdict.measured !== undefined);
    assert.deepEqual(
      measured.map((verdict) => [verdict.measured, verdict.reached]),
      [
        [4.5, false],
        [3, true],
        [1_500, true],
        [0.6, true],
      ],
    );
    const page = report(results);
    assert.match(page, /\| embedded \| 100 \| 450 \| 4\.50 × \| 1\.00 \| 3\.00 \| 3\.00 × \|/);
    assert.match(page, /Postgres: \*\*failed:\*\* it failed/);
  });

  it("wants metrics to be a small share of a GET, by the worse of two measurements", () => {
    const none = { medianNs: 0, lowerNs: -5, upperNs: 5 };
    const line = {
      ...{ plainNs: 9_000, countNs: 20, getUs: 10, tracedUs: 20, faults: [] },
      more: { plain: none, again: none, unsampled: none, unmeasured: { ...none, medianNs: -50 } },
    };
    const slow = { ...line, countNs: 120 };
    const lines = [
      { runtime: "Bun", ...line },
      { runtime: "Node", ...slow },
    ] as const;
    const results: Results = { watching: { ...run, figures: { lines } } };
    const found = verdicts(results).filter(({ what }) => what === "Metrics");
    assert.deepEqual(
      found.map(({ measured, reached }) => [measured, reached]),
      [
        [0.005, true],
        [0.012, false],
      ],
    );
    assert.match(report(results), /\| without metrics \| −50 \(−5 to \+5\) \| −50/);
    assert.match(report(results), /\| metrics, share of it \| 0\.50 % \| 1\.20 % \|/);
  });

  it("wants copies within a limit of memory, and shows those that failed", () => {
    const cost = { seconds: 100, resourcesPerSecond: 10_000, peakMb: 150, heldMs: 5 };
    const lines = [
      { way: "there", ...cost },
      { way: "back", error: "it broke" },
    ] as const;
    const results: Results = { copy: { ...run, figures: { resources: 1e6, files: 1e4, lines } } };
    const found = verdicts(results).filter(({ what }) => what === "Peak of a copy");
    assert.deepEqual(
      found.map(({ setUp, measured, reached }) => [setUp, measured, reached]),
      [
        ["embedded to Postgres", 150, true],
        ["Postgres to embedded", undefined, false],
      ],
    );
    assert.match(report(results), /\| embedded to Postgres \| 100 \| 10,000 \| 150 \| 5\.00 \|/);
    assert.match(report(results), /\*\*failed:\*\* it broke/);
  });

  it("compares what rules let read with the same filter", () => {
    const rates = { firstPerSecond: 100, lastPerSecond: 80, lastToFirst: 0.8 };
    const line: RulesLine = {
      ...{ engine: "embedded", request: "one", count: 1000 },
      rates: { ...rates, lowest: 0.8, highest: 0.8 },
      plain: { p50Ms: 1, cpuUs: 100 },
      ruled: { p50Ms: 1.25, cpuUs: 160 },
      faults: [],
    };
    const lines = [line, { ...line, request: "mine" } as const];
    const figures = { sizes: [10, 1000], lines, errors: ["postgres: it failed"] };
    const results: Results = { rules: { ...run, figures } };
    const measured = verdicts(results).filter((verdict) => verdict.measured !== undefined);
    assert.deepEqual(
      measured.map((verdict) => [verdict.measured, verdict.reached]),
      [
        [0.8, false],
        [1.6, false],
        [1.25, true],
      ],
    );
    const page = report(results);
    assert.match(
      page,
      /\| 1,000 \| 100 \| 160 \| 1\.60 × \| 1\.00 \| 1\.25 \| 1\.25 × \| 0\.80 × \|/,
    );
    assert.match(page, /\*\*failed:\*\* postgres: it failed/);
  });

  it("replaces the parts that were run, and keeps the others", () => {
    const failed: Results = { speed: { ...run, version: "0.1.0 new", error: "no disk" } };
    const merged = merge({ ...speed(comparison("get", 1)), ...growth }, failed);
    assert.deepEqual(merged, { ...growth, ...failed });
    assert.deepEqual(readResults(writeResults(merged)), merged);
    assert.deepEqual(readResults('{"machine": {}}'), {});
    const page = report(merged);
    assert.match(page, /\*\*This part failed:\*\* no disk/);
    assert.match(page, /\| Speed \(\*\*failed\*\*\) \| 0\.1\.0 new \|/);
    assert.match(
      page,
      /\| Search for a word that 300 have \| 10 \+ 5 \| 20 \+ 5 \| 30 \+ 5 \| 2\.33 × \|/,
    );
    assert.match(page, /\*\*failed:\*\* embedded: it failed/);
  });

  it("reads a figure that is not a number as it was", () => {
    const results = fairness({ ...fairnessLine, peakMb: Number.NaN });
    assert.deepEqual(readResults(writeResults(results)), results);
  });

  it("says no to a scan that failed", () => {
    const scans = [{ filter: "text", rowsPerSecond: 0, error: "504" }] as const;
    const engines = [{ engine: "embedded", scans }] as const;
    const results: Results = { scan: { ...run, figures: { count: 10, engines } } };
    assert.equal(verdictOf(results, "Filter without an index, one thread")?.measured, 0);
    assert.match(report(results), /\| Text that is equal \| failed \| – \|/);
  });

  it("names the server that is missing, and why", () => {
    assert.match(report(speed(comparison("get", 1))), /- PocketBase: Go is not installed/);
  });

  it("shows neither addresses nor folders of the machine in reasons", () => {
    const error = `GET http://127.0.0.1:1234/people in ${process.cwd()}/bench/x.ts`;
    const page = report({ speed: { ...run, error } });
    assert.doesNotMatch(page, /127\.0\.0\.1/);
    assert.ok(!page.includes(process.cwd()));
  });

  it("draws a bar for each server, a goal, and a curve for each line", () => {
    const drawn = plot(speed(comparison("get", 0.5), comparison("random", 0.4)));
    assert.equal(drawn.match(/class="track"/g)?.length, 6);
    assert.equal(drawn.match(/class="goal"/g)?.length, 1);
    assert.equal(growthPlot(growth).match(/<polyline/g)?.length, 1);
    assert.equal(growthPlot(growth).match(/<circle class="postgres-dot"/g)?.length, 4);
    assert.doesNotMatch(drawn + growthPlot({}), /NaN|Infinity/);
  });

  it("takes the ratio to the bare server round by round", () => {
    const load = (requestsPerSecond: number) => ({
      ...{ completed: 1, requestsPerSecond, p50Ms: 1, p99Ms: 1, maxMs: 1, fault: undefined },
    });
    const { figures } = scenarioFigures({
      scenario: "get",
      bareBefore: [load(100), load(200)],
      bareAfter: [load(300), load(200)],
      loads: { restante: [load(100), load(150)] },
      absent: [],
    });
    const ours = figures.find(({ server }) => server === "restante");
    assert.equal(ours && "ratioToBare" in ours && ours.ratioToBare, 0.625);
    assert.equal(median([3, 1, 2]), 2);
    assert.equal(median([1, 2]), 1.5);
  });
});

describe("npm run bench -- --here", () => {
  itLong("measures the disk of a folder and a server on it, and leaves nothing", () => {
    const folder = mkdtempSync(join(tmpdir(), "restante-bench-test-"));
    const root = fileURLToPath(new URL("../", import.meta.url));
    const args = ["bench/bench.ts", "--here", folder, "--quick"];
    const { status, stdout, stderr } = spawnSync("node_modules/.bin/bun", args, {
      cwd: root,
      encoding: "utf8",
    });
    assert.equal(status, 0, stderr);
    for (const name of ["sync of 4 KiB", "POST, 1 client", "GET one at random", "page of 20"])
      assert.match(stdout, new RegExp(`^${name} +[1-9][\\d,]* +[\\d.]+ ms +[\\d.]+ ms`, "m"));
    assert.match(stdout, /^A resource takes [1-9][\d,]* bytes on disk\.$/m);
    assert.deepEqual(readdirSync(folder), []);
    rmSync(folder, { recursive: true });
  });
});
