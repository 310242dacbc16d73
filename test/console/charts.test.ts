// Charts in a real browser: figures over time and by value, with links to the resources of a group.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  barsOf,
  chartFields,
  chartPath,
  firstTime,
  roundUp,
  unitFor,
} from "../../console/api/aggregate.ts";
import { itLong } from "../short-run.ts";
import { expectAccessible, expectNoSidewaysScroll, phone, skip, useConsole } from "./console.ts";

describe("the query of a chart", () => {
  it("is the one of the API, with the filter of the list", () => {
    const filter = new URLSearchParams("status=paid");
    const path = chartPath(
      "orders",
      { figure: "sum(total)", by: "month(placed)" },
      filter,
      "Europe/Berlin",
    );
    assert.deepEqual(Object.fromEntries(new URLSearchParams(path.split("?")[1])), {
      ...{ status: "paid", aggregate: "sum(total)", by: "month(placed)" },
      ...{ timezone: "Europe/Berlin", sort: "-month(placed)", limit: "1000" },
    });
  });

  it("offers what the schema has", () => {
    const properties = {
      total: { type: "number" },
      placed: { type: "string", format: "date-time" },
      status: { type: ["string", "null"] },
      address: { type: "object" },
    };
    assert.deepEqual(chartFields({ properties }), {
      numbers: ["total"],
      times: ["createdAt", "updatedAt", "placed"],
      values: ["total", "status"],
    });
  });

  it("begins with a time of the data, an interval that fits, and a round axis", () => {
    const placed = { type: "string", format: "date" };
    assert.equal(firstTime({ properties: { placed } }), "placed");
    assert.equal(firstTime(undefined), "createdAt");
    const units = ["2026-01-01", "2026-02-01", "2026-09-01", "2029-01-01", "2040-01-01"];
    assert.deepEqual(
      units.map((last) => unitFor("2026-01-01", last)),
      ["hour", "day", "week", "month", "year"],
    );
    assert.deepEqual([0, 7, 622, 0.3, 1000].map(roundUp), [1, 10, 1000, 0.4, 1000]);
  });

  it("has bars in the order of time, without those that are no number", () => {
    const groups = [
      { "day(at)": "2026-01-02", "avg(n)": null },
      { "day(at)": "2026-01-01", "avg(n)": 2 },
      { "day(at)": null, "avg(n)": 1 },
    ];
    assert.deepEqual(
      barsOf(groups, { figure: "avg(n)", by: "day(at)" }).map(({ label, size }) => [label, size]),
      [
        ["(none)", 1],
        ["2026-01-01", 2],
      ],
    );
  });
});

describe("the charts of a collection", { skip }, () => {
  const test = useConsole(async (app) => {
    const schema = { properties: { status: { type: "string" }, total: { type: "number" } } };
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ schema });
    await app.request("/-/collections/orders", { method: "PUT", headers, body });
    for (const [status, total] of [
      ["paid", 10],
      ["paid", 5],
      ["<b>open</b>", 1],
    ])
      await app.post("orders", { status, total });
    await app.post("orders", { total: 1 });
  });

  it("counts over time, and sums by value", async () => {
    const page = await test.open("#/c/orders/-/charts");
    const plot = page.getByRole("slider", { name: "count by hour(createdAt)" });
    await plot.press("Home");
    assert.match((await plot.getAttribute("aria-valuetext")) ?? "", /: \d$/);
    await expectAccessible(page);
    await page.getByLabel("By", { exact: true }).selectOption("status");
    await page.getByLabel("Figure", { exact: true }).selectOption("sum(total)");
    await page.getByRole("row", { name: "paid 15" }).waitFor();
    await page.getByRole("row", { name: "<b>open</b> 1" }).waitFor();
    assert.ok(decodeURIComponent(page.url()).endsWith("aggregate=sum(total)&by=status"));
    const link = page.getByRole("link", { name: "(none)" });
    assert.equal(await link.getAttribute("href"), "#/c/orders?status[exists]=false");
    await page.context().close();
  });

  itLong("fits a phone, and says when there is nothing", async () => {
    const dark = { ...phone, colorScheme: "dark" } as const;
    const page = await test.open("#/c/orders/-/charts?by=status&aggregate=count", dark);
    await page.getByRole("row", { name: "paid 2" }).waitFor();
    await expectAccessible(page);
    await expectNoSidewaysScroll(page);
    await page.goto(`${test.app.url}/-/console#/c/orders/-/charts?by=status&status=nobody`);
    await page.getByText("There is nothing to show").waitFor();
    await page.context().close();
  });
});
