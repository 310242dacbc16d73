// Runs programs side by side, a few at a time, and collects the output and the test counts of each.

import { spawn } from "node:child_process";

/**
 * Runs the jobs in order, at most `slots` at a time, and reports each result as soon as the job ends.
 * When `stop` is aborted, no further job starts, and those that run are reported as failed, with the
 * output so far.
 */
export async function runJobs(jobs, { slots, stop, onResult }) {
  const waiting = [...jobs];
  const work = async () => {
    while (waiting.length > 0 && !stop.aborted) {
      const job = waiting.shift();
      const startedAt = Date.now();
      const { output, isEndedWell } = await runProgram(job, stop);
      const seconds = (Date.now() - startedAt) / 1000;
      const counts = job.hasTests ? countTests(job.step, output, isEndedWell) : undefined;
      const isGood = isEndedWell && !(counts?.failed > 0);
      onResult({ job, output, isGood, seconds, counts });
    }
  };
  await Promise.all(Array.from({ length: slots }, work));
}

/** A program has its own process group, so that what it leaves behind can be ended with it. */
async function runProgram({ program, args, timeoutMs, ...options }, stop) {
  const child = spawn(program, args, {
    ...options,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const add = (text) => {
    output += text;
  };
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", add);
  const kill = () => {
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // The program did not start, or its group has ended.
    }
  };
  const timer = setTimeout(() => {
    add(`\nstopped after ${timeoutMs / 1000} seconds\n`);
    kill();
  }, timeoutMs);
  stop.addEventListener("abort", kill);
  const closed = new Promise((resolve) => child.on("close", resolve));
  const code = await new Promise((resolve) => {
    child.on("error", (error) => resolve(add(`${error}\n`)));
    child.on("exit", resolve);
  });
  kill();
  if (code !== undefined) await closed;
  clearTimeout(timer);
  stop.removeEventListener("abort", kill);
  return { output, isEndedWell: code === 0 };
}

/**
 * Reads the counts that a runtime prints last: `ℹ pass 12` on Node, ` 12 pass` on Bun. A file that
 * crashed, or that has no test, has at least one failure.
 */
function countTests(runtime, output, isEndedWell) {
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
