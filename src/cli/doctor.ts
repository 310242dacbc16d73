// The command `doctor`.

import type { Examined } from "../doctor/doctor.ts";
import { type Finding, type FindingState, worstOf } from "../doctor/finding.ts";
import { usageError } from "../lib/cli-error.ts";
import { describeStore } from "../server/app.ts";
import type { Config } from "../server/config.ts";
import { examine, repair } from "../server/doctor.ts";
import { countOf } from "./progress.ts";
import { print, withProgress } from "./with-progress.ts";

export interface DoctorOptions {
  readonly quick?: boolean;
  readonly repair?: boolean;
  readonly json?: boolean;
}

/** Ends with 1 when there is an error. */
export async function runDoctor(config: Config, options: DoctorOptions): Promise<void> {
  if (options.quick && options.repair)
    throw usageError([{ where: "--quick", detail: "does not find what --repair repairs" }]);
  const look = () =>
    withProgress(options, "The check failed", (track) =>
      examine(config, { isQuick: options.quick === true, track }),
    );
  const first = await look();
  const repaired = options.repair ? await runRepair(config, options, first) : [];
  const { findings } = repaired.length > 0 ? await look() : first;
  const state = worstOf(findings);
  const isVain = options.repair && repaired.length === 0 && state !== "ok";
  print(options, { state, store: describeStore(config), repaired, findings }, [
    ...repaired,
    ...(isVain ? ["There was nothing to repair that is safe to repair."] : []),
    ...linesOf(findings),
    summaryOf(describeStore(config), findings),
  ]);
  if (state === "error") process.exitCode = 1;
}

const runRepair = (
  config: Config,
  options: DoctorOptions,
  examined: Examined,
): Promise<readonly string[]> =>
  withProgress(options, "The repair failed", (track) => repair(config, examined, track));

const labels: Readonly<Record<FindingState, string>> = {
  ok: "ok     ",
  warning: "WARNING",
  error: "ERROR  ",
};

const checkWidth = 16;

function linesOf(findings: readonly Finding[]): readonly string[] {
  return findings.flatMap(({ check, state, message, advice }) => {
    const head = `${labels[state]} ${check.padEnd(checkWidth)}`;
    return [
      `${head} ${message}`,
      ...(advice === undefined ? [] : [`${" ".repeat(head.length)} ${advice}`]),
    ];
  });
}

function summaryOf(store: string, findings: readonly Finding[]): string {
  const count = (wanted: FindingState) => findings.filter(({ state }) => state === wanted).length;
  const [errors, warnings] = [count("error"), count("warning")];
  if (errors + warnings === 0) return `${store} is healthy.`;
  if (errors === 0) return `${store} is healthy, with ${countOf(warnings, "warnings")}.`;
  return `${store} is not healthy: ${countOf(errors, "errors")}, ${countOf(warnings, "warnings")}.`;
}
