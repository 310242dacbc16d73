// The first admin token of a new store: made once the server listens, and kept where only its owner reads.

import { randomBytes } from "node:crypto";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { App } from "./assemble.ts";
import { newSecret } from "./model/token.ts";

type Tokens = App["tokens"];

/** Makes the token when the store has none. The secret, unless it was given: then it is known. */
export async function makeFirstToken(tokens: Tokens, given?: string): Promise<string | undefined> {
  const secret = given ?? newSecret();
  const isMade = await tokens.first(secret);
  return isMade && given === undefined ? secret : undefined;
}

/** The file that holds the secret when there is no terminal to show it on. */
export const firstTokenFile = (folder: string): string => join(folder, "admin-token");

/** Does the same, with the secret in a file of mode 0600 before the store has the token. */
export async function writeFirstToken(tokens: Tokens, folder: string): Promise<boolean> {
  if ((await tokens.list()).length > 0) return false;
  const secret = newSecret();
  // Under a name of its own until it is valid: another node may make the token at the same time.
  const draft = `${firstTokenFile(folder)}.${randomBytes(6).toString("hex")}`;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(draft, `${secret}\n`, { mode: 0o600, flag: "wx" });
  const isMade = await tokens.first(secret);
  if (isMade) renameSync(draft, firstTokenFile(folder));
  else rmSync(draft);
  return isMade;
}
