// Directories for the tests of the SQLite engine, and child processes on the same data.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** A directory of its own for the test, removed afterwards. */
export async function inDirectory(test: (path: string) => Promise<void>): Promise<void> {
  const path = await mkdtemp(join(tmpdir(), "restante-"));
  try {
    await test(path);
  } finally {
    await rm(path, { recursive: true });
  }
}

export interface Child {
  /** The lines it wrote so far, whole ones only. */
  readonly lines: readonly string[];
  onLine(listener: (line: string) => void): void;
  kill(): void;
  /** When it is gone and all it wrote has arrived; its exit code, or none when killed. */
  readonly gone: Promise<number | null>;
}

/** Runs a script, of `children/` where it has but a name, in a process of its own, on the same runtime. */
export function startChild(script: string | URL, ...options: readonly string[]): Child {
  return startChildUnder([], script, ...options);
}

/** Runs it under another program, which takes the command as its last arguments. */
export function startChildUnder(
  wrapper: readonly string[],
  script: string | URL,
  ...options: readonly string[]
): Child {
  const isOurs = typeof script === "string";
  const url = isOurs ? new URL(`./children/${script}.ts`, import.meta.url) : script;
  const file = fileURLToPath(url);
  const command = [process.execPath, file, ...options];
  const [program = process.execPath, ...words] = [...wrapper, ...command];
  const child = spawn(program, words, {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, NODE_NO_WARNINGS: "1" },
  });
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout });
  reader.on("line", (line) => lines.push(line));
  const closed = once(reader, "close");
  const gone = once(child, "exit").then(async ([code]) => {
    await closed;
    return code as number | null;
  });
  return {
    lines,
    onLine: (listener) => reader.on("line", listener),
    kill: () => child.kill("SIGKILL"),
    gone,
  };
}

/** A small file system, or why there is none. */
export function mountSmall(path: string, mebibytes = 4): string | undefined {
  const size = `size=${mebibytes}m`;
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", size, "tmpfs", path], { stdio: "ignore" });
    return undefined;
  } catch {
    return "mounting a small file system needs root";
  }
}

/**
 * The command under which these system calls of a child fail or kill it: `fault` is `error=EIO:when=3`,
 * `signal=KILL:when=3` or the like. With `file`, only calls on that file count.
 */
export function withFault(
  calls: string,
  fault: string,
  file?: string,
): readonly [string, ...string[]] {
  return [
    "strace",
    ...["-f", "-qq", "-o", "/dev/null"],
    // Stops at these calls only, which is faster. strace sends no signals then.
    ...(fault.startsWith("error=") ? ["--seccomp-bpf"] : []),
    ...(file === undefined ? [] : ["-P", file]),
    ...["-e", `trace=${calls}`, "-e", `inject=${calls}:${fault}`],
  ];
}

/** Whether a child can be run with failures put into its system calls. */
export function canInject(): boolean {
  const [program, ...words] = withFault("fsync", "error=EIO");
  try {
    execFileSync(program, [...words, "true"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
