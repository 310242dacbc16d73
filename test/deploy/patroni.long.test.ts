// Two nodes of Restante on a Patroni cluster whose leader is killed, or hangs: nothing acknowledged is lost.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { newSecret } from "../../src/model/secret.ts";
import { AcknowledgedWrites, requestSender } from "../acknowledged-writes.ts";
import { missing } from "../generators/tools.ts";
import { type ServerProcess, start } from "../process.ts";
import { PatroniCluster } from "./patroni.ts";

const lacking = missing(["patroni", "etcd", "haproxy"]);
const skip = lacking.length > 0 ? `missing: ${lacking.join(", ")} (apt-get install)` : false;
const clients = 8;

describe("on a Patroni cluster in strict synchronous mode", { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), "restante-on-patroni-"));
  let cluster: PatroniCluster;
  let nodes: readonly ServerProcess[];
  let writes: AcknowledgedWrites;

  before(async () => {
    cluster = await PatroniCluster.start();
    await cluster.createDatabase();
    const environment = { RESTANTE_STORE: cluster.url, RESTANTE_ADMIN_TOKEN: newSecret() };
    const run = (data: string) =>
      start(["--data", join(folder, data), "--files", join(folder, "files")], {
        cwd: folder,
        environment,
      });
    nodes = [await run("one"), await run("other")];
    const senders = nodes.map(({ url }) => requestSender(url, environment.RESTANTE_ADMIN_TOKEN));
    writes = new AcknowledgedWrites("notes", senders);
  });
  after(async () => {
    for (const node of nodes ?? []) node.signal("SIGKILL");
    await cluster?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Clients write before, during and after what happens to the leader. */
  async function writeWhile(happen: () => Promise<void>): Promise<void> {
    await writes.postWhile(clients, 200, happen);
    await writes.verify();
  }

  for (const round of [1, 2])
    it(`keeps what it acknowledged when the leader is killed, and goes on by itself (${round})`, async () => {
      await cluster.untilAll(3);
      const old = await cluster.leader();
      await writeWhile(async () => {
        await cluster.kill(old);
        assert.notEqual((await cluster.leader()).name, old.name);
      });
      assert.ok(writes.counts.wait + writes.counts.closed > 0, "nobody noticed");
      cluster.restart(old);
    });

  it("keeps what it acknowledged when the leader hangs, and continues when another one leads", async () => {
    await cluster.untilAll(3);
    const old = await cluster.leader();
    await writeWhile(async () => {
      cluster.pause(old);
      assert.notEqual((await cluster.leader()).name, old.name);
      await writes.grow(50);
      cluster.resume(old);
      // It follows, or leads again when the other one was too slow.
      await cluster.untilAll(3);
    });
  });
});
