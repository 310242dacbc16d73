// Asks before something is lost: on a terminal, elsewhere a flag is needed.

import { createInterface } from "node:readline/promises";
import { CliError } from "../lib/cli-error.ts";

export interface Question {
  readonly text: string;
  /** What is said when the answer is not yes. */
  readonly refusal: string;
  /** What is said without a terminal: the flags that are needed. */
  readonly needs: string;
}

export async function confirm({ text, refusal, needs }: Question): Promise<void> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) throw new CliError(1, `${refusal} ${needs}`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`${text} Type yes: `);
    if (answer.trim() !== "yes") throw new CliError(1, refusal);
  } finally {
    terminal.close();
  }
}
