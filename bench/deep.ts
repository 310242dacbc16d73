// Pages at any depth: the first and the last of a large collection, also after removals.

import { defaultConnections, type Load, type Loader } from "./load.ts";
import { interleave, type Pace, type Run } from "./measure.ts";
import type { Memory, Running } from "./processes.ts";
import { pageLimit, pages, probe, restanteDialect } from "./scenarios.ts";
import type { Absent, Contestant } from "./servers.ts";

export interface Depth {
  readonly count: number;
  readonly lines: readonly DepthLine[];
  readonly absent: readonly Absent[];
  readonly memory: Memory | undefined;
}

/** The loads of one server on one set, a load for each round. */
export interface DepthLine {
  readonly server: Contestant["name"];
  readonly set: string;
  readonly lastPage: number;
  readonly first: readonly Load[];
  readonly last: readonly Load[];
  /** Pages at random of the first and of the last tenth: too many for a cache of recent answers. */
  readonly early: readonly Load[];
  readonly late: readonly Load[];
}

export interface Reader extends Contestant {
  readonly set: string;
  readonly total: number;
}

/** Ours on each set, and the peer if it is wanted. Stops all of them at the end. */
export async function depth(
  count: number,
  ours: readonly Reader[],
  peer: Reader | Absent | undefined,
  loader: Loader,
  pace: Pace,
): Promise<Depth> {
  const readers = peer === undefined || "reason" in peer ? ours : [...ours, peer];
  try {
    const runs = (await Promise.all(readers.map((reader) => runsOf(reader, loader)))).flat();
    const columns = await interleave("pages at any depth", runs, pace);
    const lines = readers.map((reader, index) => {
      const [first = [], last = [], early = [], late = []] = columns.slice(index * 4);
      const { name: server, set } = reader;
      return { server, set, lastPage: lastPage(reader), first, last, early, late };
    });
    const absent = peer !== undefined && "reason" in peer ? [peer] : [];
    return { count, lines, absent, memory: ours[0]?.running.memory() };
  } finally {
    await Promise.all(readers.map(({ running }) => running.stop()));
  }
}

const lastPage = ({ total }: Reader): number => Math.ceil(total / pageLimit);

/** The two big sets, whichever store they are in. */
export async function openReaders(
  start: (set: "full" | "thinned") => Promise<Running>,
  secret: string,
): Promise<readonly Reader[]> {
  return [
    await openReader("as filled", await start("full"), secret),
    await openReader("a tenth removed", await start("thinned"), secret),
  ];
}

async function openReader(set: string, running: Running, secret: string): Promise<Reader> {
  const dialect = restanteDialect(secret, []);
  const { body } = await probe(running.origin, pages(dialect, 1));
  const { total } = JSON.parse(body) as { total: number };
  return { name: "restante", set, total, dialect, running };
}

export const peerReader = (peer: Contestant | Absent, total: number): Reader | Absent =>
  "reason" in peer ? peer : { ...peer, set: "as filled", total };

/** With more, a page of the peer's would take longer than a load lasts. */
export const peerConnections = 4;

async function runsOf(reader: Reader, loader: Loader): Promise<readonly Run[]> {
  const { dialect, running } = reader;
  const last = lastPage(reader);
  const tenth = Array.from({ length: Math.floor(last / 10) }, (_, index) => index);
  const asks = [
    pages(dialect, 1),
    pages(dialect, last),
    pages(dialect, ...tenth.map((index) => 1 + index)),
    pages(dialect, ...tenth.map((index) => last - index)),
  ];
  for (const ask of asks) await probe(running.origin, ask);
  const connections = reader.name === "restante" ? defaultConnections : peerConnections;
  return asks.map(
    (ask) => (seconds: number) => loader.load(running.origin, ask, seconds, connections),
  );
}
