// Metrics as the console reads them: text, deltas, percentiles; and the scopes of ticks.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { scopesOf, toggled, toggledRow } from "../../console/pages/server/scopes.ts";
import {
  histogramsOf,
  parseMetrics,
  percentile,
  since,
  totalOf,
} from "../../console/plot/metrics.ts";
import { pointOf, readingOf, routeRows } from "../../console/plot/requests.ts";

const name = "restante_http_request_duration_seconds";

/** A histogram of a route with these cumulative counts. */
const lines = (status: string, counts: readonly number[]): string =>
  counts
    .map((count, n) => {
      const le = ["0.01", "0.1", "+Inf"][n];
      return `${name}_bucket{method="GET",route="/{collection}",status="${status}",le="${le}"} ${count}`;
    })
    .join("\n");

describe("metrics in the console", () => {
  it("reads labels with quotes, commas, braces and line breaks", () => {
    const metrics = parseMetrics(
      '# HELP a b\na{x="1,\\"}\\n",y="2"} 3\na{x="b"} 4e1\nb 5\n\nnonsense',
    );
    assert.deepEqual(metrics.get("a"), [
      { labels: { x: '1,"}\n', y: "2" }, value: 3 },
      { labels: { x: "b" }, value: 40 },
    ]);
    assert.equal(totalOf(metrics, "a"), 43);
    assert.equal(totalOf(metrics, "c"), undefined);
  });

  it("counts what happened between two readings, also after a restart", () => {
    const earlier = readingOf(parseMetrics(`${lines("2xx", [10, 10, 10])}`), 100);
    const later = readingOf(
      parseMetrics(`${lines("2xx", [14, 18, 18])}\n${lines("5xx", [0, 2, 2])}`),
      102,
    );
    const point = pointOf(later, earlier);
    assert.deepEqual(point.rates, [4, 0, 0, 1]);
    assert.ok((point.latency[0] ?? 0) > 0.01 && (point.latency[2] ?? 0) <= 0.1);
    const [row] = routeRows(later, earlier);
    assert.deepEqual([row?.count, row?.failed, row?.perSecond], [10, 2, 5]);
    const restarted = readingOf(parseMetrics(lines("2xx", [1, 1, 1])), 104);
    assert.deepEqual(pointOf(restarted, later).rates, [0.5, 0, 0, 0]);
  });

  it("estimates percentiles inside a bucket, and none without observations", () => {
    const [histogram] = histogramsOf(parseMetrics(lines("2xx", [50, 100, 100])), name).values();
    assert.ok(histogram);
    assert.equal(percentile(histogram, 0.5), 0.01);
    assert.equal(percentile(histogram, 0.75)?.toFixed(3), "0.055");
    assert.equal(percentile(since(histogram, histogram), 0.5), null);
    const [beyond] = histogramsOf(parseMetrics(lines("2xx", [0, 0, 5])), name).values();
    assert.equal(beyond && percentile(beyond, 0.5), 0.1);
  });
});

describe("scopes from ticks", () => {
  it("are the fewest that say the same", () => {
    assert.deepEqual(scopesOf(new Set(["people:read", "metrics"])), ["people:read", "metrics"]);
    assert.deepEqual(scopesOf(toggledRow(new Set(), "people")), ["people:*"]);
    assert.deepEqual(scopesOf(toggledRow(new Set(["people:read"]), "*")), ["*:*"]);
    assert.deepEqual(scopesOf(new Set(["*:read", "people:read", "people:create"])), [
      "*:read",
      "people:create",
    ]);
    assert.deepEqual(scopesOf(toggled(toggledRow(new Set(), "people"), "admin")), ["admin"]);
  });

  it("never make the scope of all actions from a collection with this name", () => {
    const scopes = scopesOf(toggledRow(new Set(), "action"));
    assert.deepEqual(scopes, ["action:read", "action:create", "action:update", "action:delete"]);
    assert.deepEqual(toggledRow(new Set(scopes), "action"), new Set());
  });
});
