// Scans: rows a second that a filter without an index looks at, and how long a POST waits for a build.

import { bearer, type Headers, request, totalOf } from "../data/fill.ts";
import { member } from "../data/records.ts";
import { type Engine, engines } from "../data/stores.ts";
import { bar, during } from "../progress.ts";
import { median } from "../report/figures.ts";
import { buildFields, finishBuild, startBuild } from "./index-build.ts";
import { attempt, type Setting } from "./setting.ts";

export interface ScanFigures {
  readonly count: number;
  readonly engines: readonly (EngineScans | { readonly engine: Engine; readonly error: string })[];
}

export interface EngineScans {
  readonly engine: Engine;
  readonly scans: readonly ScanLine[];
  readonly build: BuildFigures | { readonly error: string };
}

export interface ScanLine {
  readonly filter: Filter;
  /** Of one query, which one thread runs. */
  readonly rowsPerSecond: number;
  readonly error?: string;
}

export interface BuildFigures {
  readonly seconds: number;
  readonly posts: number;
  readonly longestMs: number;
  /** The same for as long, without a build. */
  readonly idleLongestMs: number;
}

export const filterTitles = {
  text: "Text that is equal",
  number: "Number in a range",
  contains: "Text that contains",
  folded: "Text that contains, whatever the case",
} as const;
export type Filter = keyof typeof filterTitles;

/** They match nothing, so that every row is looked at. `turn` makes each query a new one. */
const filters: Readonly<Record<Filter, (turn: number) => string>> = {
  text: (turn) => `city=Nowhere ${turn}`,
  number: (turn) => `age[gt]=${1_000 + turn}`,
  contains: (turn) => `city[contains]=nowhere ${turn}`,
  folded: (turn) => `city[icontains]=nowhere ${turn}`,
};
const filterNames = Object.keys(filters) as readonly Filter[];

export async function measureScan(setting: Setting): Promise<ScanFigures> {
  const found = [];
  for (const engine of engines) {
    const one = await attempt(`scan, ${engine}`, () => measureEngine(engine, setting));
    found.push("error" in one ? { engine, error: one.error } : one);
  }
  return { count: setting.sizes.big, engines: found };
}

async function measureEngine(engine: Engine, setting: Setting): Promise<EngineScans> {
  const { stores, sizes, secret } = setting;
  const server = await stores.start(await stores.members(engine, sizes.big));
  const headers = bearer(secret);
  try {
    const scans: ScanLine[] = [];
    const show = bar(`scans, ${engine}`, filterNames.length);
    for (const filter of filterNames) {
      const rate = await attempt(`scan, ${engine}, ${filter}`, () =>
        scanRate(server.origin, headers, filter),
      );
      const none = { filter, rowsPerSecond: Number.NaN };
      scans.push(typeof rate === "number" ? { filter, rowsPerSecond: rate } : { ...none, ...rate });
      show(scans.length);
    }
    const building = attempt(`index build, ${engine}`, () =>
      measureBuild(server.origin, headers, setting),
    );
    return { engine, scans, build: await during(`building an index, ${engine}`, building) };
  } finally {
    await server.stop();
  }
}

async function scanRate(origin: string, headers: Headers, filter: Filter): Promise<number> {
  const count = await totalOf(origin, headers, "members");
  const rates: number[] = [];
  for (let turn = 0; turn < 2; turn++) {
    const url = `${origin}/members?total=none&${encodeURI(filters[filter](turn))}`;
    const startedAt = performance.now();
    const text = await request(url, { headers }, 200);
    rates.push((count * 1000) / (performance.now() - startedAt));
    const { data } = JSON.parse(text) as { readonly data: readonly unknown[] };
    if (data.length > 0) throw new Error(`${filters[filter](turn)} has matches`);
  }
  return median(rates);
}

/** One client that POSTs to the same collection, one request after another. */
async function measureBuild(
  origin: string,
  headers: Headers,
  { sizes }: Setting,
): Promise<BuildFigures> {
  const until = performance.now() + sizes.fairnessSeconds * 1000;
  const idle = await postWhile(origin, headers, sizes.big, () => performance.now() < until);
  let isOver = false;
  const startedAt = performance.now();
  const posting = postWhile(origin, headers, sizes.big, () => !isOver);
  try {
    const isStarted = await startBuild(origin, headers, buildFields.scan);
    if (!isStarted) throw new Error("every field has an index already");
    await finishBuild(origin, headers);
  } finally {
    isOver = true;
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const { posts, longestMs } = await posting;
  return { seconds, posts, longestMs, idleLongestMs: idle.longestMs };
}

async function postWhile(
  origin: string,
  headers: Headers,
  count: number,
  goesOn: () => boolean,
): Promise<{ readonly posts: number; readonly longestMs: number }> {
  const init = {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(member(1, count)),
  };
  let posts = 0;
  let longestMs = 0;
  for (; goesOn(); posts++) {
    const startedAt = performance.now();
    await request(`${origin}/members`, init, 201);
    longestMs = Math.max(longestMs, performance.now() - startedAt);
    await Bun.sleep(5);
  }
  return { posts, longestMs };
}
