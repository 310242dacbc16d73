// How long a response takes does not tell what a caller cannot see: medians of requests that take turns.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { newSeed, randomNumbers } from "../seeds.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";

const mine = { name: "mine", to: "token", where: { author: "$me" } };
const text = { type: "string" };
const definition = {
  schema: { type: "object", properties: { author: text, text } },
  access: { read: [mine], delete: [mine] },
};

/** The number of requests of each kind. */
const sampleCount = 500;
/** The larger median by the smaller one. */
const maxRatio = 1.25;
/** A smaller difference of the medians, in milliseconds, is lost on every network. */
const maxDifference = 0.05;
/** A machine that does other work at the same time gets more attempts, with more samples. */
const attempts = 5;

const hiddenCount = 2_000;
const ownCount = 20;
const digits = (index: number) => String(index).padStart(6, "0");

const medianOf = (times: readonly number[]): number =>
  times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)] as number;

for (const store of [undefined, "postgres"])
  describe(`the time of responses, on ${store ?? "sqlite"}`, () => {
    let app: TestApp;
    let token: string;

    before(async () => {
      app = await startApp({ store });
      const admin = new Client(app);
      const done = async (sent: Promise<{ readonly status: number; readonly body: string }>) => {
        const { status, body } = await sent;
        assert.ok(status < 300, body);
        return body;
      };
      // Both have what the caller sees; one also has what others see.
      for (const [name, hidden] of [
        ["alone", 0],
        ["crowded", hiddenCount],
      ] as const) {
        await done(admin.put(`/-/collections/${name}`, definition));
        const lines = Array.from({ length: hidden + ownCount }, (_, index) => {
          const author = index < ownCount ? "ann" : "bob";
          return JSON.stringify({ id: `r${digits(index)}`, author, text: "red sea" });
        });
        const type = { "content-type": "application/x-ndjson" };
        await done(admin.post(`/${name}?key=id`, `${lines.join("\n")}\n`, type));
      }
      const scopes = ["alone:*", "crowded:*"];
      token = JSON.parse(
        await done(admin.post("/-/tokens", { name: "ann", subject: "ann", scopes })),
      ).token;
    });
    after(() => app.stop());

    /** The time until a client has the whole response. */
    async function timeOf(method: string, path: string, status: number): Promise<number> {
      const headers = { authorization: `Bearer ${token}` };
      const start = performance.now();
      const response = await fetch(app.url + path, { method, headers });
      await response.text();
      const time = performance.now() - start;
      assert.equal(response.status, status, path);
      return time;
    }

    type Path = (index: number) => string;
    interface Compared {
      readonly method?: string;
      readonly status: number;
      /** Two kinds of requests, which the caller must not tell from each other. */
      readonly paths: readonly [Path, Path];
    }

    const hidden: Path = (number) => `/crowded/r${digits(ownCount + (number % hiddenCount))}`;
    const missing: Path = (number) => `/crowded/s${digits(ownCount + (number % hiddenCount))}`;
    /** Another query each time, so that no page is there already. */
    const lists = (query: string): readonly [Path, Path] => [
      (number) => `/alone?text[ne]=x${number}${query}`,
      (number) => `/crowded?text[ne]=x${number}${query}`,
    ];

    const comparisons: Readonly<Record<string, Compared>> = {
      "GET of what is hidden or missing": { status: 404, paths: [hidden, missing] },
      "DELETE of what is hidden or missing": {
        ...{ method: "DELETE", status: 404 },
        paths: [hidden, missing],
      },
      "a list without or with hidden resources": { status: 200, paths: lists("") },
      "a count without or with hidden resources": { status: 200, paths: lists("&aggregate=count") },
    };

    for (const [title, { method = "GET", status, paths }] of Object.entries(comparisons))
      it(`is the same for ${title}`, async () => {
        const random = randomNumbers(newSeed(title));
        const figures: string[] = [];
        for (let attempt = 1; attempt <= attempts; attempt++) {
          const times: readonly [number[], number[]] = [[], []];
          for (let index = 0; index < attempt * sampleCount; index++) {
            const number = Math.floor(random() * 1e9);
            const order = random() < 0.5 ? ([0, 1] as const) : ([1, 0] as const);
            for (const kind of order)
              times[kind].push(await timeOf(method, paths[kind](number), status));
          }
          const [one, other] = [medianOf(times[0]), medianOf(times[1])];
          const ratio = Math.max(one, other) / Math.min(one, other);
          const [here, there] = [one, other].map((each) => Math.round(each * 1000));
          figures.push(`${here} and ${there} µs, ratio ${ratio.toFixed(2)}`);
          const isSame = ratio <= maxRatio || Math.abs(one - other) <= maxDifference;
          if (!isSame) continue;
          console.log(`${title}, on ${store ?? "sqlite"}: ${figures.join("; ")}`);
          return;
        }
        assert.fail(figures.join("; "));
      });
  });
