// The first admin token of a new store: made once the server listens, and kept where only its owner reads.

import { randomBytes } from "node:crypto";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newSecret } from "../model/token.ts";
import type { App } from "./app.ts";

type Tokens = App["tokens"];

/** Makes the token when the store has none. The secret, unless it was given: then it is known. */
export async function makeFirstToken(tokens: Tokens, given?: string): Promise<string | undefined> {
  const secret = given ?? newSecret();
  const isMade = await tokens.createFirstAdmin(secret);
  return isMade && given === undefined ? secret : undefined;
}

/**
 * Does the same where there is no terminal to show the secret on: it is in a file of mode 0600 before the
 * store has the token. The path of the file.
 */
export async function writeFirstToken(tokens: Tokens, folder: string): Promise<string | undefined> {
  if ((await tokens.list()).length > 0) return undefined;
  const secret = newSecret();
  const path = join(folder, "admin-token");
  // Under a name of its own until it is valid: another node may make the token at the same time.
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(draft, `${secret}\n`, { mode: 0o600, flag: "wx" });
  if (await tokens.createFirstAdmin(secret)) return rename(draft, path);
  rmSync(draft);
  return undefined;
}

/** Where the file is in the end: the token is valid, so its secret must not be lost. */
function rename(draft: string, path: string): string {
  try {
    renameSync(draft, path);
    return path;
  } catch {
    return draft;
  }
}
