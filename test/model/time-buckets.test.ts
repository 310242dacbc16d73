// Buckets of time in a time zone, compared with what Intl says about each time.
// @runtimes both

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type BucketUnit, bucketOf, isTimeZone, TimeZone } from "../../src/lib/time-buckets.ts";
import { isLong, newSeed, randomNumbers, runs } from "../seeds.ts";

const bucket = (unit: BucketUnit, time: string, zone?: string) =>
  bucketOf(unit, new TimeZone(zone).local(Date.parse(time)));

describe("a bucket of time", () => {
  const cases: readonly [BucketUnit, string, string | undefined, string][] = [
    ["hour", "2026-01-31T23:30:00Z", undefined, "2026-01-31T23"],
    ["hour", "2026-01-31T23:30:00Z", "Asia/Kolkata", "2026-02-01T05"],
    ["day", "2026-01-31T23:30:00Z", "Europe/Berlin", "2026-02-01"],
    ["day", "2026-03-29T00:59:59Z", "Europe/Berlin", "2026-03-29"],
    ["month", "2026-01-31T23:30:00Z", "Europe/Berlin", "2026-02"],
    ["month", "2026-01-31T23:30:00Z", "America/New_York", "2026-01"],
    ["quarter", "2026-12-31T23:30:00Z", "Europe/Berlin", "2027-Q1"],
    ["year", "2026-12-31T23:30:00Z", "Europe/Berlin", "2027"],
    ["week", "2026-01-01T00:00:00Z", undefined, "2026-W01"],
    ["week", "2027-01-01T00:00:00Z", undefined, "2026-W53"],
    ["week", "2024-12-30T00:00:00Z", undefined, "2025-W01"],
    ["week", "1969-12-29T00:00:00Z", undefined, "1970-W01"],
    ["year", "0099-06-01T00:00:00Z", "UTC", "0099"],
  ];
  for (const [unit, time, zone, expected] of cases)
    it(`${unit} of ${time} in ${zone ?? "UTC"} is ${expected}`, () => {
      assert.equal(bucket(unit, time, zone), expected);
    });

  it("is the one that Intl shows for random times", () => {
    const random = randomNumbers(newSeed("time buckets"));
    const zones = ["Europe/Berlin", "America/St_Johns", "Pacific/Apia", "Asia/Kathmandu"];
    for (const timeZone of zones) {
      const zone = new TimeZone(timeZone);
      const format = new Intl.DateTimeFormat("sv-SE", {
        timeZone,
        ...({ year: "numeric", month: "2-digit", day: "2-digit" } as const),
      });
      for (let run = 0; run < runs(200, 20_000); run++) {
        const ms = Date.UTC(1975, 0, 1) + Math.floor(random() * 75 * 365.25 * 86_400_000);
        assert.equal(bucketOf("day", zone.local(ms)), format.format(ms), `${timeZone} ${ms}`);
      }
    }
  });

  it("is the one that Intl shows around each change of an offset", () => {
    const some = ["America/St_Johns", "Africa/Monrovia", "Pacific/Apia"];
    const zones = isLong ? Intl.supportedValuesOf("timeZone") : some;
    let changes = 0;
    for (const timeZone of zones) {
      const zone = new TimeZone(timeZone);
      const format = new Intl.DateTimeFormat("sv-SE", {
        timeZone,
        ...({ year: "numeric", month: "2-digit", day: "2-digit" } as const),
        ...({ hour: "2-digit", minute: "2-digit", second: "2-digit" } as const),
      });
      const local = (ms: number) => format.format(ms).replace(" ", "T");
      const offset = (ms: number) => Date.parse(`${local(ms)}Z`) - ms;
      for (const change of changesOf(offset)) {
        changes += 1;
        for (const seconds of [-600, -30, -1, 0, 1, 30, 600]) {
          const ms = change + seconds * 1_000;
          const shown = zone.local(ms).toISOString().slice(0, 19);
          assert.equal(shown, local(ms), `${timeZone} ${ms}`);
        }
      }
    }
    assert.ok(changes > 100, `only ${changes} changes`);
  });

  it("needs a time zone that exists", () => {
    assert.ok(isTimeZone("Europe/Berlin"));
    for (const name of ["Europe/Atlantis", "", "berlin!"]) assert.ok(!isTimeZone(name), name);
  });

  it("takes the same names on every runtime", () => {
    const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
    const words = letters.flatMap((a) => letters.flatMap((b) => letters.map((c) => a + b + c)));
    assert.deepEqual(words.filter(isTimeZone), [
      ...["CET", "EET", "EST", "GMT", "HST", "MET", "MST"],
      ...["PRC", "ROC", "ROK", "UCT", "UTC", "WET"],
    ]);
    const offsets = ["+01:00", "-0130", "+05", "Etc/GMT+5", "gmt-0", "EST5EDT", "US/Pacific"];
    for (const name of offsets) assert.ok(isTimeZone(name), name);
    for (const name of ["pst", "SystemV/PST8", "\u221201:00"]) assert.ok(!isTimeZone(name), name);
  });
});

/** Returns when an offset changes, to the second, between 1950 and 2040. */
function changesOf(offset: (ms: number) => number): readonly number[] {
  const step = 20 * 86_400_000;
  const changes: number[] = [];
  for (let from = Date.UTC(1950, 0, 1); from < Date.UTC(2040, 0, 1); from += step) {
    if (offset(from) === offset(from + step)) continue;
    let [before, after] = [from, from + step];
    while (after - before > 1_000) {
      const middle = Math.floor((before + after) / 2_000) * 1_000;
      if (offset(middle) === offset(from)) before = middle;
      else after = middle;
    }
    changes.push(after);
  }
  return changes;
}
