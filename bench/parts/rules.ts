// Rules: what they cost, beside the same requests to the same posts without rules.

import { bearer, define, type Headers, readIds } from "../data/fill.ts";
import { type Caller, type PostRules, postDefinitions } from "../data/posts.ts";
import { pageLimit } from "../data/records.ts";
import { type Engine, engines } from "../data/stores.ts";
import { interleave, type Run } from "../load/interleave.ts";
import { type Ask, load } from "../load/load.ts";
import { get, post, probe } from "../load/scenarios.ts";
import { faultsIn, type RatePair, ratePair } from "../report/figures.ts";
import { metered } from "../servers/meters.ts";
import type { Running } from "../servers/processes.ts";
import { costOf, type PageCost } from "./relations.ts";
import { attempt, type Setting } from "./setting.ts";

export interface RulesFigures {
  readonly sizes: readonly number[];
  readonly lines: readonly RulesLine[];
  /** What failed, if anything did. */
  readonly errors: readonly string[];
}

export interface RulesLine {
  readonly engine: Engine;
  readonly request: RuledRequest;
  /** How many posts there are. */
  readonly count: number;
  readonly rates: RatePair;
  readonly plain: PageCost;
  readonly ruled: PageCost;
  readonly faults: readonly string[];
}

export const ruledTitles = {
  one: "GET one that is published, with three fields",
  many: "The same by 1,000 callers in turn",
  mine: "List of 20 of one's own",
  team: "List of 20 of three teams, which are a set",
  tenant: "List of 20 of one's own, within a boundary",
  shared: "List of 20 of one's own or of three teams",
} as const;
export type RuledRequest = keyof typeof ruledTitles;
export const ruledRequests = Object.keys(ruledTitles) as readonly RuledRequest[];

/** These are measured at every size. */
const grown: readonly RuledRequest[] = ["mine", "team"];

const rulesOf: Readonly<Record<RuledRequest, PostRules>> = {
  one: "several",
  many: "several",
  mine: "mine",
  team: "team",
  tenant: "tenant",
  shared: "shared",
};

/** The filter that chooses what the rules let a caller read. For `shared` it is the larger half. */
const filters: Readonly<Partial<Record<RuledRequest, (caller: Caller) => string>>> = {
  mine: ({ subject }) => `author=${subject}`,
  team: ({ teams }) => `team[in]=${teams.join(",")}`,
  tenant: ({ subject, tenant }) => `author=${subject}&tenant=${tenant}`,
  shared: ({ teams }) => `team[in]=${teams.join(",")}`,
};

export async function measureRules(setting: Setting): Promise<RulesFigures> {
  const { growth: sizes } = setting.sizes;
  await fillAll(setting);
  const lines: RulesLine[] = [];
  const errors: string[] = [];
  for (const engine of engines)
    for (const count of sizesOf(engine, setting)) {
      const label = `rules, ${engine}, ${count}`;
      const found = await attempt(label, () => measureSize(engine, count, setting));
      if ("error" in found) errors.push(`${engine}, ${count}: ${found.error}`);
      else lines.push(...found);
    }
  return { sizes, lines, errors };
}

/** On Postgres only the largest, because to fill it takes minutes. */
const sizesOf = (engine: Engine, { sizes }: Setting): readonly number[] =>
  engine === "embedded" ? sizes.growth : [sizes.big];

/** Both engines at the same time, because one alone does not keep two cores busy. */
const fillAll = (setting: Setting): Promise<unknown> =>
  Promise.allSettled(
    engines.map(async (engine) => {
      for (const count of sizesOf(engine, setting)) await setting.stores.posts(engine, count);
    }),
  );

async function measureSize(
  engine: Engine,
  count: number,
  setting: Setting,
): Promise<readonly RulesLine[]> {
  const { stores } = setting;
  const { data, callers } = await stores.posts(engine, count);
  const running = await stores.start(data);
  try {
    const lines: RulesLine[] = [];
    for (const request of count === setting.sizes.big ? ruledRequests : grown)
      lines.push(await measureRequest({ engine, count, running, callers }, request, setting));
    return lines;
  } finally {
    await running.stop();
  }
}

interface Measured {
  readonly engine: Engine;
  readonly count: number;
  readonly running: Running;
  readonly callers: readonly Caller[];
}

const postsPerSecond = 20;

/** The rules are taken away and given back between the loads, so that both read the same posts. */
async function measureRequest(
  { engine, count, running, callers }: Measured,
  asked: RuledRequest,
  { stores, sizes, secret }: Setting,
): Promise<RulesLine> {
  const headers = bearer(secret);
  const { origin } = running;
  const database = engine === "postgres" ? await stores.database() : undefined;
  const loader = metered(load, {
    server: running.processorSeconds,
    database: () => database?.processorSeconds() ?? 0,
  });
  const draft = post(headers, "/posts", { title: "Draft", author: "nobody", status: "draft" });
  const run = (rules: PostRules, ask: Ask): Run => {
    return async (seconds) => {
      await define(origin, headers, "posts", postDefinitions[rules]);
      await probe(origin, ask);
      // The rules of every caller are bound once.
      await load(origin, ask, sizes.pace.warmUpSeconds);
      // Lists are read while another client writes, so that no page is kept.
      const beside = { connections: 1, perSecond: postsPerSecond };
      const [read, written] = await Promise.all([
        loader(origin, ask, seconds),
        asked in filters ? load(origin, draft, seconds, beside) : undefined,
      ]);
      return { ...read, fault: read.fault ?? written?.fault };
    };
  };
  await define(origin, headers, "posts", postDefinitions.plain);
  const asks = await asksOf(origin, headers, asked, callers);
  const runs = [run("plain", asks.plain), run(rulesOf[asked], asks.ruled)];
  const label = `${ruledTitles[asked]}, ${engine}, ${count.toLocaleString("en")}`;
  const pace = { ...sizes.pace, rounds: 2, warmUpSeconds: 0.1 };
  const [plain = [], ruled = []] = await interleave(label, runs, pace);
  const figures = { rates: ratePair(plain, ruled), plain: costOf(plain), ruled: costOf(ruled) };
  return { engine, request: asked, count, ...figures, faults: faultsIn([...plain, ...ruled]) };
}

/** How many different posts are asked for. */
const variety = 1_000;
const pages = [1, 2, 3, 4, 5];

interface Asks {
  readonly plain: Ask;
  readonly ruled: Ask;
}

async function asksOf(
  origin: string,
  headers: Headers,
  asked: RuledRequest,
  callers: readonly Caller[],
): Promise<Asks> {
  const secrets = callers.map((caller) => caller.secret);
  const filter = filters[asked];
  if (filter === undefined) {
    const ids = await readIds(origin, headers, "posts", variety, "status=published");
    const paths = ids.map((id) => `/posts/${id}`);
    const [first = ""] = secrets;
    const ask = asked === "one" ? get(bearer(first), ...paths) : { ...get({}, ...paths), secrets };
    return { plain: ask, ruled: ask };
  }
  const ends = pages.map((page) => `page=${page}&limit=${pageLimit}`);
  const filtered = callers.flatMap((caller) =>
    ends.map((end) => `/posts?${filter(caller)}&${end}`),
  );
  return {
    plain: { ...get({}, ...filtered), secrets },
    ruled: { ...get({}, ...ends.map((end) => `/posts?${end}`)), secrets },
  };
}
