// Runs the scripts of examples/move as a user does: with the Node of this machine.

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { TestApp } from "../http/app.ts";

const root = new URL("../../", import.meta.url);

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export async function moveFrom(
  script: string,
  source: string,
  app: TestApp,
  environment: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const file = fileURLToPath(new URL(`examples/move/${script}`, root));
  const env = { PATH: process.env.PATH, RESTANTE_TOKEN: app.admin, ...environment };
  const options = { env, timeout: 60_000 };
  return promisify(execFile)("node", [file, source, app.url], options).then(
    (output) => ({ code: 0, ...output }),
    (error: Ended) => error,
  );
}

/** The blocks of a page of the documentation in one language. */
export async function blocksOf(page: string, language: string): Promise<readonly string[]> {
  const text = await readFile(new URL(`docs/${page}`, root), "utf8");
  const blocks = text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"));
  return [...blocks].map(([, block = ""]) => block);
}
