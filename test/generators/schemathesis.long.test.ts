// schemathesis draws requests from the document, valid and invalid, and compares the answers with it.
// @runtimes only node

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { newSeed } from "../seeds.ts";
import { exceptions } from "./schemathesis-exceptions.ts";
import { skipOnBun, startShop } from "./shop.ts";
import { fetchPython, missing, runCommand, schemathesis } from "./tools.ts";

const here = fileURLToPath(new URL(".", import.meta.url));

/** Operations that change what the document says of others, so they run apart from them. */
const administration = ["putCollection", "putDefinition", "deleteCollection", "revokeToken"];

interface Report {
  readonly test_cases: { readonly generated: number };
  readonly errors: readonly unknown[];
}

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-schemathesis-"));
});
after(() => rm(folder, { recursive: true }));

/** The failures in the output that no exception explains. */
function unexplained(output: string): readonly string[] {
  const [, ...sections] = output.split(/^_{2,} (.+) _{2,}$/m);
  return sections.flatMap((text, index) => {
    const operation = index % 2 === 0 ? "" : sections[index - 1];
    if (operation === "") return [];
    const [, ...cases] = text.split(/^\d+\. Test Case ID: /m);
    return cases.map((text) => `${operation}\n${text}`).filter((one) => !isExplained(one));
  });
}

function isExplained(text: string): boolean {
  const codes = [...text.matchAll(/^- (ST\d+) /gm)].map(([, code]) => code);
  return codes.every((code) =>
    exceptions.some((known) => known.codes.includes(`${code}`) && known.text.test(text)),
  );
}

/** Runs schemathesis against a new server. */
async function fuzz(name: string, ...args: string[]): Promise<void> {
  await fetchPython();
  const app = await startShop();
  try {
    const file = join(folder, `${name}.json`);
    const { program, args: given } = schemathesis(
      ...["--config-file", join(here, "schemathesis.toml"), "run", `${app.url}/-/openapi.json`],
      ...["-H", `Authorization: Bearer ${app.admin}`, "--checks", "all", "--warnings", "off"],
      ...["--report", "json", "--report-json-path", file, "--continue-on-failure", ...args],
      ...["--output-truncate", "false", "--seed", `${newSeed(`schemathesis ${name}`)}`],
    );
    const env = { SCHEMATHESIS_HOOKS: join(here, "schemathesis_hooks.py") };
    // It fails when it finds anything; the report says whether that is known.
    const output = await runCommand({ program, args: given, env }, folder).catch(
      ({ stdout, message }) => stdout || message,
    );
    const text = await readFile(file, "utf8").catch(() => assert.fail(output));
    const report: Report = JSON.parse(text);
    assert.deepEqual(report.errors, [], output);
    assert.ok(report.test_cases.generated > 100, output);
    assert.deepEqual(unexplained(output), []);
  } finally {
    await app.stop();
  }
}

describe("schemathesis", () => {
  const absent = missing(["python3"]);
  const skip = skipOnBun || (absent.length > 0 && `${absent.join(" and ")} must be installed`);

  it("finds no contradiction between the server and the document", { skip }, () =>
    fuzz("all", ...administration.flatMap((id) => ["--exclude-operation-id", id])),
  );

  it("finds none in the administration of collections and tokens", { skip }, () =>
    fuzz(
      ...(["administration", "--phases", "examples,coverage,fuzzing"] as const),
      ...administration.flatMap((id) => ["--include-operation-id", id]),
    ),
  );
});
