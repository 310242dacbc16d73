// The part on Postgres: Restante and @platformatic/db, each with a database of its own on one server.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { newSecret } from "../src/model/token.ts";
import { openPostgres } from "../src/store/postgres/postgres.ts";
import { bigSet, type Database } from "./database.ts";
import { depth, openReaders, peerReader } from "./deep.ts";
import type { Loader } from "./load.ts";
import { fsyncLatency } from "./machine.ts";
import { contest, type Pace } from "./measure.ts";
import { metered } from "./meters.ts";
import { fill } from "./prepare.ts";
import type { Running } from "./processes.ts";
import {
  type ContestFigures,
  contestFigures,
  type DepthFigures,
  depthFigures,
  type PostgresSuite,
} from "./results.ts";
import { peopleCount, restanteDialect, type Scenario } from "./scenarios.ts";
import { type Contestant, startPeerOnPostgres, startRestante } from "./servers.ts";

const scenarios: readonly Scenario[] = ["get", "post", "list"];

/** Everything of one run. */
interface Setting {
  readonly database: Database;
  readonly folder: string;
  readonly secret: string;
  readonly withPeer: boolean;
  readonly loader: Loader;
  readonly pace: Pace;
}

/** Closes the database at the end. */
export async function onPostgres(
  database: Database,
  bigCount: number,
  workFolder: string,
  withPeer: boolean,
  loader: Loader,
  pace: Pace,
): Promise<PostgresSuite> {
  const folder = join(workFolder, "postgres");
  await mkdir(folder);
  const setting = { database, folder, secret: newSecret(), withPeer, loader, pace };
  try {
    const { version } = database;
    const fsync = fsyncLatency(database.folder);
    const suite = await measureScenarios(setting);
    return { ...suite, depth: await measureDepth(setting, bigCount), version, fsync };
  } finally {
    await database.close();
  }
}

async function measureScenarios(
  setting: Setting,
): Promise<Pick<PostgresSuite, "contests" | "memory">> {
  const { database, pace } = setting;
  const ours = await startOurs(setting, "restante");
  const shared = await startOurs(setting, "workers");
  const peer = setting.withPeer
    ? [await startPeer(setting, await database.forPeer(peopleCount))]
    : [];
  const present = [ours, shared, ...peer.filter((one) => "running" in one)];
  const absent = peer.filter((one) => "reason" in one);
  const loader = metered(setting.loader, {
    server: (origin) => processorSeconds(present, origin),
    database: database.processorSeconds,
  });
  const contests: ContestFigures[] = [];
  for (const name of scenarios) {
    const found = await contest(name, present, loader, pace);
    contests.push(contestFigures({ ...found, absent: [...found.absent, ...absent] }));
  }
  const memory = ours.running.memory();
  await Promise.all(present.map(({ running }) => running.stop()));
  return { contests, memory };
}

async function startOurs(setting: Setting, name: "restante" | "workers"): Promise<Contestant> {
  const url = await setting.database.empty();
  const ids = await fill(() => openPostgres({ url }), peopleCount);
  const dialect = restanteDialect(setting.secret, ids);
  const own = name === "workers" ? ["--workers", "2"] : [];
  return { name, dialect, running: await start(setting, url, own) };
}

const start = (
  { folder, secret }: Setting,
  url: string,
  own: readonly string[] = [],
): Promise<Running> => startRestante(folder, secret, { own: ["--store", url, ...own] });

const startPeer = ({ folder }: Setting, url: string) => startPeerOnPostgres(folder, url);

/** Of the bare server, which is not among them, nobody wants to know. */
const processorSeconds = (servers: readonly Contestant[], origin: string): number =>
  servers.find(({ running }) => running.origin === origin)?.running.processorSeconds() ?? 0;

async function measureDepth(setting: Setting, count: number): Promise<DepthFigures> {
  const { database, secret, withPeer, loader, pace } = setting;
  const ours = await openReaders((set) => start(setting, database.url(bigSet[set])), secret);
  const peer = withPeer
    ? peerReader(await startPeer(setting, database.url(bigSet.peer)), count)
    : undefined;
  return depthFigures(await depth(count, ours, peer, loader, pace));
}
