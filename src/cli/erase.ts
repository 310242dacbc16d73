// The command `erase`: removes resources, or everything of a subject, with every trace.

import type { EraseReport } from "../domain/write/erasures.ts";
import { CliError, usageError } from "../lib/cli-error.ts";
import { readDuration } from "../lib/duration.ts";
import { system } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import type { ResourceAddress } from "../model/reference.ts";
import { type App, describeStore } from "../server/app.ts";
import type { Config } from "../server/config.ts";
import { confirm } from "./confirm.ts";
import { EraseMark } from "./erase-mark.ts";
import { countOf, formatBytes, Progress } from "./progress.ts";
import { scrubStore } from "./scrub-store.ts";
import { operatorConfig } from "./system-request.ts";
import { withStoreToWrite } from "./with-store.ts";

export interface EraseFlags {
  readonly subject?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly wait: string;
  readonly full?: boolean;
  readonly json?: boolean;
}

interface NamedResources {
  readonly targets: readonly ResourceAddress[];
  readonly subject: string | undefined;
}

export async function eraseData(
  config: Config,
  paths: readonly string[],
  flags: EraseFlags,
): Promise<void> {
  const { subject } = flags;
  const waitMs = readDuration(flags.wait);
  const errors = [
    ...paths.filter((path) => targetOf(path) === undefined).map(notPath),
    ...((paths.length === 0) === (subject === undefined) ? [eitherOr] : []),
    ...(waitMs === undefined
      ? [{ where: "--wait", detail: "must be a time such as 1m or 1h" }]
      : []),
  ];
  if (errors.length > 0 || waitMs === undefined) throw usageError(errors);
  const targets = paths.flatMap((path) => targetOf(path) ?? []);
  const run = (app: App) => new Erase(config, app, flags).run({ targets, subject }, waitMs);
  await withStoreToWrite(operatorConfig(config), run, "Run the same command again.");
}

const eitherOr = { where: "erase", detail: "needs the paths of resources, or --subject" };

const notPath = (path: string) => ({ where: path, detail: "must be a path such as /people/{id}" });

function targetOf(path: string): ResourceAddress | undefined {
  const [, collection, id] = /^\/([^/]+)\/([^/]+)$/.exec(path) ?? [];
  return collection === undefined || id === undefined ? undefined : { collection, id };
}

const pathOf = ({ collection, id }: ResourceAddress): string => `/${collection}/${id}`;

/** The names of everything that is to be erased. */
const namesIn = ({ targets, subject }: NamedResources): readonly string[] => [
  ...targets.map(pathOf),
  ...(subject === undefined ? [] : [subject]),
];

class Erase {
  readonly #config: Config;
  readonly #app: App;
  readonly #flags: EraseFlags;

  constructor(config: Config, app: App, flags: EraseFlags) {
    this.#config = config;
    this.#app = app;
    this.#flags = flags;
  }

  async run(named: NamedResources, waitMs: number): Promise<void> {
    const unknown = await this.#unknownIn(named);
    const mark = new EraseMark(this.#config, namesIn(named));
    const report = this.#flags.dryRun
      ? await this.#erase(named, true)
      : await this.#eraseAll(named, mark, waitMs);
    this.#print(report);
    const missing = hasNothing(report) ? namesIn(named) : unknown;
    if (missing.length > 0 && !mark.isResumed)
      throw new CliError(
        1,
        `There was nothing of ${missing.join(", ")}: it never existed, or it was erased before.`,
      );
  }

  async #eraseAll(named: NamedResources, mark: EraseMark, waitMs: number): Promise<EraseReport> {
    const { full: isFull = false, json: isJson } = this.#flags;
    await this.#ask(named);
    const report = await mark.during(() => this.#erase(named, false));
    // A path that is wrong writes no file anew.
    if (mark.isPending || !hasNothing(report)) {
      await this.#app.sweep();
      await scrubStore(this.#app, { isFull, waitMs, progress: new Progress({ isJson }) });
    }
    mark.remove();
    return report;
  }

  /** Of several, returns those of which there is nothing. */
  async #unknownIn({ targets }: NamedResources): Promise<readonly string[]> {
    const unknown: string[] = [];
    for (const target of targets.length > 1 ? targets : []) {
      const report = await this.#app.erasures.erase(system, { targets: [target], isTrial: true });
      if (!(report instanceof Problem) && hasNothing(report)) unknown.push(pathOf(target));
    }
    return unknown;
  }

  async #ask({ subject }: NamedResources): Promise<void> {
    if (subject === undefined || this.#flags.yes) return;
    const report = await this.#erase({ targets: [], subject }, true);
    process.stderr.write(`${reportLines(report, true).join("\n")}\n`);
    const text = `Erase everything of ${subject}?`;
    await confirm({ text, refusal: "Nothing was erased.", needs: "It needs --yes." });
  }

  async #erase(named: NamedResources, isTrial: boolean): Promise<EraseReport> {
    const report = await this.#app.erasures.erase(system, { ...named, isTrial });
    if (!(report instanceof Problem)) return report;
    throw new CliError(1, `Nothing was erased: ${report.detail}`);
  }

  #print(report: EraseReport): void {
    const { json, dryRun: isDryRun = false, full: isFull = false } = this.#flags;
    const remains = isDryRun ? [] : whatRemains(this.#config, isFull);
    const text = json
      ? JSON.stringify({ ...report, isDryRun, remains })
      : [...reportLines(report, isDryRun), ...remains].join("\n");
    process.stdout.write(`${text}\n`);
  }
}

const hasNothing = ({ collections, tokens, files }: EraseReport): boolean =>
  collections.length + tokens + files === 0;

function reportLines(report: EraseReport, isTrial: boolean): readonly string[] {
  const { collections, tokens, files, bytes } = report;
  const verb = isTrial ? "Would erase" : "Erased";
  if (hasNothing(report)) return [`${verb} nothing.`];
  const others = counts({ tokens, files });
  return [
    ...collections.map(({ collection, resources, removals, formerStates, keys }) => {
      const rows = { resources, removals, "previous states": formerStates, keys };
      return `${verb} in ${collection}: ${counts(rows)}.`;
    }),
    ...(others === "" ? [] : [`${verb} ${others}${files > 0 ? ` (${formatBytes(bytes)})` : ""}.`]),
  ];
}

const counts = (all: Readonly<Record<string, number>>): string =>
  Object.entries(all)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => countOf(count, name))
    .join(", ");

const oldBackups =
  "Backups that were made before still have it, until `restante backup --keep` deletes them.";

function whatRemains(config: Config, isFull: boolean): readonly string[] {
  if (config.store === undefined) return [`Nothing of it is left in ${config.data}.`, oldBackups];
  const pages = isFull ? "" : "unused parts of pages (--full rewrites them), ";
  return [
    `No row of ${describeStore(config)} has it. Postgres still has bytes of it in ${pages}WAL segments and their archive, on replicas and in base backups, until it overwrites or you delete them.`,
    oldBackups,
  ];
}
