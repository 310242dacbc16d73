// One core: every thread of a server on one core, the loader on another, beside other servers.

import { compare } from "../load/compare.ts";
import { type Loader, load } from "../load/load.ts";
import { peopleCount, restanteApi, type Scenario } from "../load/scenarios.ts";
import { type ScenarioFigures, scenarioFigures } from "../report/figures.ts";
import { peerNames } from "../servers/install.ts";
import { type Absent, type Server, startPeer } from "../servers/peers.ts";
import { run } from "../servers/processes.ts";
import type { Setting } from "./setting.ts";
import { fillPeople } from "./speed.ts";

export interface OneCoreFigures {
  readonly comparisons: readonly ScenarioFigures[];
}

const names: readonly Scenario[] = ["random", "list", "post"];
const idCount = 5_000;
const loaderCore = 0;
const serverCore = 1;

const pinnedLoad: Loader = (origin, ask, seconds, options) =>
  load(origin, ask, seconds, { ...options, core: loaderCore });

export async function measureOneCore(setting: Setting): Promise<OneCoreFigures> {
  await run({ command: "taskset", args: ["-c", `${serverCore}`, "true"] }, 10).catch(() => {
    throw new Error("this part needs two cores, and taskset");
  });
  const { present, absent } = await startAll(setting);
  try {
    const comparisons: ScenarioFigures[] = [];
    for (const name of names) {
      const { pace } = setting.sizes;
      const found = await compare(name, present, pinnedLoad, pace, { core: serverCore });
      const about = name === "random" ? { about: `one of ${idCount.toLocaleString("en")}` } : {};
      comparisons.push(scenarioFigures({ ...found, absent: [...found.absent, ...absent] }, about));
    }
    return { comparisons };
  } finally {
    await Promise.all(present.map(({ running }) => running.stop()));
  }
}

async function startAll({ stores, secret, withPeers }: Setting) {
  const data = await stores.empty("embedded");
  const running = await stores.start(data, { core: serverCore });
  const ids = (await fillPeople(running, secret, peopleCount)).slice(0, idCount);
  const present: Server[] = [{ name: "restante", api: restanteApi(secret, ids), running }];
  const absent: Absent[] = [];
  for (const name of withPeers ? peerNames : []) {
    const peer = await startPeer(name, await stores.folder(), peopleCount, serverCore);
    if ("reason" in peer) absent.push(peer);
    else present.push({ ...peer, api: { ...peer.api, ids: peer.api.ids.slice(0, idCount) } });
  }
  return { present, absent };
}
