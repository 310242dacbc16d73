// Whether what was asked for is reached.

import type { ServerName } from "../servers/peers.ts";
import { consoleVerdicts } from "./console.ts";
import { copyVerdicts } from "./copy.ts";
import type { Measured, ScenarioFigures } from "./figures.ts";
import { longRunVerdicts } from "./long-run-verdicts.ts";
import { relationsVerdicts } from "./relations.ts";
import { figuresOf, type Results } from "./results.ts";
import { rulesVerdicts } from "./rules.ts";
import { atLeast, atMost, type Verdict, valid } from "./verdict.ts";
import { watchingVerdicts } from "./watching.ts";

export const verdicts = (results: Results): readonly Verdict[] => [
  ...speedVerdicts(results),
  ...oneCoreVerdicts(results),
  ...postgresVerdicts(results),
  ...bodiesVerdicts(results),
  ...watchingVerdicts(results),
  ...longRunVerdicts(results),
  ...relationsVerdicts(results),
  ...rulesVerdicts(results),
  ...copyVerdicts(results),
  ...consoleVerdicts(results),
];

function speedVerdicts(results: Results): readonly Verdict[] {
  const figures = figuresOf(results, "speed");
  const setUp = "of bare, all cores";
  const line = (what: string, key: string, least: number) =>
    atLeast(what, setUp, least, "×", toBare(figures?.comparisons, key));
  const validated = rateTo(figures?.comparisons, "validated", "post");
  return [
    line("GET one", "get", 0.7),
    line("List of 20, hot", "list", 0.65),
    line("Random page of 20", "page", 0.3),
    line("POST", "post", 0.4),
    line("GET one, 304", "conditional", 0.6),
    line("GET one with 100,000 tokens in use", "tokens", 0.5),
    line("GET one beside 100 POST a second", "beside", 0.6),
    atLeast("POST, validated", "of POST without a schema", 0.9, "×", validated),
  ];
}

function oneCoreVerdicts(results: Results): readonly Verdict[] {
  const comparisons = figuresOf(results, "one-core")?.comparisons;
  return [
    atLeast("GET one of 5,000", "of bare, one core", 0.55, "×", toBare(comparisons, "random")),
    atLeast("POST", "of bare, one core", 0.3, "×", toBare(comparisons, "post")),
  ];
}

function postgresVerdicts(results: Results): readonly Verdict[] {
  const comparisons = figuresOf(results, "postgres")?.comparisons;
  const setUp = "to @platformatic/db, both on Postgres";
  const times = (key: string) => timesPeer(comparisons, key, "platformatic");
  return [
    atLeast("List of 20", setUp, 8, "×", times("list")),
    atLeast("POST", setUp, 3.5, "×", times("post")),
  ];
}

function bodiesVerdicts(results: Results): readonly Verdict[] {
  const figures = figuresOf(results, "bodies");
  const peaks = figures?.uploads.map(({ memory }) => memory?.peakMb ?? Number.NaN) ?? [];
  const many = figures && valid(figures)?.many.lastToFirst;
  const peak = peaks.length > 0 ? Math.max(...peaks) : undefined;
  return [
    atLeast("Resources a second by NDJSON", "to one a POST", 5, "×", many),
    atMost("Upload of 1 GB", "peak memory on either runtime", 150, " MB", peak),
  ];
}

export function figureOf(
  comparisons: readonly ScenarioFigures[] | undefined,
  key: string,
  server: ServerName,
): Measured | undefined {
  const figures = comparisons?.find((one) => one.key === key)?.figures ?? [];
  return figures.find((one): one is Measured => one.server === server && "faults" in one);
}

function toBare(
  comparisons: readonly ScenarioFigures[] | undefined,
  key: string,
): number | undefined {
  const ours = figureOf(comparisons, key, "restante");
  return ours && valid(ours)?.ratioToBare;
}

function rateTo(
  comparisons: readonly ScenarioFigures[] | undefined,
  key: string,
  other: string,
): number | undefined {
  const one = figureOf(comparisons, key, "restante");
  const two = figureOf(comparisons, other, "restante");
  if (one === undefined || two === undefined || !valid(one) || !valid(two)) return undefined;
  return one.requestsPerSecond / two.requestsPerSecond;
}

/** Faults only flatter a peer's rate, so it counts. */
export function timesPeer(
  comparisons: readonly ScenarioFigures[] | undefined,
  key: string,
  peer: ServerName,
): number | undefined {
  const ours = figureOf(comparisons, key, "restante");
  const theirs = figureOf(comparisons, key, peer);
  if (ours === undefined || theirs === undefined || !valid(ours)) return undefined;
  return ours.requestsPerSecond / theirs.requestsPerSecond;
}
