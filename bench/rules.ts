// What rules cost: a POST that is validated, a list that is filtered, a list that is searched.

import { cp } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Ask, Load, Loader } from "./load.ts";
import { interleave, type Pace, type Run } from "./measure.ts";
import { fillRuled, kept, type Ruled, storeFingerprint } from "./prepare.ts";
import { pageLimit, person, probe, restanteDialect } from "./scenarios.ts";
import { startRestante } from "./servers.ts";

/** The same without the rule and with it, a load for each round. */
export interface RuleLine {
  readonly rule: "validated" | "filtered" | "searched";
  readonly count: number;
  /** How many of them the rule leaves. */
  readonly matches: number;
  readonly without: readonly Load[];
  readonly with: readonly Load[];
}

const groupCount = 1_000;
const vocabulary = 2_000;
const textWords = 12;

const definitions = {
  open: {},
  strict: {
    schema: {
      type: "object",
      properties: {
        name: { type: "string", minLength: 1, maxLength: 100 },
        email: { type: "string", format: "email" },
      },
      required: ["name", "email"],
      additionalProperties: false,
    },
  },
  grouped: {
    schema: {
      type: "object",
      properties: {
        name: { type: "string" },
        email: { type: "string" },
        group: { type: "integer" },
      },
    },
    indexed: ["group"],
  },
  texts: { searchable: ["text"] },
};

/** A tenth as many texts as resources in groups. */
const ruled = (count: number): readonly Ruled[] => [
  { collection: "open", definition: definitions.open, count: 0, fieldsOf: person },
  { collection: "strict", definition: definitions.strict, count: 0, fieldsOf: person },
  { collection: "grouped", definition: definitions.grouped, count, fieldsOf: grouped },
  { collection: "texts", definition: definitions.texts, count: count / 10, fieldsOf: text },
];

const grouped = (number: number): object => ({ ...person(number), group: number % groupCount });

/** Twelve words out of two thousand, in an order that is the same in every run. */
function text(number: number): object {
  const words = Array.from({ length: textWords }, (_, index) =>
    wordOf(number * 7_919 + index * 104_729),
  );
  return { title: `Text ${number}`, text: words.join(" ") };
}

const wordOf = (number: number): string => `word${(number * 48_271) % vocabulary}`;

export async function measureRules(
  count: number,
  workFolder: string,
  secret: string,
  loader: Loader,
  pace: Pace,
): Promise<readonly RuleLine[]> {
  const madeBy = await storeFingerprint("sqlite");
  const source = await kept(`ruled-${count}-${madeBy}`, (folder) =>
    fillRuled(folder, ruled(count)),
  );
  const folder = join(workFolder, basename(source));
  await cp(source, folder, { recursive: true });
  const server = await startRestante(folder, secret);
  try {
    const { headers } = restanteDialect(secret, []);
    const asks = asksOf(headers, count);
    for (const ask of asks) await probe(server.origin, ask);
    const runs = asks.map(
      (ask): Run =>
        (seconds) =>
          loader.load(server.origin, ask, seconds),
    );
    const columns = await interleave("what rules cost", runs, pace);
    const line = (rule: RuleLine["rule"], index: number, of: number, share: number): RuleLine => ({
      rule,
      count: of,
      matches: of * share,
      without: columns[index] ?? [],
      with: columns[index + 1] ?? [],
    });
    return [
      line("validated", 0, 0, 0),
      line("filtered", 2, count, 1 / groupCount),
      line("searched", 4, count / 10, textWords / vocabulary),
    ];
  } finally {
    await server.stop();
  }
}

type Fields = Readonly<Record<string, string>>;

/** In pairs: without the rule, with it. At random, so that no answer is still at hand. */
function asksOf(headers: Fields, count: number): readonly Ask[] {
  const pages = (collection: string, total: number) =>
    Array.from({ length: groupCount }, (_, index) => {
      const page = 1 + Math.floor((index * total) / pageLimit / groupCount);
      return `/${collection}?page=${page}&limit=${pageLimit}`;
    });
  const groups = Array.from(
    { length: groupCount },
    (_, group) => `/grouped?group=${group}&limit=${pageLimit}`,
  );
  const words = Array.from(
    { length: groupCount },
    (_, number) => `/texts?q=${wordOf(number)}&limit=${pageLimit}`,
  );
  return [
    post(headers, "/open"),
    post(headers, "/strict"),
    get(headers, pages("grouped", count)),
    get(headers, groups),
    get(headers, pages("texts", count / 10)),
    get(headers, words),
  ];
}

const get = (headers: Fields, paths: readonly string[]): Ask => ({
  method: "GET",
  headers,
  body: "",
  paths,
  status: 200,
});

const post = (headers: Fields, path: string): Ask => ({
  method: "POST",
  headers: { ...headers, "content-type": "application/json" },
  body: JSON.stringify(person(1)),
  paths: [path],
  status: 201,
});
