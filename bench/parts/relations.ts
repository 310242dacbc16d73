// Relations, sums and imports: pages with the resources they refer to, a sum over all members, and CSV beside NDJSON.

import { bearer, define, linesOf, request } from "../data/fill.ts";
import { member, pageLimit } from "../data/records.ts";
import { fillShop } from "../data/shop.ts";
import { type Engine, engines } from "../data/stores.ts";
import { interleave, type Run } from "../load/interleave.ts";
import { type Load, load } from "../load/load.ts";
import { get, post, probe } from "../load/scenarios.ts";
import { faultsIn, median, type RatePair, ratePair, spentOn } from "../report/figures.ts";
import { metered } from "../servers/meters.ts";
import { type FairnessLine, measureBeside } from "./fairness.ts";
import { sumPath } from "./heavy-work.ts";
import { linesAtOnce, postLines } from "./post-lines.ts";
import { attempt, type Setting } from "./setting.ts";

export interface RelationsFigures {
  readonly lines: readonly (EngineFigures | { readonly engine: Engine; readonly error: string })[];
}

export interface EngineFigures {
  readonly engine: Engine;
  readonly expand: ExpandFigures;
  /** Resources each second: NDJSON first, CSV last. */
  readonly csv: RatePair;
  /** On Postgres, the scans show how fast it is: to fill a million takes minutes. */
  readonly sum?: SumFigures;
  readonly faults: readonly string[];
}

/** A page without and with what its resources refer to. */
export interface ExpandFigures {
  readonly plain: PageCost;
  readonly expanded: PageCost;
}

export interface PageCost {
  readonly p50Ms: number;
  /** Processor time of the server and of its database. */
  readonly cpuUs: number;
}

export interface SumFigures {
  readonly count: number;
  /** Of one sum, with nothing else to do, and the processor time that it takes. */
  readonly ms: number;
  readonly cpuMs: number;
  readonly beside: FairnessLine;
}

export async function measureRelations(setting: Setting): Promise<RelationsFigures> {
  const lines = [];
  for (const engine of engines) {
    const found = await attempt(`relations, ${engine}`, () => measureEngine(engine, setting));
    lines.push("error" in found ? { engine, ...found } : found);
  }
  return { lines };
}

async function measureEngine(engine: Engine, setting: Setting): Promise<EngineFigures> {
  const { faults, ...expand } = await measureExpand(engine, setting);
  const { faults: more, ...csv } = await measureCsv(engine, setting);
  const figures = { engine, expand, csv };
  if (engine === "postgres") return { ...figures, faults: [...faults, ...more] };
  const sum = await measureSum(engine, setting);
  return { ...figures, sum, faults: [...faults, ...more, ...sum.beside.faults] };
}

type Faults = Pick<EngineFigures, "faults">;

const postsPerSecond = 20;

/** Pages at random, while another client creates orders, so that no response is still at hand. */
async function measureExpand(engine: Engine, setting: Setting): Promise<ExpandFigures & Faults> {
  const { stores, sizes, secret } = setting;
  const headers = bearer(secret);
  const server = await stores.start(await stores.empty(engine));
  try {
    await fillShop(server.origin, headers, sizes.shop);
    const database = engine === "postgres" ? await stores.database() : undefined;
    const loader = metered(load, {
      server: server.processorSeconds,
      database: () => database?.processorSeconds() ?? 0,
    });
    const pages = Array.from({ length: sizes.shop.orders / pageLimit }, (_, at) => at + 1);
    const asks = ["", "&expand=customer,lines%5B%5D.product"].map((expand) =>
      get(headers, ...pages.map((page) => `/orders?page=${page}&limit=${pageLimit}${expand}`)),
    );
    for (const ask of asks) await probe(server.origin, ask);
    const order = post(headers, "/orders", { number: 0, status: "open" });
    const runs = asks.map(
      (ask): Run =>
        async (seconds) => {
          const beside = { connections: 1, perSecond: postsPerSecond };
          const [pages, posts] = await Promise.all([
            loader(server.origin, ask, seconds),
            load(server.origin, order, seconds, beside),
          ]);
          return { ...pages, fault: pages.fault ?? posts.fault };
        },
    );
    const [plain = [], expanded = []] = await interleave(`expand, ${engine}`, runs, sizes.pace);
    const faults = faultsIn([...plain, ...expanded]);
    return { plain: costOf(plain), expanded: costOf(expanded), faults };
  } finally {
    await server.stop();
  }
}

export function costOf(loads: readonly Load[]): PageCost {
  const spent = spentOn(loads);
  const cpuUs = (spent?.server.perRequestUs ?? Number.NaN) + (spent?.database.perRequestUs ?? 0);
  return { p50Ms: median(loads.map(({ p50Ms }) => p50Ms)), cpuUs };
}

const schema = {
  type: "object",
  properties: {
    name: { type: "string" },
    email: { type: "string" },
    age: { type: "integer" },
    score: { type: "number" },
    city: { type: "string" },
  },
};

/** The same records in both formats, to collections with the same schema. */
async function measureCsv(engine: Engine, setting: Setting): Promise<RatePair & Faults> {
  const { stores, sizes, secret } = setting;
  const headers = bearer(secret);
  const server = await stores.start(await stores.empty(engine));
  try {
    const recordOf = (number: number) => {
      const fields = member(number, linesAtOnce) as Readonly<Record<string, unknown>>;
      return Object.fromEntries(Object.keys(schema.properties).map((name) => [name, fields[name]]));
    };
    const rows = Array.from({ length: linesAtOnce }, (_, at) => Object.values(recordOf(at + 1)));
    const header = Object.keys(schema.properties);
    const bodies = {
      "application/x-ndjson": linesOf(recordOf, 1, linesAtOnce),
      "text/csv": `${[header, ...rows].map((cells) => cells.join(",")).join("\n")}\n`,
    };
    for (const collection of ["lines", "rows"])
      await define(server.origin, headers, collection, { schema });
    const runs = Object.entries(bodies).map(([type, body], at): Run => {
      const address = `${server.origin}/${["lines", "rows"][at]}`;
      return (seconds) => postLines(address, { ...headers, "content-type": type }, body, seconds);
    });
    const [lines = [], table = []] = await interleave(`imports, ${engine}`, runs, sizes.pace);
    return { ...ratePair(lines, table), faults: faultsIn([...lines, ...table]) };
  } finally {
    await server.stop();
  }
}

async function measureSum(engine: Engine, setting: Setting): Promise<SumFigures> {
  const { stores, sizes, secret } = setting;
  const headers = bearer(secret);
  const server = await stores.start(await stores.members(engine, sizes.big));
  const [times, cpuTimes]: [number[], number[]] = [[], []];
  let count = 0;
  try {
    for (let turn = 0; turn < sizes.pace.rounds; turn++) {
      const startedAt = performance.now();
      const spentBefore = server.processorSeconds();
      const text = await request(`${server.origin}${sumPath(turn)}`, { headers }, 200);
      times.push(performance.now() - startedAt);
      cpuTimes.push((server.processorSeconds() - spentBefore) * 1000);
      count = (JSON.parse(text) as Counted).data[0]?.count ?? 0;
    }
  } finally {
    await server.stop();
  }
  const beside = await measureBeside(engine, "sum", new Map(), [], setting);
  return { count, ms: median(times), cpuMs: median(cpuTimes), beside };
}

interface Counted {
  readonly data: readonly { readonly count: number }[];
}
