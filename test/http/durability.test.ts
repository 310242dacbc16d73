// A 201 means on disk: it survives kill -9, and is never sent when the disk is full.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { runs, within } from "../seeds.ts";
import { answerOf, assertProblem, readLinks } from "./expect.ts";
import { filesIn } from "./multipart.ts";
import { type ServerProcess, startServerProcess } from "./server-process.ts";

const run = promisify(execFile);
const works = (command: string, ...args: string[]): Promise<boolean> =>
  run(command, args).then(
    () => true,
    () => false,
  );

/** What the client was promised: the bytes at each Location. */
type Journal = Map<string, string>;

interface Item {
  readonly id: string;
  readonly n: number;
  readonly text: string;
}

/** Says itself whether it is whole. */
const fieldsOf = (n: number) => ({ n, text: `${n},`.repeat(1 + (n % 20) * 40) });

let posted = 0;

/** One client that POSTs until the server is gone, and writes down what was acknowledged. */
async function postMany(daemon: ServerProcess, journal: Journal): Promise<void> {
  for (;;) {
    const answer = await answerOf(daemon.post("people", fieldsOf(++posted))).catch(() => undefined);
    if (answer === undefined) return;
    if (answer.status === 201) journal.set(answer.headers.get("location") ?? "", answer.body);
  }
}

/** Every resource by its address, found by following `next` from the first page. */
async function walk(daemon: ServerProcess): Promise<ReadonlyMap<string, Item>> {
  const items = new Map<string, Item>();
  let walked = 0;
  let total = 0;
  for (let next: string | undefined = "/people?limit=500"; next !== undefined; ) {
    const response: Response = await daemon.request(next);
    const page = (await response.json()) as { data: Item[]; total: number };
    for (const item of page.data) items.set(`/people/${item.id}`, item);
    walked += page.data.length;
    total = page.total;
    next = readLinks(response.headers.get("link")).next;
  }
  assert.equal(walked, total);
  assert.equal(items.size, total);
  return items;
}

/** All that was promised is there, byte for byte, and all is whole; returns how much more there is. */
async function verify(daemon: ServerProcess, journal: Journal): Promise<number> {
  const items = await walk(daemon);
  for (const { n, text } of items.values()) assert.deepEqual({ n, text }, fieldsOf(n));
  for (const [location, body] of journal) assert.equal(JSON.stringify(items.get(location)), body);
  const some = [...journal].filter((_, index) => index % 10 === 0);
  const reads = some.map(async ([location, body]) =>
    assert.equal((await answerOf(daemon.request(location))).body, body),
  );
  await Promise.all(reads);
  return items.size - journal.size;
}

/** Processes start and end in these tests, on machines that may be busy. */
const patience = within(300_000);

let folder: string;
let daemon: ServerProcess | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-"));
});
afterEach(async () => {
  await daemon?.end("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

describe("a server that is stopped under load", () => {
  const clients = 16;
  const acknowledged = runs(30, 150);

  /** Starts, checks everything promised so far, and lets the clients pour until enough is promised. */
  async function round(
    journal: Journal,
  ): Promise<{ server: ServerProcess; written: Promise<unknown> }> {
    const server = await startServerProcess(folder);
    daemon = server;
    if (journal.size > 0) await verify(server, journal);
    const enough = journal.size + acknowledged;
    const written = Promise.all(Array.from({ length: clients }, () => postMany(server, journal)));
    while (journal.size < enough) await sleep(5);
    return { server, written };
  }

  it("keeps every acknowledged resource through kill -9, repeatedly", patience, async () => {
    const journal: Journal = new Map();
    const kills = runs(2, 5);
    for (let kill = 0; kill < kills; kill++) {
      const { server, written } = await round(journal);
      await server.end("SIGKILL");
      await written;
    }
    daemon = await startServerProcess(folder);
    const unpromised = await verify(daemon, journal);
    assert.ok(unpromised <= clients * kills, `${unpromised} more than were under way`);
    const last = [...journal.keys()].sort().at(-1) ?? "";
    const made = await daemon.post("people", fieldsOf(++posted));
    assert.ok((made.headers.get("location") ?? "") > last, "ids go on increasing");
  });

  it("finishes requests in progress on SIGTERM and exits", patience, async () => {
    const journal: Journal = new Map();
    const { server, written } = await round(journal);
    assert.equal(await server.end("SIGTERM"), 0);
    await written;
    daemon = await startServerProcess(folder);
    assert.equal(await verify(daemon, journal), 0);
  });
});

interface Starvation {
  readonly possible: boolean;
  prepare(): Promise<void>;
  starve(daemon: ServerProcess): Promise<void>;
  feed(daemon: ServerProcess): Promise<void>;
  cleanUp(): Promise<void>;
}

const ballast = () => join(folder, "ballast");
const limitFiles = (pid: number, bytes: string) =>
  run("prlimit", ["--pid", `${pid}`, `--fsize=${bytes}:`]);

/** Both work for root too, whom file permissions do not stop. */
const starvations: Readonly<Record<string, Starvation>> = {
  "a disk without room": {
    possible: await works("sh", "-c", 'd=$(mktemp -d) && mount -t tmpfs none "$d" && umount "$d"'),
    prepare: async () => {
      await run("mount", ["-t", "tmpfs", "-o", "size=8m", "none", folder]);
    },
    starve: async () => {
      await writeFile(ballast(), "");
      for (const bytes of [65_536, 4096])
        for (let room = true; room; )
          room = await appendFile(ballast(), Buffer.alloc(bytes)).then(
            () => true,
            () => false,
          );
    },
    feed: () => rm(ballast()),
    cleanUp: async () => {
      await run("umount", ["--lazy", folder]);
    },
  },
  "a disk that refuses writes": {
    possible: await works("prlimit", "--pid", `${process.pid}`, "--fsize"),
    prepare: async () => {},
    starve: async ({ pid }) => {
      await limitFiles(pid, "0");
    },
    feed: async ({ pid }) => {
      await limitFiles(pid, "unlimited");
    },
    cleanUp: async () => {},
  },
};

for (const [title, { possible, prepare, starve, feed, cleanUp }] of Object.entries(starvations)) {
  describe(title, { skip: possible ? false : "this machine does not let us make one" }, () => {
    beforeEach(prepare);
    afterEach(async () => {
      await daemon?.end("SIGKILL");
      await cleanUp();
    });

    it(
      "on a full disk rejects writes, keeps serving reads, and recovers by itself",
      patience,
      async () => {
        const journal: Journal = new Map();
        const server = await startServerProcess(folder);
        daemon = server;
        const create = async () => {
          const answer = await answerOf(server.post("people", fieldsOf(++posted)));
          if (answer.status === 201) journal.set(answer.headers.get("location") ?? "", answer.body);
          return answer;
        };
        for (let count = 0; count < 20; count++) assert.equal((await create()).status, 201);

        await starve(server);
        let rejected = await create();
        // What the log has already taken from the disk may be used up before there is no room.
        while (rejected.status === 201) rejected = await create();
        const answers = [rejected, ...(await Promise.all([create(), create(), create()]))];
        for (const answer of answers) {
          const kind = answer.status === 507 ? "storage-full" : "unavailable";
          const { detail } = assertProblem(answer, kind);
          assert.ok(!detail.includes(folder), detail);
          if (kind === "unavailable")
            assert.match(answer.headers.get("retry-after") ?? "", /^\d+$/);
        }
        assert.equal(await verify(server, journal), 0);

        await feed(server);
        while ((await create()).status !== 201) await sleep(50);
        assert.equal(await verify(server, journal), 0);

        await server.end("SIGKILL");
        daemon = await startServerProcess(folder);
        assert.equal(await verify(daemon, journal), 0);
      },
    );
  });
}

/** Files that are whole. A beginning of an upload that was rejected may have left bytes, which stay for a day. */
const wholeFiles = async () =>
  (await filesIn(join(folder, "data/files"))).filter((path) => !path.includes("/partial/"));

describe("a disk that uploads have filled", () => {
  const { possible, prepare, cleanUp } = starvations["a disk without room"] ?? {};
  if (!possible) return it.skip("this machine does not let us make one");
  beforeEach(() => prepare?.());
  afterEach(async () => {
    await daemon?.end("SIGKILL");
    await cleanUp?.();
  });

  it("deletes resources, files and unfinished uploads, which makes room", patience, async () => {
    let server = await startServerProcess(folder);
    daemon = server;
    const send = (bytes: number, fields: Record<string, string> = {}) => {
      const headers = { "content-type": "application/octet-stream", ...fields };
      const body = new Uint8Array(bytes);
      return answerOf(server.request("/files", { method: "POST", headers, body }));
    };
    const upload = (bytes: number) => send(bytes);
    const begin = (bytes: number) => send(bytes, { "upload-complete": "?0" });
    const remove = async (path: string) => {
      const { status, body } = await answerOf(server.request(path, { method: "DELETE" }));
      assert.equal(status, 204, body);
    };
    const fill = async () => {
      const locations: string[] = [];
      for (let bytes = 400_000; bytes >= 1_000; bytes /= 2)
        for (const fillBy of [upload, begin])
          for (let count = 0; count < 10 || fillBy === begin; count++) {
            const { status, headers, body } = await fillBy(bytes);
            if (status === 507) break;
            assert.equal(status, 201, body);
            locations.push(new URL(headers.get("location") ?? "", "http://localhost").pathname);
          }
      return locations;
    };
    for (const round of [1, 2]) {
      const locations = await fill();
      // Its end makes the WAL empty, and uploads take that room, too.
      await server.end("SIGTERM");
      server = await startServerProcess(folder);
      daemon = server;
      locations.push(...(await fill()));
      assert.ok(locations.length > 10, `round ${round}`);
      while ((await server.post("people", fieldsOf(++posted))).status === 201);
      await remove(`${locations.find((location) => location.startsWith("/files/"))}/file`);
      // Resources first, because an unfinished upload is removed without a write.
      locations.sort((a, b) => Number(b.startsWith("/files/")) - Number(a.startsWith("/files/")));
      for (const location of locations) await remove(location);
      for (let twice = 0; twice < 2; twice++) {
        // The bytes of files are removed a moment later.
        while ((await upload(3_000_000)).status === 507) await sleep(50);
        const page = (await (await server.request("/files?limit=1000")).json()) as { data: Item[] };
        for (const { id } of page.data) await remove(`/files/${id}`);
        while ((await wholeFiles()).length > 0) await sleep(50);
      }
    }
  });
});
