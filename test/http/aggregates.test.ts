// Aggregates: figures of groups, compared with sums over all resources in a second implementation.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { aggregateLimits } from "../../src/model/query/aggregate.ts";
import { lowerLimit } from "../lower-limit.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { itLong, storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, pointersOf } from "./client.ts";
import { assertProblem } from "./expect.ts";

type Row = Readonly<Record<string, unknown>>;
interface Sale {
  readonly status?: string | null;
  readonly cents: number;
  readonly at: string;
  readonly city?: string;
}

const definition = {
  schema: {
    type: "object",
    properties: {
      status: { type: ["string", "null"] },
      total: { type: "number" },
      at: { type: "string", format: "date-time" },
      city: { type: "string" },
      tags: { type: "array", items: { type: "string" } },
      secret: { type: "string", writeOnly: true },
    },
  },
  indexed: ["status"],
  searchable: ["city"],
};

const maxGroups = lowerLimit(aggregateLimits, "maxGroups", 1_000, 10_000);

const decimal = (cents: number): number => cents / 100;
const exact = (cents: number): string => {
  const text = String(Math.abs(cents)).padStart(3, "0");
  const fraction = text.slice(-2).replace(/0+$/, "");
  return `${cents < 0 ? "-" : ""}${text.slice(0, -2)}${fraction === "" ? "" : `.${fraction}`}`;
};

for (const store of storesHere("sqlite", ["sqlite", "postgres"])) {
  describe(`aggregates on ${store}`, () => {
    let app: TestApp;
    let client: Client;
    const sales: Sale[] = [];
    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {});
      client = new Client(app);
      assert.equal((await client.put("/-/collections/sales", definition)).status, 201);
      const random = randomNumbers(newSeed(`sales on ${store}`));
      const pick = <T>(values: readonly T[]): T =>
        values[Math.floor(random() * values.length)] as T;
      for (let count = 0; count < 300; count++) {
        const status = pick(["open", "paid", null, undefined]);
        const city = pick(["Rome", "New York", undefined]);
        sales.push({
          ...(status !== undefined && { status }),
          ...(city !== undefined && { city }),
          cents: Math.floor((random() - 0.3) * 100_000),
          at: new Date(Date.UTC(2026, 0, 1) + random() * 200 * 86_400_000).toISOString(),
        });
      }
      const lines = sales.map(({ cents, ...sale }) =>
        JSON.stringify({ ...sale, total: decimal(cents) }),
      );
      const type = { "content-type": "application/x-ndjson" };
      const { status } = await client.post("/sales", `${lines.join("\n")}\n`, type);
      assert.equal(status, 200);
    });
    after(() => app.stop());

    const rows = async (query: string): Promise<readonly Row[]> =>
      (await client.json<{ data: Row[] }>(`/sales?limit=1000&${query}`)).data;
    const text = async (query: string): Promise<string> => {
      const { status, body } = await client.get(`/sales?limit=1000&${query}`);
      assert.equal(status, 200, body);
      return body;
    };
    const groupedBy = (keyOf: (sale: Sale) => string | null) => Map.groupBy(sales, keyOf);

    it("are figures of all resources without by", async () => {
      const total = sales.reduce((sum, { cents }) => sum + cents, 0);
      const body = await text("aggregate=count,sum(total),min(at),max(at),distinct(status)");
      const [row] = JSON.parse(body).data as readonly Row[];
      const times = sales.map(({ at }) => at).sort();
      assert.equal(row?.count, sales.length);
      assert.ok(body.includes(`"sum(total)":${exact(total)},`), `${exact(total)} ${body}`);
      assert.deepEqual([row?.["min(at)"], row?.["max(at)"]], [times[0], times.at(-1)]);
      assert.equal(row?.["distinct(status)"], 2);
      const average = (row?.["avg(total)"] ?? Number.NaN) as number;
      assert.ok(Number.isNaN(average));
      const [mean] = await rows("aggregate=avg(total)");
      assert.ok(Math.abs((mean?.["avg(total)"] as number) * 100 - total / sales.length) < 1e-6);
    });

    it("are figures of each group, which missing values are one of", async () => {
      const groups = groupedBy(({ status }) => status ?? null);
      const body = await text("aggregate=count,sum(total)&by=status");
      const expected = [...groups.entries()]
        .sort(([one], [other]) => (one === null ? -1 : other === null ? 1 : one < other ? -1 : 1))
        .map(([status, list]) => {
          const sum = list.reduce((all, { cents }) => all + cents, 0);
          return `{"status":${JSON.stringify(status)},"count":${list.length},"sum(total)":${exact(sum)}}`;
        });
      assert.ok(body.startsWith(`{"data":[${expected.join(",")}]`), body);
    });

    it("are grouped by time in a time zone, and by ranges", async () => {
      const zone = "Europe/Berlin";
      const format = new Intl.DateTimeFormat("sv-SE", {
        timeZone: zone,
        year: "numeric",
        month: "2-digit",
      });
      const months = groupedBy(({ at }) => format.format(Date.parse(at)));
      const found = await rows(`aggregate=count&by=month(at)&timezone=${zone}`);
      assert.deepEqual(
        found.map((row) => [row["month(at)"], row.count]),
        [...months].map(([month, list]) => [month, list.length]).sort(),
      );
      const ranges = await rows("aggregate=count&by=range(total,-100,0,500)");
      const rangeOf = (value: number) =>
        value < -100 ? "..-100" : value < 0 ? "-100..0" : value < 500 ? "0..500" : "500..";
      const expected = groupedBy(({ cents }) => rangeOf(decimal(cents)));
      assert.deepEqual(
        ranges.map((row) => row["range(total,-100,0,500)"]),
        ["..-100", "-100..0", "0..500", "500.."].filter((name) => expected.has(name)),
      );
      for (const row of ranges)
        assert.equal(row.count, expected.get(String(row["range(total,-100,0,500)"]))?.length);
    });

    it("take no number for a time, except in the times of the server", async () => {
      for (const at of [0, 1_767_225_600, "2026-01-01T00:00:00Z"])
        await client.post("/stamped", { at });
      const { data } = await client.json<{ data: Row[] }>("/stamped?aggregate=count&by=year(at)");
      assert.deepEqual(data, [
        { "year(at)": null, count: 2 },
        { "year(at)": "2026", count: 1 },
      ]);
      const path = "/stamped?aggregate=count&by=year(createdAt)";
      const { data: made } = await client.json<{ data: Row[] }>(path);
      assert.equal(made.length, 1);
      assert.match(String(made[0]?.["year(createdAt)"]), /^20\d\d$/);
    });

    it("agree with a plain computation for random filters, groups and sort orders", async () => {
      const random = randomNumbers(newSeed(`aggregates on ${store}`));
      const pick = <T>(values: readonly T[]): T =>
        values[Math.floor(random() * values.length)] as T;
      const filters: readonly [string, (sale: Sale) => boolean][] = [
        ["", () => true],
        ["&status=paid", ({ status }) => status === "paid"],
        ["&status[ne]=paid", ({ status }) => status !== "paid"],
        ["&total[gte]=100", ({ cents }) => cents >= 10_000],
        ["&city[exists]=false", ({ city }) => city === undefined],
        ["&q=rome", ({ city }) => city === "Rome"],
        ["&status=paid&total[lt]=0", ({ status, cents }) => status === "paid" && cents < 0],
        ["&status=nothing", () => false],
      ];
      const groupings: readonly [string, (sale: Sale) => string | null][] = [
        ["status", ({ status }) => status ?? null],
        ["city", ({ city }) => city ?? null],
        ["quarter(at)", ({ at }) => `2026-Q${Math.floor(new Date(at).getUTCMonth() / 3) + 1}`],
      ];
      for (let run = 0; run < runs(15, 1_000); run++) {
        const [filter, matches] = pick(filters);
        const by = groupings.filter(() => random() < 0.5);
        const names = by.map(([name]) => name).join(",");
        const query = `aggregate=count,sum(total)${names === "" ? "" : `&by=${names}`}${filter}`;
        const groups = Map.groupBy(sales.filter(matches), (sale) =>
          JSON.stringify(by.map(([, keyOf]) => keyOf(sale))),
        );
        if (by.length === 0 && groups.size === 0) groups.set("[]", []);
        const expected = [...groups].map(([key, list]) => {
          const cents = list.reduce((sum, sale) => sum + sale.cents, 0);
          return [...JSON.parse(key), list.length, decimal(cents)];
        });
        const found = (await rows(query)).map((row) => Object.values(row));
        const sorted = (lists: readonly unknown[][]) =>
          lists.map((list) => JSON.stringify(list)).sort();
        assert.deepEqual(sorted(found), sorted(expected), query);
      }
    });

    it("are sorted and paged", async () => {
      const all = await rows("aggregate=count&by=day(at)&sort=-count");
      const counts = all.map(({ count }) => count as number);
      assert.deepEqual(
        counts,
        counts.toSorted((one, other) => other - one),
      );
      const path = "/sales?aggregate=count&by=day(at)&sort=-count&limit=10&page=2";
      const { headers, body } = await client.get(path);
      const page = JSON.parse(body) as { data: Row[]; total: number; pages: number };
      assert.deepEqual(page.data, all.slice(10, 20));
      assert.deepEqual([page.total, page.pages], [all.length, Math.ceil(all.length / 10)]);
      assert.match(headers.get("link") ?? "", /page=3&limit=10.*rel="next"/);
    });

    it("have an ETag, and are CSV and NDJSON", async () => {
      const path = "/sales?aggregate=count,sum(total)&by=status";
      const first = await client.get(path);
      const etag = first.headers.get("etag") ?? "";
      assert.equal((await client.get(path, { "if-none-match": etag })).status, 304);
      const csv = await client.get(path, { accept: "text/csv" });
      assert.match(csv.body, /^status,count,sum\(total\)\r\nnull,\d+,/);
      const lines = await client.get(path, { accept: "application/x-ndjson" });
      assert.deepEqual(
        lines.body
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line)),
        JSON.parse(first.body).data,
      );
      const asked = { aggregate: ["count", "sum(total)"], by: "status" };
      const queried = await app.request("/sales", {
        method: "QUERY",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(asked),
      });
      assert.deepEqual(
        ((await queried.json()) as { data: Row[] }).data,
        JSON.parse(first.body).data,
      );
      assert.equal((await client.post("/other", {})).status, 201);
      assert.equal((await client.get(path, { "if-none-match": etag })).status, 304);
      await client.post("/sales", { total: 0 });
      assert.equal((await client.get(path, { "if-none-match": etag })).status, 200);
    });

    const wrong: readonly [query: string, parameters: readonly string[]][] = [
      ["aggregate=median(total)", ["aggregate"]],
      ["aggregate=sum", ["aggregate"]],
      ["aggregate=sum(status)", ["aggregate"]],
      ["aggregate=sum(secret)", ["aggregate"]],
      ["aggregate=count,count", ["aggregate"]],
      ["aggregate=count&by=nobody(at)", ["by"]],
      ["aggregate=count&by=month(status)", ["by"]],
      ["aggregate=count&by=range(total,5,1)", ["by"]],
      ["aggregate=count&by=range(total)", ["by"]],
      ["aggregate=count&by=tags", ["by"]],
      ["aggregate=count&by=lines[].x", ["by"]],
      ["aggregate=count&by=month(at)&timezone=Mars", ["timezone"]],
      ["aggregate=count&sort=total", ["sort"]],
      ["aggregate=count&fields=total", ["fields"]],
      ["aggregate=count&expand=status", ["expand"]],
      ["aggregate=count&cursor=", ["cursor"]],
      ["aggregate=count&since=0", ["aggregate"]],
      ["by=status", ["by"]],
    ];
    for (const [query, parameters] of wrong)
      it(`${query} is 400`, async () => {
        const problem = assertProblem(await client.get(`/sales?${query}`), "invalid-parameter");
        assert.deepEqual(pointersOf(problem), parameters);
      });

    it("name no field that is deeper than objects can nest, as lists", async () => {
      await client.put("/-/collections/open", {});
      await client.post("/open", { a: 1 });
      const deep = `${"a.".repeat(3_000)}a`;
      for (const query of [`aggregate=sum(${deep})`, `aggregate=count&by=${deep}`])
        assertProblem(await client.get(`/open?${query}`), "invalid-parameter");
      assertProblem(await client.get("/open?aggregate=sum(a..b)"), "invalid-parameter");
    });

    it("count only what the caller may see", async () => {
      await client.put("/-/collections/notes", { access: { read: "owner" } });
      const [one, two] = [await app.token("notes:*"), await app.token("notes:*")];
      for (const [token, n] of [
        [one, 1],
        [one, 2],
        [two, 40],
      ] as const)
        await new Client(app, token).post("/notes", { n });
      const path = "/notes?aggregate=count,sum(n)";
      const { data } = await new Client(app, one).json<{ data: Row[] }>(path);
      assert.deepEqual(data, [{ count: 2, "sum(n)": 3 }]);
      const all = await client.json<{ data: Row[] }>(path);
      assert.deepEqual(all.data, [{ count: 3, "sum(n)": 43 }]);
    });

    itLong("have a limit for long values, however they are found and shown", async () => {
      await client.put("/-/collections/long", {
        schema: {
          properties: { n: { type: "integer" }, t: { type: "string" }, k: { type: "string" } },
        },
        indexed: ["n", "k"],
      });
      const { maxTextLength } = aggregateLimits;
      const length = 900_000;
      const fitting = Math.floor(maxTextLength / (length + 10));
      for (let n = 0; n <= fitting; n++) {
        const body = JSON.stringify({ n, t: `${n}`.padEnd(length, "x"), k: "k" });
        const type = { "content-type": "application/x-ndjson" };
        assert.equal((await client.post("/long", body, type)).status, 200);
      }
      const queries = ["max(t)&by=n", "count&by=t", "min(t),count&by=n&k=k"];
      for (const query of queries.slice(0, runs(1, queries.length))) {
        for (const accept of ["application/json", "text/csv"]) {
          const path = `/long?aggregate=${query}`;
          const rejected = await client.get(path, { accept });
          const problem = assertProblem(rejected, "invalid-parameter");
          assert.match(
            problem.errors?.[0]?.detail ?? "",
            new RegExp(`${maxTextLength} characters`),
          );
        }
        const fits = await client.json<{ total: number }>(
          `/long?aggregate=${query}&n[gt]=0&limit=1`,
        );
        assert.equal(fits.total, fitting);
      }
      // What is not shown has no limit.
      const { data } = await client.json<{ data: Row[] }>("/long?aggregate=distinct(t),max(t)");
      assert.equal(data[0]?.["distinct(t)"], fitting + 1);
    });

    it("have a limit of groups, and say how many there are", async () => {
      const lines = Array.from({ length: maxGroups + 1 }, (_, n) => `{"n":${n}}\n`).join("");
      const type = { "content-type": "application/x-ndjson" };
      assert.equal((await client.post("/many", lines, type)).status, 200);
      const problem = assertProblem(
        await client.get("/many?aggregate=count&by=n"),
        "invalid-parameter",
      );
      assert.match(problem.errors?.[0]?.detail ?? "", new RegExp(`${maxGroups + 1} groups`));
      const { total } = await client.json<{ total: number }>("/many?aggregate=count&by=n&n[gt]=0");
      assert.equal(total, maxGroups);
    });
  });
}
