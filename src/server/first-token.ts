// Creates the first admin token of a new store, and writes it to a file when there is no terminal.

import { randomBytes } from "node:crypto";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { system } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import { newSecret } from "../model/secret.ts";
import type { App } from "./app.ts";

type AppTokens = App["tokens"];

/** Creates a token when the store has none. Returns its secret, unless the secret was given. */
export async function makeFirstToken(
  tokens: AppTokens,
  given?: string,
): Promise<string | undefined> {
  const secret = given ?? newSecret();
  const isMade = await tokens.createFirstAdmin(system, secret);
  return isMade === true && given === undefined ? secret : undefined;
}

/**
 * Does the same where there is no terminal to show the secret: it writes the secret to a file of mode 0600
 * before it stores the token. Returns the path of the file.
 */
export async function writeFirstToken(
  tokens: AppTokens,
  folder: string,
): Promise<string | undefined> {
  const existing = await tokens.list(system, { offset: 0, limit: 1 });
  if (existing instanceof Problem || existing.total > 0) return undefined;
  const secret = newSecret();
  const path = join(folder, "admin-token");
  // The name is temporary until the token is valid: another node may create it at the same time.
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(draft, `${secret}\n`, { mode: 0o600, flag: "wx" });
  if ((await tokens.createFirstAdmin(system, secret)) === true) return rename(draft, path);
  rmSync(draft);
  return undefined;
}

/** Returns the final path. When the rename fails the draft stays, because the token is valid already. */
function rename(draft: string, path: string): string {
  try {
    renameSync(draft, path);
    return path;
  } catch {
    return draft;
  }
}
