// Child processes: started, waited for, and never left behind.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { treeSeconds } from "./processors.ts";

export const root = join(import.meta.dirname, "..", "..");
export const bun = process.execPath;
/** The Node that npm brought: the machine's own may be too old for the peers. */
export const node = join(root, "node_modules", ".bin", "node");

export interface Running {
  readonly origin: string;
  readonly memory: () => Memory | undefined;
  /** Of all its processes, since they began. */
  readonly processorSeconds: () => number;
  stop(): Promise<void>;
}

export interface Memory {
  readonly residentMb: number;
  readonly peakMb: number;
}

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly folder?: string;
}

/** The same with every thread on one core. */
export const onCore = ({ command, args, ...rest }: Command, core: number): Command => ({
  ...rest,
  command: "taskset",
  args: ["-c", `${core}`, command, ...args],
});

/** Default settings are measured, whatever this shell has set. */
const inherited = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith("RESTANTE_")),
);

const children = new Set<ChildProcess>();
/** Ends what was started and still runs. */
export const endAll = (): void => {
  for (const child of children) child.kill("SIGKILL");
};

/** No child outlives this process. */
export function endAllAtExit(): void {
  process.on("exit", endAll);
  for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const)
    process.on(signal, () => process.exit(130));
}

/**
 * Each in a session of its own. Linux may divide the processors between sessions (`sched_autogroup`), and
 * each connection of Postgres has one: a server would share its part with the loader.
 */
function start(
  { command, args, environment, folder }: Command,
  output: "ignore" | "pipe",
): ChildProcess {
  const child = spawn(command, [...args], {
    cwd: folder ?? root,
    detached: true,
    env: { ...inherited, NODE_ENV: "production", ...environment },
    stdio: ["ignore", output, "pipe"],
  });
  children.add(child);
  child.once("exit", () => children.delete(child));
  return child;
}

export interface MeasuredRun {
  readonly output: string;
  readonly seconds: number;
  /** NaN where /proc is missing. */
  readonly peakMb: number;
}

/** Often enough for the peak of a command that takes seconds. */
const sampleMs = 50;

/** Runs a command and watches its memory. */
export async function runMeasured(command: Command, timeoutSeconds: number): Promise<MeasuredRun> {
  const startedAt = performance.now();
  let peakMb = Number.NaN;
  const output = await run(command, timeoutSeconds, (processId) => {
    // A process that has just ended has no such line.
    peakMb = readMemory(processId)?.peakMb || peakMb;
  });
  return { output, seconds: (performance.now() - startedAt) / 1000, peakMb };
}

/**
 * What a command printed. Throws with the end of its error output when it fails. `look` is called with its
 * process id while it runs.
 */
export async function run(
  command: Command,
  timeoutSeconds: number,
  look?: (processId: number | undefined) => void,
): Promise<string> {
  const child = start(command, "pipe");
  const output = gather(child.stdout);
  const errors = gather(child.stderr);
  const timer = setTimeout(() => child.kill("SIGKILL"), timeoutSeconds * 1000);
  const watch = look && setInterval(() => look(child.pid), sampleMs);
  const code = await new Promise((resolve, reject) => {
    child.once("close", resolve);
    child.once("error", reject);
  });
  clearTimeout(timer);
  clearInterval(watch);
  if (code === 0) return output();
  const reason = code === null ? `no end after ${timeoutSeconds} s` : `exit code ${code}`;
  throw new Error(`${command.command}: ${reason}. ${lastWords(errors() || output())}`);
}

/** A server that answers. Its log goes to /dev/null: to read it would take time from what is measured. */
export async function serve(command: Command, port: number, path: string): Promise<Running> {
  const child = start(command, "ignore");
  const errors = gather(child.stderr);
  const origin = `http://127.0.0.1:${port}`;
  try {
    await answering(child, `${origin}${path}`);
  } catch (error) {
    await stop(child);
    const words = error instanceof Error ? error.message : String(error);
    throw new Error(`${words}. ${lastWords(errors())}`);
  }
  return {
    origin,
    memory: () => readMemory(child.pid),
    processorSeconds: () => treeSeconds(child.pid),
    stop: () => stop(child),
  };
}

async function answering(child: ChildProcess, url: string): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline) {
    const end = child.exitCode ?? child.signalCode;
    if (end !== null) throw new Error(`it ended at once (${end})`);
    const answered = await fetch(url, { signal: AbortSignal.timeout(5000) }).catch(() => undefined);
    if (answered !== undefined) return;
    await Bun.sleep(2);
  }
  throw new Error("it did not answer within 60 s");
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), 15_000);
  await ended;
  clearTimeout(timer);
}

function gather(stream: ChildProcess["stdout"]): () => string {
  const chunks: Buffer[] = [];
  stream?.on("data", (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString();
}

const lastWords = (text: string): string =>
  text.trim().split("\n").slice(-6).join(" ⏎ ").slice(-600);

/** Linux says it in /proc; elsewhere the figure is left out and the report says so. */
function readMemory(processId: number | undefined): Memory | undefined {
  try {
    const status = readFileSync(`/proc/${processId}/status`, "utf8");
    const field = (name: string) => kibToMb(Number(status.match(`${name}:\\s+(\\d+) kB`)?.[1]));
    return { residentMb: field("VmRSS"), peakMb: field("VmHWM") };
  } catch {
    return undefined;
  }
}

const kibToMb = (kib: number): number => (kib * 1024) / 1e6;

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
