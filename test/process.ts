// Runs Restante as a real process on the runtime under test.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { canInject, withFault } from "./store/sqlite/test-directory.ts";

const isBun = "bun" in process.versions;
const flags = isBun ? [] : ["--disable-warning=ExperimentalWarning"];
const source = fileURLToPath(new URL("../src/main.ts", import.meta.url));

const bundleFor = (runtime: string) =>
  fileURLToPath(new URL(`../dist/${runtime}/main.js`, import.meta.url));

/** What `npm start` starts. */
export const bundle = bundleFor("bun");
/** `npm test` builds one for each runtime, once, because they start faster than the sources. */
const isBundled = process.env.RESTANTE_TEST_BUNDLE === "1";

/** The path of a single executable, for the tests of a file. */
const executable = process.env.RESTANTE_TEST_EXECUTABLE;

/** What `npm test` tells the compilers of Bun. */
const compilers = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => name.startsWith("BUN_JSC_")),
);

/** The command that runs Restante on this runtime from its sources. */
export const sourceCommandLine = commandOf(source);

/** The bundle, or the sources where a file runs alone: for what a single executable cannot, such as pictures. */
export const ownCommandLine = isBundled
  ? commandOf(bundleFor(isBun ? "bun" : "node"))
  : sourceCommandLine;

/** The command that the tests run. */
export const commandLine: readonly [string, ...string[]] = executable
  ? [executable]
  : ownCommandLine;

/** The command that runs a program on this runtime. */
export function commandOf(program: string): readonly [string, ...string[]] {
  return [process.execPath, ...flags, program];
}

/**
 * The command that is killed when one of its threads begins its how-manieth of these system calls. It runs to
 * its end where no thread makes so many, or where strace is missing or not allowed.
 */
export const killedAt = (calls: string, when: number): readonly [string, ...string[]] =>
  canInject() ? [...withFault(calls, `signal=KILL:when=${when}`), ...commandLine] : commandLine;

/** The system calls with which this runtime sends over a connection. */
export const sends = isBun ? "sendto" : "write,writev";

export interface ProcessOptions {
  readonly cwd: string;
  /** Another command than the one that the tests run. */
  readonly command?: readonly [string, ...string[]];
  /** The whole environment, except for what finds and speeds up programs. */
  readonly environment?: Readonly<Record<string, string>>;
}

export interface ProcessResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ServerProcess {
  readonly pid: number;
  readonly url: string;
  readonly port: number;
  /** The output so far. */
  stdout(): string;
  stderr(): string;
  signal(name: NodeJS.Signals): void;
  /** Resolves when the process has ended. */
  readonly ended: Promise<ProcessResult>;
}

/** Runs a command to its end. */
export const run = (
  args: readonly string[],
  surroundings: ProcessOptions,
): Promise<ProcessResult> => watch(launch(args, surroundings)).ended;

/** Runs a command with `killedAt`. Returns whether it was killed. */
export async function runKilledAt(
  calls: string,
  when: number,
  args: readonly string[],
  surroundings: ProcessOptions,
): Promise<boolean> {
  const { code } = await run(args, { ...surroundings, command: killedAt(calls, when) });
  return code === null;
}

/** Runs a command on a disk that is full for files of more blocks of 512 or 1024 bytes. */
export async function runOnFullDisk(
  blocks: number,
  args: readonly string[],
  cwd: string,
): Promise<ProcessResult> {
  const script = `trap '' XFSZ; ulimit -f ${blocks}; exec "$@"`;
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE };
  return watch(spawn("sh", ["-c", script, "sh", ...commandLine, ...args], { cwd, env })).ended;
}

/** Starts `serve` on a free port and waits until it listens; throws its output if it ends. */
export async function start(
  args: readonly string[],
  surroundings: ProcessOptions,
): Promise<ServerProcess> {
  const child = launch(["serve", "--port", "0", ...args], surroundings);
  const watched = watch(child);
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.on("data", () => {
      const line = /^\{.*"url":"(?<url>[^"]+)".*"msg":"listening"\}$/m.exec(watched.stdout());
      if (line?.groups?.url !== undefined) resolve(line.groups.url);
    });
    void watched.ended.then((ended) => reject(new Error(`it ended: ${JSON.stringify(ended)}`)));
  });
  const port = Number(new URL(url).port);
  return { ...watched, pid: child.pid ?? 0, url, port, signal: (name) => child.kill(name) };
}

/** The first admin token, from the file that the server names on standard error. */
export function firstToken(running: ServerProcess): string {
  const path = /^The first admin token is in (.+)\. Delete the file/m.exec(running.stderr())?.[1];
  if (path === undefined) throw new Error(`no file with a token is named: ${running.stderr()}`);
  return readFileSync(path, "utf8").trimEnd();
}

/** Returns the running child processes, the oldest first; on Linux. */
export async function childrenOf(pid: number): Promise<readonly number[]> {
  const processes = (await readdir("/proc")).map(Number).filter((id) => id > 0);
  const parents = await Promise.all(processes.map(parentOf));
  return processes.filter((_, index) => parents[index] === pid).toSorted((a, b) => a - b);
}

/** A zombie counts as ended. */
async function parentOf(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  const [, state, parent] = /\) (\w) (\d+) /.exec(status) ?? [];
  return state === "Z" ? undefined : Number(parent);
}

export const isRunning = async (pid: number): Promise<boolean> =>
  !Number.isNaN((await parentOf(pid)) ?? Number.NaN);

function launch(
  args: readonly string[],
  { cwd, environment, command = commandLine }: ProcessOptions,
): ChildProcess {
  const [program, ...before] = command;
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, ...compilers, ...environment };
  return spawn(program, [...before, ...args], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
}

function watch(child: ChildProcess) {
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (text) => (stdout += text));
  child.stderr?.setEncoding("utf8").on("data", (text) => (stderr += text));
  const ended = once(child, "close").then(([code]): ProcessResult => ({ code, stdout, stderr }));
  return { stdout: () => stdout, stderr: () => stderr, ended };
}
