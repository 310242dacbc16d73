// On Postgres: Restante and @platformatic/db, each with a database of its own on one server.

import { compare } from "../load/compare.ts";
import { load } from "../load/load.ts";
import { peopleCount, restanteApi, type Scenario } from "../load/scenarios.ts";
import { type ScenarioFigures, scenarioFigures } from "../report/figures.ts";
import { type Fsync, fsyncLatency } from "../servers/machine.ts";
import type { Absent, Server } from "../servers/peers.ts";
import { startPeerOnPostgres } from "../servers/peers.ts";
import type { Memory } from "../servers/processes.ts";
import type { Setting } from "./setting.ts";
import { fillPeople } from "./speed.ts";

export interface PostgresFigures {
  readonly version: string;
  readonly fsync: Fsync;
  readonly comparisons: readonly ScenarioFigures[];
  readonly memory: Memory | undefined;
}

const names: readonly Scenario[] = ["get", "list", "post"];

export async function measurePostgres(setting: Setting): Promise<PostgresFigures> {
  const database = await setting.stores.database();
  const servers = [
    await startOurs(setting, "restante"),
    await startOurs(setting, "workers"),
    ...(setting.withPeers ? [await startOther(setting)] : []),
  ];
  const present = servers.filter((one) => "running" in one);
  const absent = servers.filter((one) => "reason" in one);
  try {
    const comparisons: ScenarioFigures[] = [];
    for (const name of names) {
      const found = await compare(name, present, load, setting.sizes.pace, {
        database: database.processorSeconds,
      });
      comparisons.push(scenarioFigures({ ...found, absent: [...found.absent, ...absent] }));
    }
    return {
      version: database.version,
      fsync: fsyncLatency(database.folder),
      comparisons,
      memory: present[0]?.running.memory(),
    };
  } finally {
    await Promise.all(present.map(({ running }) => running.stop()));
  }
}

async function startOurs(
  { stores, secret }: Setting,
  name: "restante" | "workers",
): Promise<Server> {
  const data = await stores.empty("postgres");
  const own = name === "workers" ? ["--workers", "2"] : [];
  const running = await stores.start(data, { own });
  const ids = await fillPeople(running, secret, peopleCount);
  return { name, api: restanteApi(secret, ids), running };
}

async function startOther({ stores }: Setting): Promise<Server | Absent> {
  const url = await (await stores.database()).forPeer(peopleCount);
  return startPeerOnPostgres(await stores.folder(), url);
}
