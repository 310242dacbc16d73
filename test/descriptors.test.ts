// A server goes on when connections have used up all file descriptors, and after that does what it did before.
// @tier all

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { newSecret } from "../src/model/secret.ts";
import { json, requestSender } from "./acknowledged-writes.ts";
import { childrenOf, commandLine, start } from "./process.ts";

const descriptors = 80;
/** Workers report their metrics every five seconds. */
const whileMs = 6_000;
const onLinux = process.platform === "linux";

function open(port: number): Socket {
  const socket = connect(port, "localhost");
  // The server may refuse it.
  socket.on("error", () => undefined);
  return socket;
}

describe("a server without free file descriptors", { skip: !onLinux && "on Linux" }, () => {
  it("keeps its processes, and knows schemas afterwards", async () => {
    const cwd = await mkdtemp(join(tmpdir(), "restante-descriptors-"));
    const secret = newSecret();
    const script = `ulimit -n ${descriptors}; exec "$@"`;
    const running = await start(["--data", "data", "--workers", "2"], {
      cwd,
      environment: { RESTANTE_ADMIN_TOKEN: secret },
      command: ["sh", "-c", script, "sh", ...commandLine],
    });
    const ask = requestSender(running.url, secret);
    const before = await childrenOf(running.pid);
    const sockets = Array.from({ length: 4 * descriptors }, () => open(running.port));
    await sleep(whileMs);
    assert.deepEqual(await childrenOf(running.pid), before, running.stdout());
    for (const socket of sockets) socket.destroy();
    await Promise.all(sockets.map((socket) => socket.closed || once(socket, "close")));
    const definition = { schema: { type: "object", required: ["name"] } };
    while ((await ask("/-/health").catch(() => undefined))?.status !== 200) await sleep(50);
    const { status, body } = await ask("/-/collections/people", json("PUT", definition));
    assert.equal(status, 201, body);
    for (let turn = 0; turn < 8; turn++)
      assert.equal((await ask("/people", json("POST", {}))).status, 400);
    running.signal("SIGTERM");
    assert.equal((await running.ended).code, 0);
    await rm(cwd, { recursive: true, force: true });
  });
});
