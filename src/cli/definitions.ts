// The commands `definitions diff` and `definitions apply`: bring the definitions of one store to another.

import { CliError } from "../lib/cli-error.ts";
import { system } from "../model/principal.ts";
import type { Problem } from "../model/problem.ts";
import { accessName } from "../model/schemas/access.ts";
import type { App } from "../server/app.ts";
import type { Config } from "../server/config.ts";
import { confirm } from "./confirm.ts";
import {
  type CollectionDiff,
  compareDefinitions,
  type DefinitionsDiff,
} from "./definitions-diff.ts";
import { type DefinitionsSource, readSource } from "./definitions-source.ts";
import { countOf } from "./progress.ts";
import { operatorConfig } from "./system-request.ts";
import { withStoreToRead, withStoreToWrite } from "./with-store.ts";

export interface DefinitionsOptions {
  readonly from?: string;
  readonly prune?: boolean;
  readonly yes?: boolean;
  readonly allowDestructive?: boolean;
  readonly json?: boolean;
}

/** Prints what differs. The exit code is 1 when something does. */
export async function diffDefinitions(
  config: Config,
  options: DefinitionsOptions,
  token: string | undefined,
): Promise<void> {
  const source = await readSource(config, options.from, token);
  await withStoreToRead(operatorConfig(config), async (app) => {
    const diff = await compareDefinitions(app, source, options.prune ?? false);
    print(options.json ? JSON.stringify({ ...diff, isSame: !isAnyChange(diff) }) : textOf(diff));
    if (isAnyChange(diff)) process.exitCode = 1;
  });
}

/** Applies what differs, after a question when something is lost or violated. */
export async function applyDefinitions(
  config: Config,
  options: DefinitionsOptions,
  token: string | undefined,
): Promise<void> {
  const source = await readSource(config, options.from, token);
  const act = async (app: App): Promise<void> => {
    const diff = await compareDefinitions(app, source, options.prune ?? false);
    if (!options.json) print(textOf(diff));
    if (isAnyChange(diff)) {
      await requireConsent(diff, options);
      await apply(app, source, diff);
    }
    if (options.json) print(JSON.stringify({ ...diff, isApplied: true }));
    else print(isAnyChange(diff) ? "Applied." : "Nothing to apply.");
  };
  await withStoreToWrite(operatorConfig(config), act, "Run the same command again.");
}

const print = (text: string) => process.stdout.write(`${text}\n`);

const isChange = ({ state, destructive }: CollectionDiff): boolean =>
  state === "new" || state === "changed" || destructive.length > 0;

const isAnyChange = ({ collections, access }: DefinitionsDiff): boolean =>
  access === "changed" || collections.some(isChange);

function textOf({ collections, access }: DefinitionsDiff): string {
  const lines = collections.filter(({ state }) => state !== "same").flatMap(linesOf);
  if (access === "changed") lines.push("the access document: changed");
  const same = collections.filter(({ state }) => state === "same").length;
  return [...lines, `${countOf(same, "collections")} with the same definition`].join("\n");
}

function linesOf(diff: CollectionDiff): readonly string[] {
  const { name, state, members, destructive, violations, rejected, resources } = diff;
  if (state === "only-in-target" && destructive.length === 0)
    return [`${name}: only in the target, with ${countOf(resources, "resources")}; it stays`];
  const what = { same: "same", new: "new", changed: `changed ${members.join(", ")}` };
  const head = state === "only-in-target" ? "only in the target" : what[state];
  const isChecked = violations !== undefined && state === "changed";
  return [
    `${name}: ${head}`,
    ...destructive.map((text) => `  destructive: ${text}`),
    ...(rejected === undefined ? [] : [`  rejected: ${rejected}`]),
    ...(isChecked ? violationLines(violations, resources) : []),
  ];
}

function violationLines(
  { count, first, checked }: NonNullable<CollectionDiff["violations"]>,
  resources: number,
): readonly string[] {
  const of = countOf(checked ?? resources, "resources");
  const scope = checked === undefined ? of : `the first ${of}`;
  if (count === 0) return [`  compatible: all of ${scope} match`];
  const [example] = first;
  const [error] = example?.errors ?? [];
  const shown = error && `, such as ${example?.id}: ${error.pointer ?? ""} ${error.detail}`;
  return [`  violations: ${count} of ${scope} do not match${shown ?? ""}`];
}

/** Asks unless a flag allows it. */
async function requireConsent(
  { collections }: DefinitionsDiff,
  { yes = false, allowDestructive = false }: DefinitionsOptions,
): Promise<void> {
  const isLost = collections.some(({ destructive }) => destructive.length > 0);
  const isViolated = collections.some(({ violations }) => (violations?.count ?? 0) > 0);
  if (collections.some(({ rejected }) => rejected !== undefined))
    throw new CliError(1, "Nothing was applied: definitions would be rejected.");
  const needed = [
    ...(isLost && !allowDestructive ? ["--allow-destructive"] : []),
    ...(isViolated && !yes ? ["--yes"] : []),
  ];
  if (needed.length === 0) return;
  const needs = `It needs ${needed.join(" and ")}.`;
  await confirm({ text: "Apply this?", refusal: "Nothing was applied.", needs });
}

/** One transaction. Collections are deleted after it, each for itself. */
async function apply(app: App, source: DefinitionsSource, diff: DefinitionsDiff): Promise<void> {
  const removed = diff.collections.filter(isRemoval).map(({ name }) => name);
  const changed = new Set(
    diff.collections
      .filter(({ state }) => state === "new" || state === "changed")
      .map(({ name }) => name),
  );
  const definitions = source.definitions.filter(({ name }) => changed.has(name));
  const access = diff.access === "changed" ? source.access : undefined;
  const applied = await app.collections.apply(system, { access, definitions, removed });
  if ("problem" in applied) {
    const name = applied.name === accessName ? "the access document" : applied.name;
    throw failed(name, applied.problem, "Nothing was applied.");
  }
  for (const { name, build } of applied)
    if (build?.isRunning) process.stderr.write(`${name}: its indexes are being built\n`);
  await remove(app, removed);
}

const isRemoval = ({ state, destructive }: CollectionDiff): boolean =>
  state === "only-in-target" && destructive.length > 0;

/** A collection that others refer to is deleted after them. */
async function remove({ collections }: App, names: readonly string[]): Promise<void> {
  let left = names;
  while (left.length > 0) {
    const kept: string[] = [];
    let problem: Problem | undefined;
    for (const name of left) {
      const found = await collections.delete(system, name, true);
      if (found === undefined) continue;
      problem = found;
      kept.push(name);
    }
    if (problem !== undefined && kept.length === left.length)
      throw failed(kept.join(", "), problem, "What was applied before it stays.");
    left = kept;
  }
}

function failed(name: string, { detail, errors = [] }: Problem, result: string): CliError {
  const texts = errors.map((error) => error.detail);
  return new CliError(1, `${name}: ${[detail, ...texts].join(" ")} ${result}`);
}
