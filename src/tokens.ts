// Tokens at the command line: made, listed and revoked in the store itself, also while a server runs.

import { existsSync } from "node:fs";
import type { App } from "./assemble.ts";
import type { Config } from "./config.ts";
import { Exit, misuse } from "./exit.ts";
import { createLog } from "./log.ts";
import { type Fault, type ParameterFault, Problem } from "./model/problem.ts";
import { isAlive, type Token } from "./model/token.ts";
import { openApp, showFirstAdminToken } from "./serve.ts";

export interface CreateOptions {
  readonly name: string;
  readonly scope: readonly string[];
  readonly expires?: string;
}

/** The secret alone goes to standard output, so that a script can take it. */
export const createToken = (config: Config, options: CreateOptions): Promise<void> =>
  withStore(config, async ({ tokens }) => {
    const expiresAt = readExpiry(options.expires, Date.now());
    const made = await tokens.create({ name: options.name, scopes: options.scope, expiresAt });
    if (made instanceof Problem) throw misuse((made.errors ?? []).map(atFlag));
    console.error(`Token ${made.token.id} has this secret, shown only this once:`);
    console.log(made.secret);
  });

export const listTokens = (config: Config): Promise<void> =>
  withStore(config, async ({ tokens }) => {
    const now = Date.now();
    const rows = (await tokens.list()).map((token) => row(token, now));
    console.log(
      table([["id", "name", "scopes", "created", "expires", "last used", "state"], ...rows]),
    );
  });

export const revokeToken = (config: Config, id: string): Promise<void> =>
  withStore(config, async ({ tokens }) => {
    const problem = await tokens.revoke(id);
    if (problem !== undefined) throw new Exit(1, `${problem.detail} (${id})`);
    console.log(`Token ${id} is revoked.`);
  });

export async function withStore(config: Config, act: (app: App) => Promise<void>): Promise<void> {
  // Opening would make one, and a typo in the path would look like an empty store.
  if (config.store === undefined && !existsSync(config.data))
    throw new Exit(
      1,
      `There is no store in ${config.data}: start the server once, or mend --data.`,
    );
  // Silent, because standard output belongs to what was asked for.
  const app = await openApp(config, createLog("silent"));
  try {
    showFirstAdminToken(app);
    await act(app);
  } finally {
    await app.close();
  }
}

const flags: Readonly<Record<string, string>> = {
  name: "--name",
  scopes: "--scope",
  expiresAt: "--expires",
};

/** The domain points at members of a wish; here each is a flag. */
function atFlag(fault: Fault | ParameterFault): { where: string; detail: string } {
  const pointer = "pointer" in fault ? fault.pointer : fault.parameter;
  const member = pointer.split("/")[1] ?? "";
  return { where: flags[member] ?? pointer, detail: fault.detail };
}

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `30d`, `12h`, `90m`, or an ISO 8601 date; a date without a time is midnight UTC. */
function readExpiry(text: string | undefined, now: number): number | null {
  if (text === undefined) return null;
  const [, count, unit = ""] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const time = count === undefined ? readDate(text) : now + Number(count) * (unitMs[unit] ?? 0);
  if (Number.isFinite(time)) return time;
  const allowed = "must be a time from now such as 30d, 12h or 90m, or a date such as 2030-01-31";
  throw misuse([{ where: `--expires ${JSON.stringify(text)}`, detail: allowed }]);
}

const readDate = (text: string): number =>
  /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;

function row(token: Token, now: number): readonly string[] {
  const { id, name, scopes, createdAt, expiresAt, usedAt, revokedAt } = token;
  const state = isAlive(token, now) ? "alive" : revokedAt === null ? "expired" : "revoked";
  return [id, name, scopes.join(" "), moment(createdAt), moment(expiresAt), moment(usedAt), state];
}

const moment = (time: number | null): string =>
  time === null ? "never" : new Date(time).toISOString().slice(0, 16).replace("T", " ");

function table(rows: readonly (readonly string[])[]): string {
  const width = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(width(column)))
      .join("  ")
      .trimEnd();
  return rows.map(line).join("\n");
}
