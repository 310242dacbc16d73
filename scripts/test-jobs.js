// Runs programs side by side, a few at a time, and collects the output and the test counts of each.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";

/**
 * Runs the jobs in order, at most `slots` at a time, and reports each result as soon as the job ends. A
 * job may take `timeoutMs` for each of its files, of which `weight` is the number.
 * When `stop` is aborted, no further job starts, and the results of those that run are reported as
 * failed, with the output so far.
 */
export async function runJobs(jobs, { slots, timeoutMs, stop, onResult }) {
  const waiting = [...jobs];
  const work = async () => {
    while (waiting.length > 0 && !stop.aborted) onResult(await runJob(waiting.shift()));
  };
  const runJob = async (job) => {
    const startedAt = Date.now();
    const { output, isEndedWell, cpuSeconds } = await runProgram(
      job,
      timeoutMs * (job.weight ?? 1),
      stop,
    );
    const seconds = (Date.now() - startedAt) / 1000;
    const counts = job.count && countTests(job.count, output, isEndedWell);
    const isGood = isEndedWell && !(counts?.failed > 0);
    return { job, output, isGood, seconds, cpuSeconds, counts };
  };
  await Promise.all(Array.from({ length: slots }, work));
}

/** A program has its own process group, so that what it leaves behind can be ended with it. */
async function runProgram({ program, args, cwd, env }, timeoutMs, stop) {
  const child = spawn(program, args, {
    ...{ cwd, env, detached: true },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const add = (text) => {
    output += text;
  };
  child.stdout.setEncoding("utf8").on("data", add);
  child.stderr.setEncoding("utf8").on("data", add);
  const kill = () => killGroup(child.pid);
  const giveUp = () => {
    add(`\nstopped after ${timeoutMs / 1000} seconds\n`);
    kill();
  };
  const timer = setTimeout(giveUp, timeoutMs);
  stop.addEventListener("abort", kill);
  const closed = new Promise((resolve) => child.on("close", resolve));
  const code = await new Promise((resolve) => {
    child.on("error", (error) => resolve(add(`${error}\n`)));
    child.on("exit", resolve);
  });
  const cpuSeconds = cpuSinceLastEnd();
  kill();
  if (code !== undefined) await closed;
  clearTimeout(timer);
  stop.removeEventListener("abort", kill);
  return { output, isEndedWell: code === 0, cpuSeconds };
}

let knownCpu = 0;

/**
 * Returns the processor time of the program that has just ended, with the processes that it has waited
 * for; of two that end at the same moment, the first gets the time of both.
 */
function cpuSinceLastEnd() {
  const before = knownCpu;
  knownCpu = cpuOfEnded() ?? before;
  return knownCpu - before;
}

/** Returns the processor time of all programs that have ended; only Linux tells it. */
export function cpuOfEnded() {
  try {
    // Node gives the time of its own process only. These are cutime and cstime of proc(5), in ticks.
    const [, fields = ""] = readFileSync("/proc/self/stat", "utf8").split(") ");
    const [user, system] = fields.split(" ").slice(13, 15);
    return (Number(user) + Number(system)) / 100;
  } catch {
    return undefined;
  }
}

/** Returns the processor time that the host gave to other machines since it started; only Linux tells it. */
export function cpuOfOthers(stat = "/proc/stat") {
  try {
    // The column `steal` of proc(5), of all cores together, in ticks.
    const [cores = ""] = readFileSync(stat, "utf8").split("\n");
    return Number(cores.trim().split(/\s+/)[8] ?? 0) / 100;
  } catch {
    return undefined;
  }
}

/** Says how long a run took, and what others took from it, if that is over a hundredth of the cores' time. */
export function timesOf({ seconds, cores, cpu, others = 0 }) {
  const times = `${seconds.toFixed(0)} seconds, ${cpu?.toFixed(0) ?? "?"} seconds of processor time`;
  if (others <= (seconds * cores) / 100) return times;
  return `${times}; the host gave ${others.toFixed(0)} more to other machines`;
}

/** The group may have ended already. */
function killGroup(pid) {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

/**
 * Reads the counts that a runtime prints last: `ℹ pass 12` on Node, ` 12 pass` on Bun. A file that
 * crashed, or that has no test, has at least one failure.
 */
export function countTests(runtime, output, isEndedWell) {
  const number = (word) => {
    const pattern = runtime === "node" ? `^ℹ ${word} (\\d+)$` : `^ (\\d+) ${word}$`;
    return Number([...output.matchAll(new RegExp(pattern, "gm"))].at(-1)?.[1] ?? 0);
  };
  const passed = number("pass");
  const failed = number("fail") + number("cancelled");
  const skipped = number("skip") + number("skipped") + number("todo");
  const isCounted = isEndedWell && passed + skipped > 0;
  return { passed, failed: isCounted ? failed : Math.max(1, failed), skipped };
}

/** Returns the lines of an output that are not about a test that passed or was skipped. */
export function withoutPassed(output) {
  const isOther = (line) => line.trim() !== "" && !/^\s*(?:✔|﹣|\((?:pass|skip)\))/.test(line);
  return output.split("\n").filter(isOther);
}
