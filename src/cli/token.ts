// The commands `token create`, `list` and `revoke`. The process that owns the data folder does the writes.

import { CliError, usageError } from "../lib/cli-error.ts";
import { readDuration, readTime } from "../lib/duration.ts";
import { own } from "../lib/own-property.ts";
import { system } from "../model/principal.ts";
import { type FieldError, type ParameterError, Problem } from "../model/problem.ts";
import { timeText } from "../model/schemas/time.ts";
import { readTokenRequest, type TokenRequest } from "../model/schemas/token.ts";
import { isAlive, type Token } from "../model/token.ts";
import type { Config } from "../server/config.ts";
import { withStoreToRead, withStoreToWrite } from "./with-store.ts";

export interface CreateTokenOptions {
  readonly name: string;
  readonly scope: readonly string[];
  readonly role: readonly string[];
  readonly subject?: string;
  readonly expires?: string;
}

/** Prints only the secret to standard output, so that a script can read it. */
export function createToken(config: Config, options: CreateTokenOptions): Promise<void> {
  const request = requestOf(options, Date.now());
  return withStoreToWrite(
    config,
    async ({ tokens }) => {
      const made = await tokens.create(system, request);
      if (made instanceof Problem) throw usageError((made.errors ?? []).map(atFlag));
      console.error(`Token ${made.token.id} has this secret. It is shown only once:`);
      process.stdout.write(`${made.secret}\n`);
    },
    checkHint,
  );
}

function requestOf(options: CreateTokenOptions, now: number): TokenRequest {
  const expiresAt = readExpiry(options.expires, now);
  const [scopes, roles] = [namesIn(options.scope), namesIn(options.role)];
  const { name, subject } = options;
  const request = {
    name,
    scopes,
    roles,
    expiresAt,
    ...(subject !== undefined && { subject }),
  };
  const checked = readTokenRequest(request, now);
  if ("name" in checked) return request;
  throw usageError(checked.map(atFlag));
}

/** Several names may be in one argument, separated by spaces or commas. */
const namesIn = (texts: readonly string[]): readonly string[] =>
  texts.flatMap((text) => text.split(/[\s,]+/)).filter(Boolean);

export const listTokens = (config: Config): Promise<void> =>
  withStoreToRead(config, async ({ tokens }) => {
    const now = Date.now();
    const list = await tokens.list(system, { offset: 0, limit: Number.MAX_SAFE_INTEGER });
    if (list instanceof Problem) throw new CliError(1, list.detail);
    const rows = list.tokens.map((token) => row(token, now));
    const text = table([
      ["id", "name", "subject", "scopes", "roles", "created", "expires", "last used", "state"],
      ...rows,
    ]);
    process.stdout.write(`${text}\n`);
  });

export const revokeToken = (config: Config, id: string): Promise<void> =>
  withStoreToWrite(
    config,
    async ({ tokens }) => {
      const problem = await tokens.revoke(system, id);
      if (problem !== undefined) throw new CliError(1, `${problem.detail} (${id})`);
      process.stdout.write(`Token ${id} is revoked.\n`);
    },
    checkHint,
  );

const checkHint = "The change may have been made: check with `token list`.";

const flags: Readonly<Record<string, string>> = {
  name: "--name",
  subject: "--subject",
  scopes: "--scope",
  roles: "--role",
  expiresAt: "--expires",
};

/** Names the flag instead of the member that the domain reports. */
function atFlag(error: FieldError | ParameterError): { where: string; detail: string } {
  const pointer = "pointer" in error ? error.pointer : error.parameter;
  const member = pointer.split("/")[1] ?? "";
  return { where: own(flags, member) ?? pointer, detail: error.detail };
}

/** `30d`, `12h`, `90m`, or a date; one without a time is midnight UTC. */
function readExpiry(text: string | undefined, now: number): string | null {
  if (text === undefined) return null;
  const duration = readDuration(text);
  const time = duration === undefined ? readTime(text) : now + duration;
  if (time !== undefined && time < endOfTime) return timeText(time);
  const allowed = "must be a time from now such as 30d, 12h or 90m, or a date such as 2030-01-31";
  throw usageError([{ where: `--expires ${JSON.stringify(text)}`, detail: allowed }]);
}

/** The first year with five digits, which no time of the API has. */
const endOfTime = Date.UTC(10_000, 0);

function row(token: Token, now: number): readonly string[] {
  const { id, name, subject, scopes, roles, createdAt, expiresAt, usedAt, revokedAt } = token;
  const state = isAlive(token, now) ? "alive" : revokedAt === null ? "expired" : "revoked";
  return [
    id,
    name,
    subject === id ? "-" : subject,
    scopes.join(" ") || "-",
    roles.join(" ") || "-",
    formatTime(createdAt),
    formatTime(expiresAt),
    formatTime(usedAt),
    state,
  ];
}

const formatTime = (time: number | null): string =>
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
