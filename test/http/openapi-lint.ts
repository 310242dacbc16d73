// Redocly's linter, whose command needs a newer Node than the machine may have.

import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

interface Verdict {
  readonly code: number;
  readonly problems: readonly Problem[];
}

interface Problem {
  readonly ruleId: string;
  readonly message: string;
}

/** What its recommended rules say of a document. */
export async function lint(document: object): Promise<Verdict> {
  const folder = await mkdtemp(join(tmpdir(), "restante-openapi-"));
  try {
    const file = join(folder, "openapi.json");
    await writeFile(file, JSON.stringify(document));
    const { code, output } = await run(file);
    const problems: readonly Problem[] = JSON.parse(output).problems;
    // The text of the document names it.
    const others = problems.filter(
      ({ message }) => !/^Component: "(?:Feed|GroupList)" is never used\.$/.test(message),
    );
    return { code, problems: others };
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function run(file: string): Promise<{ code: number; output: string }> {
  const modules = fileURLToPath(new URL("../../node_modules/", import.meta.url));
  const child = spawn(
    join(modules, ".bin/node"),
    [join(modules, "@redocly/cli/bin/cli.js"), "lint", "--format=json", file],
    { env: { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", HOME: tmpdir() } },
  );
  const [code, output] = await Promise.all([
    new Promise<number>((done) => child.on("close", (status) => done(status ?? -1))),
    text(child.stdout),
    text(child.stderr),
  ]);
  return { code, output };
}
