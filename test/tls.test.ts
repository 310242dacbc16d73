// A server process with TLS: one or more processes, and certificates that are renewed while clients write.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { newSecret } from "../src/model/secret.ts";
import { assemble } from "../src/server/app.ts";
import { defaultConfig } from "../src/server/config.ts";
import { listenFor } from "../src/server/lifecycle.ts";
import { certificateFolder, makeCertificate } from "./certificates.ts";
import { captureLog } from "./http/captured-log.ts";
import { run, start } from "./process.ts";
import { itLong } from "./short-run.ts";
import { openTls, reopenTls, type TlsConnection, untilShown } from "./tls-client.ts";

/** Bun hands over to a new certificate within 15 s. */
const patience = { timeout: 300_000 };
const secret = newSecret();
const first = makeCertificate({ name: "first" });
const second = makeCertificate({ name: "second" });

let cwd: string;
before(async () => {
  cwd = await mkdtemp(join(tmpdir(), "restante-tls-"));
});
after(() => rm(cwd, { recursive: true, force: true }));

describe("restante serve with TLS", () => {
  it("reports all faults of certificate and key, and does not start", patience, async () => {
    const flags = ["--tls-cert", "none.pem", "--tls-key", "nothing.pem"];
    const ended = await run(["serve", ...flags], { cwd });
    assert.equal(ended.code, 2);
    assert.match(ended.stderr, /--tls-cert ".*none.pem": cannot be read/);
    assert.match(ended.stderr, /--tls-key ".*nothing.pem": cannot be read/);
    const alone = await run(["serve", "--tls-cert", "none.pem"], { cwd });
    assert.equal(alone.code, 2);
    assert.match(alone.stderr, /--tls-cert, --tls-key: set both or none/);
  });

  it("looks for a new certificate at a reload, and not only now and then", patience, async () => {
    const files = certificateFolder(first);
    const config = { ...defaultConfig, data: cwd, port: 0, tlsCert: files.cert, tlsKey: files.key };
    const { log, text } = captureLog();
    const app = await assemble(config, log);
    const { setInterval } = globalThis;
    const none = setInterval(() => undefined, 1_000_000);
    // Only the reload lets it look.
    globalThis.setInterval = (() => none) as unknown as typeof setInterval;
    const server = await listenFor(config, app, log);
    globalThis.setInterval = setInterval;
    files.write(second);
    app.reload(config, []);
    while (!text().includes("uses the new certificate")) await sleep(5);
    await server.stop(0);
    await app.close();
    clearInterval(none);
    files.remove();
  });

  itLong("renews its certificate while clients write, in all workers", patience, async () => {
    const files = certificateFolder(first);
    const base = ["--base-url", "https://localhost", "--allowed-hosts", "localhost"];
    const running = await start(["--workers", "2", ...files.flags, ...base], {
      cwd,
      environment: { RESTANTE_ADMIN_TOKEN: secret },
    });
    assert.match(running.url, /^https:\/\/localhost:\d+$/);
    let isRenewed = false;
    const clients = Array.from({ length: 4 }, () => write(running.port, () => isRenewed));
    files.write({ key: second.key });
    await sleep(100);
    files.write({ cert: second.cert });
    await untilShown(running.port, "second");
    isRenewed = true;
    const counts = await Promise.all(clients);
    const total = counts.reduce((sum, count) => sum + count);
    assert.ok(total > 0);
    const connection = await openTls(running.port);
    assert.equal(JSON.parse(await ask(connection, "GET", "/things?limit=1")).total, total);
    assert.match(
      await ask(connection, "GET", "/-/metrics"),
      /^restante_tls_certificate_expires_timestamp_seconds \d{10}/m,
    );
    connection.destroy();
    running.signal("SIGTERM");
    const { code, stdout } = await running.ended;
    assert.equal(code, 0);
    assert.equal(stdout.match(/uses the new certificate/g)?.length, 2);
    assert.doesNotMatch(stdout, /PRIVATE KEY/);
    files.remove();
  });
});

/** Creates resources one by one, on a connection as long as it is kept; each must be acknowledged. */
async function write(port: number, isOver: () => boolean): Promise<number> {
  let connection = await reopenTls(port);
  let count = 0;
  while (!isOver()) {
    const closes = await create(connection);
    count++;
    if (closes) {
      connection.destroy();
      connection = await reopenTls(port);
    }
    await sleep(50);
  }
  connection.destroy();
  return count;
}

/** Returns whether the server closes the connection. */
async function create(connection: TlsConnection): Promise<boolean> {
  connection.write(requestText("POST", "/things", '{"a":1}'));
  const response = await connection.response();
  assert.equal(response?.status, 201);
  assert.equal(response?.headers["strict-transport-security"], "max-age=31536000");
  assert.match(response?.headers.location ?? "", /^https:\/\/localhost\/things\//);
  return response?.headers.connection?.toLowerCase() === "close";
}

async function ask(connection: TlsConnection, method: string, path: string): Promise<string> {
  connection.write(requestText(method, path, ""));
  return (await connection.response())?.body ?? "";
}

const requestText = (method: string, path: string, body: string): string =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
