// Speed: Restante against a bare server, both free to use all cores.

import { newId } from "../../src/model/id.ts";
import { hashSecret, newSecret } from "../../src/model/secret.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import { bearer, define, fill, readIds } from "../data/fill.ts";
import { person } from "../data/records.ts";
import { type CompareOptions, compare } from "../load/compare.ts";
import { defaultConnections, type Load, type Loader, load } from "../load/load.ts";
import { peopleCount, post as postTo, restanteApi, type Scenario } from "../load/scenarios.ts";
import { bar } from "../progress.ts";
import { type ScenarioFigures, scenarioFigures } from "../report/figures.ts";
import type { Server } from "../servers/peers.ts";
import type { Memory, Running } from "../servers/processes.ts";
import type { Setting } from "./setting.ts";

export interface SpeedFigures {
  readonly comparisons: readonly ScenarioFigures[];
  /** Of the one server process that took every scenario. */
  readonly memory: Memory | undefined;
}

const plain: readonly Scenario[] = [
  "get",
  "random",
  "conditional",
  "list",
  "page",
  "post",
  "validated",
];
/** What is also measured with two processes behind the port. */
const withWorkers: readonly Scenario[] = ["get", "post"];
const postsPerSecond = 100;

export async function measureSpeed(setting: Setting): Promise<SpeedFigures> {
  const { sizes, stores, secret } = setting;
  const data = await stores.empty("embedded");
  const filling = await stores.start(data);
  const ids = await fillPeople(filling, secret, sizes.people);
  // Tokens are written by the store itself, which only one process may do.
  await filling.stop();
  const secrets = await makeTokens(data.folder, sizes.tokens);
  const api = restanteApi(secret, ids, sizes.people);
  const ours: Server = { name: "restante", api, running: await stores.start(data) };
  const workers = await startWorkers(setting);
  try {
    const comparisons: ScenarioFigures[] = [];
    for (const name of plain) {
      const servers = withWorkers.includes(name) ? [ours, workers] : [ours];
      comparisons.push(scenarioFigures(await compare(name, servers, load, sizes.pace)));
    }
    comparisons.push(await withTokens(ours, secrets, setting));
    comparisons.push(await besidePosts(ours, setting));
    return { comparisons, memory: ours.running.memory() };
  } finally {
    await ours.running.stop();
    await workers.running.stop();
  }
}

const peopleSchema = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 1, maxLength: 100 },
    email: { type: "string", format: "email" },
  },
  required: ["name", "email"],
  additionalProperties: false,
};

/** Fills a new Restante with people, and returns ids of up to 10,000 of them. */
export async function fillPeople(
  { origin }: Running,
  secret: string,
  count: number,
): Promise<readonly string[]> {
  const headers = bearer(secret);
  await define(origin, headers, "letters", {});
  await define(origin, headers, "validated", { schema: peopleSchema });
  await define(origin, headers, "people", {});
  await fill(origin, headers, { collection: "people", count, recordOf: person });
  return readIds(origin, headers, "people", peopleCount);
}

async function startWorkers({ stores, secret }: Setting): Promise<Server> {
  const data = await stores.empty("embedded");
  const running = await stores.start(data, { own: ["--workers", "2"] });
  const ids = await fillPeople(running, secret, peopleCount);
  return { name: "workers", api: restanteApi(secret, ids), running };
}

async function makeTokens(folder: string, count: number): Promise<readonly string[]> {
  const secrets = Array.from({ length: count }, newSecret);
  const show = bar(`creating ${count.toLocaleString("en")} tokens`, count);
  const store = await openSqlite({ path: folder });
  const createdAt = Date.now();
  const unused = { createdAt, expiresAt: null, usedAt: null, revokedAt: null };
  const batch = 1_000;
  for (let start = 0; start < count; start += batch) {
    const changes = secrets.slice(start, start + batch).map((secret) => {
      const id = newId();
      const token = { id, hash: hashSecret(secret), name: "bench", subject: id, ...unused };
      return {
        kind: "create-token",
        token: { ...token, scopes: ["people:read"], roles: [] },
      } as const;
    });
    await store.commit(changes);
    show(Math.min(count, start + batch));
  }
  await store.close();
  return secrets;
}

/** Each request has one of many tokens. */
async function withTokens(
  server: Server,
  secrets: readonly string[],
  { sizes }: Setting,
): Promise<ScenarioFigures> {
  const options: CompareOptions = {
    change: (ask) => ({ ...ask, headers: {}, secrets }),
  };
  await useEach(server, secrets);
  const found = await compare("get", [server], load, sizes.pace, options);
  const count = secrets.length.toLocaleString("en");
  return scenarioFigures(found, {
    key: "tokens",
    title: `GET one with ${count} tokens in use`,
    about: "the same resource, each request with one of the tokens at random, all used before",
  });
}

/** The first request with a token reads it from the store. */
async function useEach({ api, running }: Server, secrets: readonly string[]): Promise<void> {
  const show = bar("using each token", secrets.length);
  const url = `${running.origin}${api.one(api.ids[0] ?? "")}`;
  for (let start = 0; start < secrets.length; start += defaultConnections) {
    const some = secrets.slice(start, start + defaultConnections);
    const requests = some.map((secret) => fetch(url, { headers: bearer(secret) }));
    for (const response of await Promise.all(requests)) await response.arrayBuffer();
    show(Math.min(secrets.length, start + defaultConnections));
  }
}

/** While a second loader sends POSTs to the same server. */
async function besidePosts(server: Server, { sizes }: Setting): Promise<ScenarioFigures> {
  const post = postTo(server.api.headers, "/people", person(1));
  const both: Loader = async (origin, ask, seconds) => {
    const isBare = origin !== server.running.origin;
    // The bare server answers a POST with the status of the GET.
    const beside = isBare ? { ...post, status: ask.status } : post;
    const [get, posts] = await Promise.all([
      load(origin, ask, seconds),
      load(origin, beside, seconds, { connections: 4, perSecond: postsPerSecond }),
    ]);
    return withFaultOf(get, posts);
  };
  const found = await compare("get", [server], both, sizes.pace);
  return scenarioFigures(found, {
    key: "beside",
    title: `GET one beside ${postsPerSecond} POST a second`,
    about: "the same resource, while another client creates resources in the same collection",
  });
}

const withFaultOf = (load: Load, other: Load): Load =>
  other.fault === undefined ? load : { ...load, fault: `beside it: ${other.fault}` };
