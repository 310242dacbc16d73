// GETs one resource in this process, from apps that differ in one thing, in turn. Arguments: a folder, rounds.
// Prints the nanoseconds of each GET, round by round.

import { mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import type { RequestContext } from "../../src/http/request/context.ts";
import { RequestMetrics } from "../../src/http/request-metrics.ts";
import { Metrics } from "../../src/lib/metrics.ts";
import { type App, assemble } from "../../src/server/app.ts";
import { type Config, defaultConfig } from "../../src/server/config.ts";
import { makeFirstToken } from "../../src/server/first-token.ts";
import { createLog } from "../../src/server/log.ts";
import { median } from "../report/figures.ts";
import { type Observed, type Variant, variants } from "./variants.ts";

const getsPerRound = 20;
const warmUpRounds = 1_000;
/** Logs and collections of garbage get their turn. */
const restEvery = 20;

type Get = () => void;

/** The log is written, as the server does it. */
async function open(folder: string, changes: Partial<Config>): Promise<readonly [App, Get]> {
  mkdirSync(folder, { recursive: true });
  const log = createLog("info", openSync("/dev/null", "w"));
  const app = await assemble({ ...defaultConfig, data: folder, ...changes }, log);
  const secret = await makeFirstToken(app.tokens);
  const authorization = `Bearer ${secret}`;
  const client = { peerAddress: () => "127.0.0.1" };
  const created = await app.fetch(
    new Request("http://localhost/people", {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: '{"name":"Ada","email":"ada@example.org"}',
    }),
    client,
  );
  const path = created.fields.get("location");
  const request = new Request(`http://localhost${path}`, { headers: { authorization } });
  await app.fetch(request, client);
  const get = () => {
    const response = app.fetch(request, client);
    if (response instanceof Promise) throw new Error("a GET from memory needs no promise");
    if (response.status !== 200) throw new Error(`a GET is ${response.status}`);
  };
  return [app, get];
}

async function openUnmeasured(folder: string): Promise<readonly [App, Get]> {
  const { add } = RequestMetrics.prototype;
  RequestMetrics.prototype.add = () => undefined;
  const opened = await open(folder, {});
  RequestMetrics.prototype.add = add;
  return opened;
}

/** A round is so short that another program rarely interrupts it. The median leaves out those. */
function nanosecondsOf(get: Get): number {
  const startedAt = performance.now();
  for (let count = 0; count < getsPerRound; count++) get();
  return ((performance.now() - startedAt) * 1e6) / getsPerRound;
}

const countings = 1_000_000;
const loops = 9;

/** The median of some loops, the first of which only warm up. */
function countNs(): number {
  const metrics = new RequestMetrics(new Metrics());
  const context = { route: { method: "GET", path: "/{collection}/{id}" } } as RequestContext;
  const loop = () => {
    const startedAt = performance.now();
    for (let count = 0; count < countings; count++) metrics.add(context, 200, (count & 1023) / 500);
    return ((performance.now() - startedAt) * 1e6) / countings;
  };
  return median(Array.from({ length: loops }, loop).slice(2));
}

async function measure(folder: string, rounds: number): Promise<Observed> {
  const collector = { otlpEndpoint: "http://127.0.0.1:9", traceSample: 0 };
  const opened: Readonly<Record<Variant, readonly [App, Get]>> = {
    plain: await open(join(folder, "plain"), {}),
    again: await open(join(folder, "again"), {}),
    unmeasured: await openUnmeasured(join(folder, "unmeasured")),
    unsampled: await open(join(folder, "unsampled"), collector),
  };
  const names = Object.keys(variants) as readonly Variant[];
  const times: Record<Variant, number[]> = { plain: [], again: [], unmeasured: [], unsampled: [] };
  for (let round = -warmUpRounds; round < rounds; round++) {
    // Each variant comes first, second and so on equally often.
    for (const index of names.keys()) {
      const name = names[(index + round + warmUpRounds) % names.length] as Variant;
      const time = nanosecondsOf(opened[name][1]);
      if (round >= 0) times[name].push(time);
    }
    if (round % restEvery === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  for (const [app] of Object.values(opened)) await app.close();
  return { times, countNs: countNs() };
}

if (import.meta.main) {
  const [, , folder = "", rounds] = process.argv;
  const output = JSON.stringify(await measure(folder, Number(rounds)));
  // On Node what is not written yet is lost at the exit.
  process.stdout.write(output, () => process.exit(0));
}
