// A server process that is stopped and goes on: what clients have sent meanwhile is answered.
// @runtimes both
// test/runtime/held-up.test.ts says the same with a clock that is moved. Here it is that of the machine, which
// goes on while a process is stopped.

import assert from "node:assert/strict";
import { connect } from "node:net";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { firstToken, start } from "./process.ts";
import { inDirectory } from "./store/sqlite/test-directory.ts";

/** More than the 10 s for which a kept-alive connection may send nothing. */
const stoppedMs = 12_000;

describe("a server that is stopped by a signal and goes on", () => {
  it("answers the requests that arrived meanwhile, on connections of before", () =>
    inDirectory(async (data) => {
      const server = await start(["--data", data], { cwd: data });
      const authorization = `Authorization: Bearer ${firstToken(server)}\r\n`;
      const body = '{"n":1}';
      const get = `GET /-/health HTTP/1.1\r\nHost: localhost\r\n\r\n`;
      const post = `POST /things HTTP/1.1\r\nHost: localhost\r\n${authorization}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      try {
        const clients = await Promise.all(
          Array.from({ length: 10 }, () => keptConnection(server.port, get)),
        );
        process.kill(server.pid, "SIGSTOP");
        const answers = clients.map((client, at) => client.ask(at % 2 === 0 ? get : post));
        const end = performance.now() + stoppedMs;
        while (performance.now() < end) await sleep(end - performance.now());
        process.kill(server.pid, "SIGCONT");
        const statuses = await Promise.all(answers);
        assert.deepEqual(
          statuses,
          statuses.map((_, at) => (at % 2 === 0 ? "200" : "201")),
        );
        for (const { close } of clients) close();
      } finally {
        process.kill(server.pid, "SIGCONT");
        process.kill(server.pid, "SIGTERM");
        await server.ended;
      }
    }));
});

/** Opens a connection, and sends a first request on it. `ask` returns a status, or `closed`. */
async function keptConnection(port: number, first: string) {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  const ask = (request: string): Promise<string> =>
    new Promise((resolve) => {
      let text = "";
      const read = (chunk: Buffer): void => {
        text += chunk;
        const [, status] = /^HTTP\/1\.1 (\d+).*\r\n\r\n./s.exec(text) ?? [];
        if (status === undefined) return;
        socket.off("data", read);
        resolve(status);
      };
      socket.on("data", read).once("close", () => resolve("closed"));
      socket.write(request);
    });
  assert.equal(await ask(first), "200");
  return { ask, close: () => socket.destroy() };
}
