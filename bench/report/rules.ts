// The section on rules, and whether what was asked for is reached.

import { type Engine, engines, engineTitles } from "../data/stores.ts";
import { type RuledRequest, type RulesLine, ruledTitles } from "../parts/rules.ts";
import { milliseconds, ratio, whole } from "./numbers.ts";
import { figuresOf, type Results } from "./results.ts";
import { oneLine, table } from "./tables.ts";
import { atLeast, atMost, type Verdict, valid } from "./verdict.ts";

const cpuRatio = ({ plain, ruled }: RulesLine): number => ruled.cpuUs / plain.cpuUs;
const timeRatio = ({ plain, ruled }: RulesLine): number => ruled.p50Ms / plain.p50Ms;

const lists: readonly RuledRequest[] = ["mine", "team", "tenant"];

export const rulesVerdicts = (results: Results): readonly Verdict[] =>
  engines.flatMap((engine): readonly Verdict[] => {
    const title = engineTitles[engine];
    const one = largest(results, engine, "one");
    return [
      atLeast(
        "GET one of a collection with rules",
        `rate, to one without, ${title}`,
        0.9,
        "×",
        one?.rates.lastToFirst,
      ),
      ...lists.flatMap((request) => {
        const line = largest(results, engine, request);
        const what = `${ruledTitles[request]}, by a rule`;
        const to = "to the filter without a rule";
        return [
          atMost(what, `CPU, ${to}, ${title}`, 1.5, "×", line && cpuRatio(line)),
          atMost(what, `p50, ${to}, ${title}`, 1.5, "×", line && timeRatio(line)),
        ];
      }),
    ];
  });

function largest(results: Results, engine: Engine, request: RuledRequest): RulesLine | undefined {
  const { lines = [], sizes = [] } = figuresOf(results, "rules") ?? {};
  const line = lines.find(
    (one) => one.engine === engine && one.request === request && one.count === sizes.at(-1),
  );
  return line && valid(line);
}

export function rulesSection(results: Results): readonly string[] {
  const figures = figuresOf(results, "rules");
  if (figures === undefined) return [];
  const notes = [
    ...figures.errors.map((error) => `- **failed:** ${oneLine(error)}`),
    ...figures.lines.flatMap(({ engine, request, faults }) =>
      faults.map(
        (fault) => `- ${engineTitles[engine]}, ${ruledTitles[request]}: ${oneLine(fault)}`,
      ),
    ),
  ];
  return [
    "## Rules",
    "Posts of authors with 100 each, in teams with 1,000 each; 1,000 callers have a token each and are in three teams. The same requests to the same posts with rules and without, in turn: the definition is changed between the loads. A list is one of the first five pages, of a caller at random, with the exact total; without rules, a filter chooses the same posts. For one's own or three teams, which no filter in a URL can choose, it chooses those of the teams. Each figure is the median of two rounds. While lists are read, another client creates 20 posts a second, so that no page is kept. The processor time on Postgres is that of the process and of the database.",
    ...engines.flatMap((engine) => [
      engine === "embedded" ? "Embedded:" : "On Postgres:",
      table(
        [
          "",
          "posts",
          "CPU µs, plain",
          "by rules",
          "ratio",
          "p50 ms, plain",
          "by rules",
          "ratio",
          "rate",
        ],
        figures.lines.filter((line) => line.engine === engine).map(rowOf),
      ),
    ]),
    ...(notes.length > 0 ? [notes.join("\n")] : []),
  ];
}

const rowOf = (line: RulesLine): readonly string[] => [
  ruledTitles[line.request],
  whole(line.count),
  ...[line.plain.cpuUs, line.ruled.cpuUs].map(whole),
  `${ratio(cpuRatio(line))} ×`,
  ...[line.plain.p50Ms, line.ruled.p50Ms].map(milliseconds),
  `${ratio(timeRatio(line))} ×`,
  `${ratio(line.rates.lastToFirst)} ×`,
];
