// h2spec sends 145 kinds of right and wrong frames. What a server of ours may do otherwise is listed with the reason.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { makeCertificate } from "../certificates.ts";
import { findGoProgram } from "../go-program.ts";
import { isBun, start } from "./test-server.ts";

const h2spec = findGoProgram("github.com/summerwind/h2spec/cmd/h2spec@latest");

/**
 * Neither runtime passes these without our code, and none lets a request through that it should not.
 * h2spec is older than RFC 9113, which lets a server ignore frames on closed streams, and PRIORITY.
 */
const exceptions: readonly (readonly [section: string, about: RegExp])[] = isBun
  ? [["http2/6.9.1", /above 2\^31-1 on a stream$/]]
  : [
      ["http2/5.1", /^half closed \(remote\): Sends a DATA frame$/],
      ["http2/5.1", /^closed: Sends a (?:DATA|HEADERS) frame/],
      ["http2/5.1.1", /numerically smaller than previous$/],
      ["http2/5.3.1", /PRIORITY frame that depend on itself$/],
      ["http2/6.3", /PRIORITY frame with 0x0 stream identifier$/],
      ["http2/6.7", /^Sends a PING frame with ACK$/],
      ["http2/6.9.1", /above 2\^31-1 on a stream$/],
    ];

interface Failure {
  readonly section: string;
  readonly about: string;
}

describe("HTTP/2 as h2spec reads it", { skip: !h2spec && "needs Go to build h2spec" }, () => {
  it("is kept, but for what is listed", { timeout: 300_000 }, async () => {
    const server = await start(undefined, { tls: makeCertificate(), http2: true });
    const { count, failures } = await runSpec(h2spec ?? "", server.port);
    await server.stop(0);
    assert.equal(count, 145);
    assert.deepEqual(failures.filter(isUnexpected), []);
  });
});

const isUnexpected = ({ section, about }: Failure): boolean =>
  !exceptions.some(([where, pattern]) => where === section && pattern.test(about));

async function runSpec(program: string, port: number) {
  const folder = await mkdtemp(join(tmpdir(), "restante-h2spec-"));
  const report = join(folder, "report.xml");
  const address = ["--tls", "--insecure", "--host", "localhost", "--port", String(port)];
  const args = [...address, "--timeout", "3", "--junit-report", report];
  await once(spawn(program, args, { stdio: "ignore" }), "exit");
  const text = await readFile(report, "utf8");
  await rm(folder, { recursive: true });
  const cases = text.matchAll(/<testcase package="(.*?)" classname="(.*?)"[^>]*>(\s*<failure)?/g);
  const all = [...cases].map(([, section = "", about = "", failed]) => ({
    section,
    about,
    failed,
  }));
  const failures = all
    .filter(({ failed }) => failed !== undefined)
    .map(({ section, about }): Failure => ({ section, about }));
  return { count: all.length, failures };
}
