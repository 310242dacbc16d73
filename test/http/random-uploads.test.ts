// Random writes of files, with lost connections, restarts and kill -9: what is acknowledged stays, and nothing else.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { PostgresServer } from "../postgres-server.ts";
import { isLong, newSeed, randomNumbers, runs, within } from "../seeds.ts";
import { isShort } from "../short-run.ts";
import { S3Server, secrets } from "../store/s3/s3-server.ts";
import { answerOf } from "./expect.ts";
import { filesIn, hashOf } from "./multipart.ts";
import type { State } from "./possible-states.ts";
import { type Daemon, markOf, RandomUploader, stateIn } from "./random-uploads.ts";
import { startServerProcess } from "./server-process.ts";

const dayMs = 86_400_000;

/** Where the files are stored. */
interface Place {
  readonly environment: Readonly<Record<string, string>>;
  /** Makes everything old enough for every sweep. */
  age(): Promise<void>;
  /** The paths of everything that is stored, also of what is not complete. */
  stored(): Promise<readonly string[]>;
  destroy(): Promise<void>;
}

async function onDisk(home: string): Promise<Place> {
  const folder = join(home, "data", "files");
  return {
    environment: {},
    async age() {
      const old = new Date(Date.now() - 2 * dayMs);
      // A server that is killed early has stored nothing.
      const entries = existsSync(folder) ? await readdir(folder, { recursive: true }) : [];
      for (const entry of entries.toReversed()) await utimes(join(folder, entry), old, old);
    },
    stored: () => filesIn(folder),
    destroy: async () => undefined,
  };
}

/** The resources in Postgres. */
async function withPostgres(home: string): Promise<Place> {
  const database = await PostgresServer.shared();
  const disk = await onDisk(home);
  return {
    ...disk,
    environment: { RESTANTE_STORE: await database.preparedDatabase() },
    destroy: () => database.close(),
  };
}

const withWorkers = async (home: string): Promise<Place> => ({
  ...(await onDisk(home)),
  environment: { RESTANTE_WORKERS: "2" },
});

async function onS3(home: string): Promise<Place> {
  const server = await S3Server.start();
  return {
    environment: { ...secrets, HOME: home, RESTANTE_FILES: server.url("rig/") },
    async age() {
      await server.ageUploads(2 * dayMs);
      const uploads = new Set((await server.uploads()).map(({ key }) => key));
      for (const key of await server.keys("rig/"))
        if (!uploads.has(key)) await server.age(key, 2 * dayMs);
    },
    async stored() {
      const keys = await server.keys("rig/");
      return keys.filter((key) => key !== "rig/restante.json").map((key) => server.pathOf(key));
    },
    destroy: () => server.destroy(),
  };
}

const places = [
  ["disk", onDisk] as const,
  ["S3", onS3] as const,
  ...(isLong ? ([["disk, by two processes", withWorkers]] as const) : []),
  ...(isLong ? ([["disk, with Postgres", withPostgres]] as const) : []),
];

for (const [name, open] of isShort ? places.slice(0, 1) : places)
  describe(`random writes of files on ${name}`, () => {
    let daemon: Daemon | undefined;
    let place: Place | undefined;
    let home = "";
    after(async () => {
      await daemon?.end("SIGKILL");
      await place?.destroy();
      await rm(home, { recursive: true, force: true });
    });

    it("leave what was acknowledged, whole, and nothing else", within(1_800_000), async () => {
      const seed = newSeed(`random writes of files on ${name}`);
      const random = randomNumbers(seed);
      home = await mkdtemp(join(tmpdir(), "restante-"));
      place = await open(home);
      const { environment, age, stored } = place;
      const start = async (): Promise<Daemon> => {
        const started = await startServerProcess(home, environment);
        daemon = Object.assign(started, { isEnding: false });
        return daemon;
      };
      const clients = ["ann", "bob", "eve"].map(
        (each, index) => new RandomUploader(each, randomNumbers(seed + index + 1)),
      );
      const rounds = runs(1, 30);
      const steps = runs(12, 40);
      for (let round = 0; round < rounds; round++) {
        const server = await start();
        if (round === 0) await server.post("things", { step: "first" });
        const enough = Math.floor(random() * clients.length * steps);
        const end = random() < 0.7 ? "SIGKILL" : "SIGTERM";
        let ended: Promise<unknown> | undefined;
        let count = 0;
        const stop = () => {
          server.isEnding = true;
          ended ??= server.end(end);
        };
        const onStep = () => {
          if (++count >= enough) stop();
        };
        await Promise.all(clients.map((client) => client.run(server, steps, onStep)));
        stop();
        await ended;
        for (const client of clients) client.freeze();
      }
      await compareAll(await start(), clients);
      await daemon?.end("SIGTERM");
      await age();
      const server = await start();
      const hashes = (await allStates(server)).flatMap(([, { files }]) => Object.values(files));
      await until(async () => (await stored()).length <= hashes.length);
      const found = await Promise.all((await stored()).map((path) => readFile(path).then(hashOf)));
      assert.deepEqual(found.sort(), hashes.sort());
      await compareAll(server, clients);
    });
  });

/** Every resource with its path. */
async function allStates(daemon: Daemon): Promise<readonly (readonly [string, State])[]> {
  const headers = { accept: "application/x-ndjson" };
  const { body } = await answerOf(daemon.request("/things", { headers }));
  const resources = body.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
  return resources
    .filter(({ step }) => step !== "first")
    .map((resource) => [`/things/${resource.id}`, stateIn(resource)] as const);
}

/** Each resource is as its client may expect it, and each file has its bytes. */
async function compareAll(daemon: Daemon, clients: readonly RandomUploader[]): Promise<void> {
  const states = await allStates(daemon);
  const marked = states.map(([path, state]) => [markOf(state), path, state] as const);
  for (const [mark, path] of marked)
    assert.ok(
      clients.some((client) => client.owns(path, mark)),
      `nobody has made ${path}`,
    );
  const posted = marked.filter(([, path]) => !/\/(?:ann|bob|eve)-[ab]$/.test(path));
  const byMark = new Map(posted.map(([mark, , state]) => [mark, state]));
  assert.equal(byMark.size, posted.length, "a resource was posted twice");
  for (const client of clients) client.compare(new Map(states), byMark);
  for (const [path, { files }] of states)
    for (const [slot, sha256] of Object.entries(files)) {
      const response = await daemon.request(`${path}/${slot}`);
      assert.equal(hashOf(new Uint8Array(await response.arrayBuffer())), sha256, `${path}/${slot}`);
    }
}

/** The server sweeps in the background after its start. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(25);
}
