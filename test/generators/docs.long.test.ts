// docs/clients.md: for each language the commands generate a client, and the program works on the server as the page says.
// @runtimes only node

import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { startApp, type TestApp } from "../http/app.ts";
import { skipOnBun } from "./shop.ts";
import { missing, runCommand } from "./tools.ts";

/** The programs that each language needs. A section of the page without them fails below. */
const needs: Readonly<Record<string, readonly string[]>> = {
  Python: ["python3"],
  Go: ["go"],
  Java: ["java", "mvn"],
  Rust: ["java", "mvn", "cargo"],
};

const picture = "the bytes of a picture";
/** What cargo builds stays here, because it takes minutes. */
const target = fileURLToPath(new URL("../../node_modules/.cache/generators/docs", import.meta.url));

/** A block of the page, with the name of the file that it is, if the line above says so. */
interface Block {
  readonly language: string;
  readonly text: string;
  readonly file: string | undefined;
}

const fence = /(?:^`([^`\n]+)`:\n\n)?^```(\w+)\n([\s\S]*?)^```$/gm;

const blocksIn = (page: string): readonly Block[] =>
  [...page.matchAll(fence)].map(([, file, language = "", text = ""]) => ({ language, text, file }));

const page = await readFile(new URL("../../docs/clients.md", import.meta.url), "utf8");
const [introduction = "", ...sections] = page.split(/^## /m).map((text) => text.trim());

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-docs-clients-"));
});
after(() => rm(folder, { recursive: true }));

const shell = (script: string, env: Readonly<Record<string, string>>, cwd: string) =>
  runCommand({ program: "bash", args: ["-euo", "pipefail", "-c", script], env }, cwd);

/** Writes the files and runs the commands in their order. Returns what the last one prints. */
async function follow(
  blocks: readonly Block[],
  env: Readonly<Record<string, string>>,
  cwd: string,
): Promise<string> {
  let output = "";
  for (const { language, text, file } of blocks) {
    if (file !== undefined) {
      await mkdir(dirname(join(cwd, file)), { recursive: true });
      await writeFile(join(cwd, file), text);
    } else if (language === "sh") output = await shell(text, env, cwd);
  }
  return output;
}

interface Product {
  readonly id: string;
  readonly name: string;
  readonly price: number;
  readonly photo?: { readonly size: number };
}

/** The program has created two products, changed the price of one, once, and uploaded its photo. */
async function assertDone(app: TestApp): Promise<void> {
  const response = await app.request("/products?sort=name");
  const { data } = (await response.json()) as { readonly data: readonly Product[] };
  assert.deepEqual(
    data.map(({ name, price }) => [name, price]),
    [
      ["Mug", 7],
      ["Pot", 20],
    ],
  );
  const photo = await app.request(`/products/${data[0]?.id}/photo`);
  assert.equal(await photo.text(), picture);
}

describe("docs/clients.md", () => {
  it("shows each language", () => {
    const shown = sections.map((text) => text.split("\n")[0]);
    assert.deepEqual(shown, [...Object.keys(needs), "Other generators"]);
  });

  for (const [language, programs] of Object.entries(needs)) {
    const absent = missing(programs);
    const lacks = absent.length > 0 && `${absent.join(" and ")} must be installed`;
    it(`works in ${language}`, { skip: skipOnBun || lacks }, async () => {
      const blocks = blocksIn(sections.find((text) => text.startsWith(language)) ?? "");
      const work = join(folder, language);
      await mkdir(work);
      await writeFile(join(work, "mug.png"), picture);
      const app = await startApp();
      try {
        const env = { BASE: app.url, TOKEN: app.admin, CARGO_TARGET_DIR: target };
        await follow(blocksIn(introduction), env, work);
        const output = await follow(blocks, env, work);
        const { text } = blocks.at(-1) ?? { text: "" };
        // Maven resets the colours of a terminal even where there is none.
        assert.equal(stripVTControlCharacters(output).trimEnd(), text.trimEnd());
        await assertDone(app);
      } finally {
        await app.stop();
      }
    });
  }
});
