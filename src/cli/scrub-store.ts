// Waits until what was erased is gone from the files of the store, and shows how far that is.

import { setTimeout as sleep } from "node:timers/promises";
import { CliError } from "../lib/cli-error.ts";
import { Outage } from "../model/outage.ts";
import { system } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import type { App } from "../server/app.ts";
import { formatBytes, type Progress, type ProgressStep } from "./progress.ts";

export interface ScrubSettings {
  readonly isFull: boolean;
  /** How long readers may need what was erased. */
  readonly waitMs: number;
  readonly progress: Progress;
}

const pauseMs = 100;
/** Writes hardly wait for less. */
const notedBytes = 100_000_000;

/** Nobody can read what was erased any more, so an outage says what is left to do. */
export async function scrubStore(app: App, settings: ScrubSettings): Promise<void> {
  try {
    await runSteps(app, settings);
  } catch (thrown) {
    settings.progress.close();
    if (!(thrown instanceof Outage)) throw thrown;
    throw new CliError(1, `${stillThere}: ${thrown.message}. ${goOn}.`, { cause: thrown });
  }
}

async function runSteps(app: App, settings: ScrubSettings): Promise<void> {
  const { isFull, waitMs, progress } = settings;
  let blockedSince: number | undefined;
  let rewriting: { readonly step: ProgressStep; readonly bytes: number } | undefined;
  for (let isFirst = true; ; isFirst = false) {
    const state = await app.erasures.scrub(system, { isFirst, isFull });
    if (state instanceof Problem) throw new CliError(1, state.detail);
    if (state.kind === "done") break;
    if (state.kind === "rewrite") {
      const { bytes } = state;
      if (bytes > notedBytes)
        progress.note(`Writes wait while ${formatBytes(bytes)} are rewritten.`);
      rewriting = { step: progress.step("rewrite", { total: bytes, unit: "bytes" }), bytes };
    }
    if (state.kind !== "blocked") continue;
    if (blockedSince === undefined) progress.note(waiting);
    blockedSince ??= performance.now();
    if (performance.now() - blockedSince > waitMs)
      throw new CliError(1, `${stillThere}: ${adviceOn(state.by)}`);
    await sleep(pauseMs);
  }
  rewriting?.step.add(rewriting.bytes);
  rewriting?.step.done();
}

const adviceOn = (reader: string | undefined): string =>
  reader === undefined
    ? `a reader needs them. ${goOn}, or let it wait longer with --wait 1h.`
    : `${reader} needs them. ${goOn} after that program has ended, or let it wait longer with --wait 1h. Litestream reads all the time: stop it, and start it again after the command.`;

const waiting =
  "A backup, a long query or another reader still needs what was erased: waiting for it.";
const stillThere = "It is erased for everyone, but its bytes are still in the files";
const goOn = "Run the same command again to finish";
