// Whether what was asked for is reached.

import type {
  BodyFigures,
  ContestFigures,
  DepthFigures,
  Measured,
  Results,
  RuleFigure,
  Suite,
  Verdict,
} from "./results.ts";
import type { Scenario } from "./scenarios.ts";
import { type PeerName, peerNames, type ServerName } from "./servers.ts";

export function judge({
  embedded,
  rules,
  bodies,
  postgres,
}: Omit<Results, "machine" | "pace" | "verdicts">) {
  return [
    ...judgeEmbedded(embedded),
    ...judgeRules(rules),
    ...judgeBodies(bodies),
    ...(postgres ? judgePostgres(postgres) : []),
  ];
}

function judgeBodies(bodies: BodyFigures | undefined): readonly Verdict[] {
  const isCounted = bodies !== undefined && isValid(bodies);
  const peaks = bodies?.uploads.map(({ memory }) => memory?.peakMb ?? Number.NaN) ?? [];
  return [
    atLeast(
      "Resources a second by NDJSON, to one a POST",
      5,
      isCounted ? 1 / bodies.many.lastToFirst : undefined,
    ),
    atMost(
      "Resident memory of an upload of 1 GB, peak on either runtime",
      150,
      " MB",
      peaks.length > 0 ? Math.max(...peaks) : undefined,
    ),
  ];
}

function judgeRules(figures: readonly RuleFigure[]): readonly Verdict[] {
  const cost = (rule: RuleFigure["rule"]) => {
    const figure = figures.find((one) => one.rule === rule);
    return figure !== undefined && isValid(figure) ? figure.cost.lastToFirst : undefined;
  };
  return [
    atMost("POST that is validated, to one that is not", 1.1, "×", cost("validated")),
    atMost("Page of an indexed filter, to one without", 3, "×", cost("filtered")),
    atMost("Page of a search, to one without", 10, "×", cost("searched")),
  ];
}

function judgeEmbedded({ contests, depth, memory }: Suite): readonly Verdict[] {
  const ofBare = (scenario: Scenario) => {
    const ours = figureOf(contests, scenario, "restante");
    return ours !== undefined && isValid(ours) ? ours.ratioToBare : undefined;
  };
  const peaks = [memory?.peakMb, depth?.memory?.peakMb].filter((peak) => peak !== undefined);
  return [
    atLeast("GET one, to the bare server", 0.5, ofBare("get")),
    atLeast("POST, to the bare server", 0.25, ofBare("post")),
    atLeast("List of 20 with exact total, to the bare server", 0.2, ofBare("list")),
    ...judgeDepth(depth, ""),
    atLeast("GET one, to the best peer", 5, toBestPeer(contests, "get", peerNames)),
    atLeast("POST, to the best peer", 15, toBestPeer(contests, "post", peerNames)),
    atMost(
      "Resident memory under load, peak",
      200,
      " MB",
      peaks.length > 0 ? Math.max(...peaks) : undefined,
    ),
  ];
}

function judgePostgres({ contests, depth }: Suite): readonly Verdict[] {
  const ofPeer = (scenario: Scenario, ours: ServerName) =>
    toBestPeer(contests, scenario, ["platformatic"], ours);
  const verdict = (title: string, scenario: Scenario) => [
    atLeast(`${title} on Postgres, to @platformatic/db`, 5, ofPeer(scenario, "restante")),
    atLeast("The same with 2 processes, to its one", 5, ofPeer(scenario, "workers")),
  ];
  return [
    ...verdict("GET one", "get"),
    ...verdict("POST", "post"),
    ...judgeDepth(depth, " on Postgres"),
  ];
}

function judgeDepth(depth: DepthFigures | undefined, where: string): readonly Verdict[] {
  // The worse of the two: an answer that is still at hand says nothing about depth.
  const ofFirst = (set: string) => {
    const line = depth?.lines.find((one) => one.server === "restante" && one.set === set);
    if (line === undefined || !isValid(line)) return undefined;
    return Math.max(line.same.lastToFirst, line.random.lastToFirst);
  };
  const million = (depth?.count ?? 1_000_000).toLocaleString("en");
  return [
    atMost(`Last page of ${million}${where}, to the first`, 1.5, "×", ofFirst("as filled")),
    atMost("The same after a tenth was removed", 1.5, "×", ofFirst("a tenth removed")),
  ];
}

const atLeast = (what: string, least: number, measured: number | undefined): Verdict => ({
  what,
  asked: `≥ ${least} ×`,
  measured,
  unit: "×",
  reached: measured !== undefined && measured >= least,
});

const atMost = (
  what: string,
  most: number,
  unit: Verdict["unit"],
  measured: number | undefined,
): Verdict => ({
  what,
  asked: `≤ ${most}${unit === "×" ? " ×" : unit}`,
  measured,
  unit,
  reached: measured !== undefined && measured <= most,
});

const isValid = ({ faults }: { readonly faults: readonly string[] }): boolean =>
  faults.length === 0;

function figureOf(
  contests: readonly ContestFigures[],
  scenario: Scenario,
  server: ServerName,
): Measured | undefined {
  const figures = contests.find((contest) => contest.scenario === scenario)?.figures ?? [];
  return figures.find((one): one is Measured => one.server === server && "faults" in one);
}

/** Faults only flatter a peer's rate, so it counts; a missing peer might have been the best one. */
function toBestPeer(
  contests: readonly ContestFigures[],
  scenario: Scenario,
  names: readonly PeerName[],
  server: ServerName = "restante",
): number | undefined {
  const ours = figureOf(contests, scenario, server);
  const peers = names.map((name) => figureOf(contests, scenario, name));
  const rates = peers.map((peer) => peer?.requestsPerSecond).filter((rate) => rate !== undefined);
  if (ours === undefined || !isValid(ours) || rates.length < peers.length) return undefined;
  return ours.requestsPerSecond / Math.max(...rates);
}
