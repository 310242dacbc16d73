// Scans: rows a second that a filter without an index looks at.

import { bearer, type Headers, request, totalOf } from "../data/fill.ts";
import { type Engine, engines } from "../data/stores.ts";
import { bar } from "../progress.ts";
import { median } from "../report/figures.ts";
import { attempt, type Setting } from "./setting.ts";

export interface ScanFigures {
  readonly count: number;
  readonly engines: readonly (EngineScans | { readonly engine: Engine; readonly error: string })[];
}

export interface EngineScans {
  readonly engine: Engine;
  readonly scans: readonly ScanLine[];
}

export interface ScanLine {
  readonly filter: Filter;
  /** Of one query, which one thread runs; 0 when it failed. */
  readonly rowsPerSecond: number;
  readonly error?: string;
}

export const filterTitles = {
  text: "Text that is equal",
  number: "Number in a range",
  contains: "Text that contains",
  folded: "Text that contains, whatever the case",
  sum: "Sum of a number",
} as const;
export type Filter = keyof typeof filterTitles;

/** The filters match nothing, so that every row is looked at. `turn` makes each query a new one. */
const filters: Readonly<Record<Filter, (turn: number) => string>> = {
  text: (turn) => `city=Nowhere ${turn}`,
  number: (turn) => `age[gt]=${1_000 + turn}`,
  contains: (turn) => `city[contains]=nowhere ${turn}`,
  folded: (turn) => `city[icontains]=nowhere ${turn}`,
  sum: (turn) => `aggregate=sum(age)&limit=${1 + turn}`,
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
      const none = { filter, rowsPerSecond: 0 };
      scans.push(typeof rate === "number" ? { filter, rowsPerSecond: rate } : { ...none, ...rate });
      show(scans.length);
    }
    return { engine, scans };
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
    if (data.length > (filter === "sum" ? 1 : 0))
      throw new Error(`${filters[filter](turn)} has matches`);
  }
  return median(rates);
}
