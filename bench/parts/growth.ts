// Growth: the processor time of one request, while a collection grows by factors of ten.

import { bearer, readIds } from "../data/fill.ts";
import { member, pageLimit, teamsOf, wordOf } from "../data/records.ts";
import { type Engine, engines } from "../data/stores.ts";
import { interleave, type Run } from "../load/interleave.ts";
import { type Ask, load } from "../load/load.ts";
import { get, post, probe } from "../load/scenarios.ts";
import { faultsIn, spentOn } from "../report/figures.ts";
import { metered } from "../servers/meters.ts";
import type { Running } from "../servers/processes.ts";
import { attempt, type Setting } from "./setting.ts";

export interface GrowthFigures {
  readonly sizes: readonly number[];
  readonly lines: readonly GrowthLine[];
  /** What failed, if anything did. */
  readonly errors: readonly string[];
}

export interface GrowthLine {
  readonly engine: Engine;
  readonly request: GrowthRequest;
  /** One for each size, in microseconds of processor time. */
  readonly points: readonly { readonly serverUs: number; readonly databaseUs: number }[];
  readonly faults: readonly string[];
}

export const growthTitles = {
  one: "GET one, at random",
  first: "First page of 20",
  page: "Page of 20, at random",
  filter: "Indexed filter that 100 match",
  search: "Search for a word that 300 have",
  post: "POST, indexed and searchable",
} as const;
export type GrowthRequest = keyof typeof growthTitles;
export const growthRequests = Object.keys(growthTitles) as readonly GrowthRequest[];

export async function measureGrowth(setting: Setting): Promise<GrowthFigures> {
  const { growth: sizes } = setting.sizes;
  await fillAll(setting);
  const lines: GrowthLine[] = [];
  const errors: string[] = [];
  for (const engine of engines) {
    const found = await attempt(`growth, ${engine}`, () => measureEngine(engine, setting));
    if ("error" in found) errors.push(`${engine}: ${found.error}`);
    else lines.push(...found);
  }
  return { sizes, lines, errors };
}

/** Both engines at the same time, because one alone does not keep two cores busy. */
const fillAll = ({ stores, sizes }: Setting): Promise<unknown> =>
  Promise.allSettled(
    engines.map(async (engine) => {
      for (const count of sizes.growth) await stores.members(engine, count);
    }),
  );

interface Sized {
  readonly running: Running;
  readonly asks: Readonly<Record<GrowthRequest, Ask>>;
}

async function measureEngine(engine: Engine, setting: Setting): Promise<readonly GrowthLine[]> {
  const { stores, sizes } = setting;
  const started: Sized[] = [];
  try {
    for (const count of sizes.growth) {
      const running = await stores.start(await stores.members(engine, count));
      started.push({ running, asks: await asksOf(running, count, setting.secret) });
    }
    const database = engine === "postgres" ? await stores.database() : undefined;
    const loader = metered(load, {
      server: (origin) =>
        started.find(({ running }) => running.origin === origin)?.running.processorSeconds() ??
        Number.NaN,
      database: () => database?.processorSeconds() ?? 0,
    });
    const lines: GrowthLine[] = [];
    for (const request of growthRequests) {
      const runs = started.map(
        ({ running, asks }): Run =>
          (seconds) =>
            loader(running.origin, asks[request], seconds),
      );
      const pace = { ...sizes.pace, rounds: 2 };
      const columns = await interleave(`${growthTitles[request]}, ${engine}`, runs, pace);
      const points = columns.map((loads) => {
        const spent = spentOn(loads);
        return {
          serverUs: spent?.server.perRequestUs ?? Number.NaN,
          databaseUs: spent?.database.perRequestUs ?? 0,
        };
      });
      lines.push({ engine, request, points, faults: faultsIn(columns.flat()) });
    }
    return lines;
  } finally {
    await Promise.all(started.map(({ running }) => running.stop()));
  }
}

/** How many different pages, teams and words are asked for. */
const variety = 1_000;

/** At random, so that no response is still at hand. */
async function asksOf({ origin }: Running, count: number, secret: string): Promise<Sized["asks"]> {
  const headers = bearer(secret);
  const ids = await readIds(origin, headers, "members", 10_000);
  const some = (of: number) =>
    Array.from({ length: Math.min(of, variety) }, (_, index) =>
      Math.floor((index * of) / Math.min(of, variety)),
    );
  const list = (parameters: string) => `/members?${parameters}&limit=${pageLimit}`;
  const asks = {
    one: get(headers, ...ids.map((id) => `/members/${id}`)),
    first: get(headers, list("page=1")),
    page: get(headers, ...some(count / pageLimit).map((page) => list(`page=${page + 1}`))),
    filter: get(headers, ...some(teamsOf(count)).map((team) => list(`team=${team}`))),
    search: get(headers, ...some(count / 100).map((number) => list(`q=${wordOf(number, count)}`))),
    post: post(headers, "/members", member(1, count)),
  };
  for (const ask of Object.values(asks)) await probe(origin, ask);
  return asks;
}
