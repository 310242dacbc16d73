// Restante runs under the restrictions of the systemd unit: its system calls, address families, capabilities and file system.
// The machine of the tests may not run systemd, so bubblewrap and seccomp set them instead.
// @runtimes only node

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { newSecret } from "../../src/model/secret.ts";
import { runCommand } from "../generators/tools.ts";
import { childrenOf } from "../process.ts";
import { unless } from "./needs.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const unit = join(root, "deploy/systemd/restante.service");
const user = 65_534;

/** The system calls of a set, and of the sets in it, as systemd names them. */
async function expand(set: string): Promise<readonly string[]> {
  const shown = await runCommand(
    { program: "systemd-analyze", args: ["syscall-filter", set] },
    root,
  );
  const names = shown
    .split("\n")
    .slice(1)
    .map((line) => line.trim());
  const own = names.filter((name) => /^[a-z_]/.test(name));
  const sets = names.filter((name) => name.startsWith("@"));
  return [...own, ...(await Promise.all(sets.map(expand))).flat()];
}

async function writeFilter(file: string): Promise<void> {
  const text = await readFile(unit, "utf8");
  const [allowed = "", denied = ""] = [...text.matchAll(/^SystemCallFilter=~?(.*)$/gm)].map(
    ([, sets]) => sets,
  );
  const without = new Set((await Promise.all(denied.split(" ").map(expand))).flat());
  const names = (await Promise.all(allowed.split(" ").map(expand))).flat();
  const kept = names.filter((name) => !without.has(name));
  const script = join(root, "test/deploy/system_calls.py");
  const shell = `echo "$1" | /usr/bin/python3 "$2" > "$3"`;
  const args = ["-c", shell, "sh", kept.join(" "), script, file];
  await runCommand({ program: "sh", args }, root);
}

const hasSeccomp = async (): Promise<boolean> =>
  runCommand({ program: "/usr/bin/python3", args: ["-c", "import seccomp"] }, root).then(
    () => true,
    () => false,
  );

describe("the systemd unit", () => {
  const skip = unless(["bwrap", "setpriv", "systemd-analyze"], true);

  it("lets Restante serve, with workers and backups, and stop", { skip }, async (test) => {
    if (!(await hasSeccomp())) return test.skip("missing: apt-get install python3-seccomp");
    const folder = await mkdtemp(join(tmpdir(), "restante-unit-"));
    await chmod(folder, 0o755);
    const state = join(folder, "state");
    await mkdir(state, { mode: 0o700 });
    await chown(state, user, user);
    await writeFilter(join(folder, "filter"));
    const secret = newSecret();
    const sandbox = [
      ...["--ro-bind", "/", "/", "--bind", state, state, "--tmpfs", "/home", "--proc", "/proc"],
      ...["--dev", "/dev", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--clearenv"],
      ...["--setenv", "PATH", "/usr/bin:/bin", "--setenv", "RESTANTE_DATA", join(state, "data")],
      ...["--setenv", "RESTANTE_ADMIN_TOKEN", secret, "--chdir", state, "--seccomp", "3"],
    ];
    const rights = ["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--clear-groups"];
    const ids = [`--reuid=${user}`, `--regid=${user}`];
    const bun = join(root, "node_modules/.bin/bun");
    const serve = [
      ...[bun, join(root, "src/main.ts"), "serve", "--port", "0", "--workers", "2"],
      ...["--backup-to", join(state, "backups"), "--backup-every", "1m"],
    ];
    // The rights are dropped first: the filter denies the calls that drop them, as it should.
    const command = ["setpriv", ...ids, ...rights, "bwrap", ...sandbox, ...serve];
    const shell = `exec "$@" 3< ${join(folder, "filter")}`;
    const child = spawn("sh", ["-c", shell, "sh", ...command], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text) => {
        output += text;
      });
    const ended = once(child, "close");
    try {
      const url = await until(() => /"url":"([^"]+)".*"msg":"listening"/.exec(output)?.[1], child);
      const headers = { authorization: `Bearer ${secret}` };
      const posted = await fetch(`${url}/scans`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/pdf" },
        body: Buffer.alloc(100_000, 1),
      });
      assert.equal(posted.status, 201, await posted.text());
      assert.equal((await fetch(`${url}/scans`, { headers })).status, 200);
      await until(() => output.includes("made a backup") || undefined, child);
      assert.ok(!/EPERM|not permitted/i.test(output), output);
    } finally {
      // bwrap, the first process of its namespace, and the server.
      const [first = 0] = await childrenOf(child.pid ?? 0);
      const [server] = await childrenOf(first);
      if (server === undefined) child.kill("SIGKILL");
      else process.kill(server, "SIGTERM");
      await ended;
      await rm(folder, { recursive: true });
    }
    assert.match(output, /"msg":"stopped"/, output);
  });
});

/** Looks until there is a value, or the process has ended. */
async function until<T>(look: () => T | undefined, child: { exitCode: number | null }): Promise<T> {
  for (;;) {
    const found = look();
    if (found !== undefined) return found;
    assert.equal(child.exitCode, null, "it ended");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
