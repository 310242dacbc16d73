// The programs in bin/: the server takes their place, and starts from its bundle or from newer sources.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const binaries = join(root, "node_modules/.bin");
const isWindows = process.platform === "win32";

/** A clone with its bundle: what `npm start` leaves. */
let clone: string;
before(async () => {
  clone = await mkdtemp(join(tmpdir(), "restante-launcher-"));
  for (const name of ["bin", "scripts", "src", "package.json", "tsconfig.json"])
    await cp(join(root, name), join(clone, name), { recursive: true });
  await symlink(join(root, "node_modules"), join(clone, "node_modules"), "junction");
  await mkdir(join(clone, "dist"));
  // `npm test` has built it already.
  if (process.env.RESTANTE_TEST_BUNDLE === "1") {
    await cp(join(root, "dist/bun"), join(clone, "dist/bun"), { recursive: true });
    return;
  }
  const { status, stderr } = spawnSync(join(binaries, "bun"), ["scripts/bundle.js"], {
    cwd: clone,
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
});
after(() => rm(clone, { recursive: true, force: true }));

interface Started {
  readonly pid: number;
  /** Of the process that listens. */
  readonly serverPid: number;
  stdout(): string;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  kill(signal: NodeJS.Signals): void;
}

/** As a shell starts it: without the variables of the npm that may run these tests. */
function environment(more: Readonly<Record<string, string>> = {}) {
  const own = Object.entries(process.env).filter(
    ([name]) => !name.startsWith("npm_") && name !== "RESTANTE_RUNTIME",
  );
  return { ...Object.fromEntries(own), ...more };
}

async function start(
  [program, ...args]: readonly [string, ...string[]],
  env: Readonly<Record<string, string | undefined>>,
): Promise<Started> {
  const data = join(clone, "data");
  await rm(data, { recursive: true, force: true });
  const child = spawn(program, [...args, "serve", "--port", "0", "--data", data], { env });
  // The output closes when the last process has ended that has it.
  const closed = once(child.stdout, "close");
  const ended = once(child, "exit").then(async ([code, signal]) => {
    await closed;
    return { code, signal };
  });
  let stdout = "";
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  const listening = new Promise<number>((resolve, reject) => {
    child.stdout.setEncoding("utf8").on("data", (text) => {
      stdout += text;
      const [, pid] = /"pid":(\d+),"msg":"listening"/.exec(stdout) ?? [];
      if (pid !== undefined) resolve(Number(pid));
    });
    child.once("close", () => reject(new Error(`it did not start: ${stdout}${stderr}`)));
  });
  return {
    pid: child.pid ?? 0,
    serverPid: await listening,
    stdout: () => stdout,
    ended,
    kill: (signal) => void child.kill(signal),
  };
}

describe("the launcher", { skip: isWindows && "Windows has no shell scripts" }, () => {
  const launchers: readonly (readonly [string, readonly [string, ...string[]]])[] = [
    ["bin/restante", ["bin/restante"]],
    ["bin/restante.js on Node 24", ["node_modules/.bin/node", "bin/restante.js"]],
  ];
  for (const [title, [program, ...args]] of launchers) {
    const command = (): [string, ...string[]] => [
      join(clone, program),
      ...args.map((arg) => join(clone, arg)),
    ];

    it(`${title} leaves no process beside the server, and SIGTERM drains it`, async () => {
      const started = await start(command(), environment());
      assert.equal(started.serverPid, started.pid);
      started.kill("SIGTERM");
      assert.deepEqual(await started.ended, { code: 0, signal: null });
    });

    it(`${title} ends as the server ends`, async () => {
      const started = await start(command(), environment());
      started.kill("SIGKILL");
      assert.deepEqual(await started.ended, { code: null, signal: "SIGKILL" });
      const [name, ...flags] = command();
      const { status } = spawnSync(name, [...flags, "serve", "--prot", "1"], {
        env: environment(),
      });
      assert.equal(status, 2);
    });
  }

  it("ends when npm has ended, whose shell passes no signal on", async () => {
    const [node, script] = [join(clone, "node_modules/.bin/node"), join(clone, "bin/restante")];
    // The shell stays, as that of `a && b` in package.json does.
    const shell = `exec 3>&1; ${script} "$@" >&3 & cat`;
    const started = await start(
      ["sh", "-c", shell, node],
      environment({ npm_command: "run-script" }),
    );
    assert.notEqual(started.serverPid, started.pid);
    started.kill("SIGKILL");
    assert.deepEqual(await started.ended, { code: null, signal: "SIGKILL" });
    assert.match(started.stdout(), /"stopped"\}\n$/);
  });

  for (const [title, [program, ...args]] of launchers)
    it(`${title} starts the sources when one is newer than the bundle`, async () => {
      const path = `${binaries}:${process.env.PATH}`;
      const run = () => {
        const command = [...args.map((arg) => join(clone, arg)), "--version"];
        const env = environment({ PATH: path });
        return spawnSync(join(clone, program), command, { encoding: "utf8", env }).stdout;
      };
      await writeFile(join(clone, "dist/bun/main.js"), 'console.log("the bundle")');
      assert.equal(run(), "the bundle\n");
      const later = new Date(Date.now() + 60_000);
      await utimes(join(clone, "src/lib/csv.ts"), later, later);
      assert.match(run(), /^\d+\.\d+\.\d+\n$/);
      await utimes(join(clone, "src/lib/csv.ts"), new Date(0), new Date(0));
    });
});
