// The command `access test`: tries a table of cases with the rules of a folder or of a store, in a store of its own.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { reportOf } from "../http/admin/rights.ts";
import { CliError, usageError } from "../lib/cli-error.ts";
import { reasonOf } from "../lib/system-error.ts";
import { system } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import {
  type AccessCase,
  type AccessCases,
  caseId,
  queryOf,
  readAccessCases,
} from "../model/schemas/access-cases.ts";
import type { AccessReport } from "../model/schemas/access-query.ts";
import type { App } from "../server/app.ts";
import type { Config } from "../server/config.ts";
import { applyDefinitions } from "../server/definitions-folder.ts";
import { openApp } from "../server/lifecycle.ts";
import { createLog } from "../server/log.ts";
import { withStoreToRead } from "./with-store.ts";

export interface TestOptions {
  readonly json?: boolean;
}

interface CaseResult {
  readonly name: string;
  readonly ok: boolean;
  readonly expected: { readonly expect: boolean | number; readonly grant?: string | undefined };
  readonly report: AccessReport;
}

/** Prints a line for each case. The exit code is 1 when one fails. */
export async function testAccess(
  config: Config,
  file: string,
  options: TestOptions,
): Promise<void> {
  const table = readCases(file);
  const data = mkdtempSync(join(tmpdir(), "restante-access-"));
  try {
    const log = createLog("silent");
    const app = await openApp({ ...config, data, store: undefined }, log);
    try {
      if (config.collections !== undefined) await applyDefinitions(config, app, log);
      else await withStoreToRead(config, (stored) => copyDefinitions(stored, app));
      print(await runCases(app, table), options);
    } finally {
      await app.close();
    }
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
}

function readCases(file: string): AccessCases {
  try {
    const table = readAccessCases(JSON.parse(readFileSync(file, "utf8")));
    if ("cases" in table) return table;
    throw usageError(table.map(({ pointer, detail }) => ({ where: `${file} ${pointer}`, detail })));
  } catch (thrown) {
    throw thrown instanceof CliError ? thrown : new CliError(2, `${file}: ${reasonOf(thrown)}`);
  }
}

async function copyDefinitions(from: App, to: App): Promise<void> {
  const document = accepted(await from.accessDocuments.find(system));
  accepted(await to.accessDocuments.replace(system, JSON.stringify(document)));
  for (const { name, definition } of accepted(await from.collections.list(system)))
    accepted(await to.collections.define(system, name, definition));
}

function accepted<T>(result: T | Problem): T {
  if (result instanceof Problem) throw new CliError(1, result.detail);
  return result;
}

async function runCases(app: App, { resources = {}, cases }: AccessCases): Promise<CaseResult[]> {
  for (const [collection, states] of Object.entries(resources))
    for (const [id, state] of Object.entries(states)) await put(app, collection, id, state);
  const results: CaseResult[] = [];
  for (const one of cases) results.push(await runCase(app, one));
  return results;
}

async function runCase(app: App, one: AccessCase): Promise<CaseResult> {
  const { collection, subject = "anonymous", verb, state, id = caseId, expect, grant } = one;
  const { name = `${subject} ${verb} ${collection}` } = one;
  if (state !== undefined) await put(app, collection, id, state);
  const query = queryOf(one);
  const report = reportOf(
    query,
    accepted(await app.current.services.rights.explain(system, query)),
  );
  if (state !== undefined)
    await app.writer.commit([{ kind: "remove", collection, id, at: 0, expect: "anything" }]);
  const isExpected = expect === (typeof expect === "boolean" ? report.allowed : report.status);
  const ok = isExpected && (grant === undefined || grant === report.grant);
  return { name, ok, expected: { expect, ...(grant !== undefined && { grant }) }, report };
}

/** Puts a state as it is, without the checks of a write. */
async function put(
  app: App,
  collection: string,
  id: string,
  { _owner: owner, ...fields }: Readonly<Record<string, unknown>>,
): Promise<void> {
  const change = { kind: "put", collection, id, fields: JSON.stringify(fields) } as const;
  const setOwner = typeof owner === "string" ? owner : null;
  const [outcome] = await app.writer.commit([
    { ...change, at: Date.now(), expect: "anything", setOwner },
  ]);
  const isStored = outcome?.kind === "created" || outcome?.kind === "replaced";
  if (!isStored)
    throw new CliError(1, `${collection}/${id} cannot be stored: ${reasons[outcome?.kind ?? ""]}`);
}

const reasons: Readonly<Record<string, string>> = {
  missing: "there is no collection of this name",
  conflict: "another resource has the same value in a unique field",
  dangling: "it refers to a resource that does not exist",
};

function print(results: readonly CaseResult[], { json = false }: TestOptions): void {
  const failed = results.filter(({ ok }) => !ok).length;
  const passed = results.length - failed;
  process.stdout.write(
    json
      ? `${JSON.stringify({ passed, failed, cases: results })}\n`
      : `${[...results.map(lineOf), `${passed} passed, ${failed} failed`].join("\n")}\n`,
  );
  if (failed > 0) process.exitCode = 1;
}

function lineOf({ name, ok, expected, report }: CaseResult): string {
  const { allowed, status, grant } = report;
  const by = grant === undefined ? "" : ` by ${grant}`;
  const found = `${status} ${allowed ? "allowed" : "not allowed"}${by}`;
  if (ok) return `ok      ${name}: ${found}`;
  const { expect, grant: wanted } = expected;
  const answer =
    typeof expect === "number" ? `${expect}` : expect ? "to be allowed" : "not to be allowed";
  return `FAILED  ${name}: ${found}; expected ${answer}${wanted === undefined ? "" : ` by ${wanted}`}`;
}
