// Runs the examples in the documentation: every page from top to bottom, in one shell, on a new server.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import type { Config } from "../src/server/config.ts";
import { startApp } from "./http/app.ts";
import { storesHere } from "./short-run.ts";

const root = new URL("..", import.meta.url);

interface Example {
  /** Where it begins in the page. */
  readonly line: number;
  readonly script: string;
  /** The output below it, as far as it is shown. */
  readonly expected: { readonly language: string; readonly text: string } | undefined;
}

const fence = /^```(sh|json|text)\n([\s\S]*?)^```$/gm;

/** The blocks of shell that use the server. Others are for reading. */
function examplesIn(page: string): readonly Example[] {
  const blocks = [...page.matchAll(fence)];
  return blocks.flatMap((block, index) => {
    const [whole, language, script = ""] = block;
    if (language !== "sh" || !/\$\{?BASE\b/.test(script)) return [];
    const next = blocks[index + 1];
    const isBelow = next && page.slice(block.index + whole.length, next.index).trim() === "";
    const [, form = "sh", output = ""] = isBelow ? next : [];
    const expected = form === "sh" ? undefined : { language: form, text: output };
    return [{ line: page.slice(0, block.index).split("\n").length, script, expected }];
  });
}

const mark = "── the end of an example ──";

interface Output {
  readonly outputs: readonly string[];
  readonly errors: string;
  readonly code: number;
}

/** Runs them in a new folder, with copies of these files. Stops at the first command that fails. */
async function runAll(
  examples: readonly Example[],
  variables: Readonly<Record<string, string>>,
  files: URL | undefined,
): Promise<Output> {
  const folder = await mkdtemp(join(tmpdir(), "restante-examples-"));
  if (files !== undefined) await cp(files, folder, { recursive: true });
  const script = examples.map((example) => `${example.script}\nprintf '\\n%s\\n' '${mark}'\n`);
  const env = { PATH: process.env.PATH ?? "", HOME: folder, ...variables };
  const child = spawn("bash", ["-euo", "pipefail"], { cwd: folder, env });
  child.stdin.end(`{\n${script.join("")}exit\n}\n`);
  const [output, errors, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number>((done) => child.on("close", (status) => done(status ?? -1))),
  ]);
  await rm(folder, { recursive: true });
  return { outputs: output.split(`\n${mark}\n`), errors, code };
}

/** A text in which `…` stands for anything. */
const isLike = (reported: string, real: string): boolean =>
  new RegExp(`^${reported.split("…").map(RegExp.escape).join("[\\s\\S]*")}$`).test(real);

/** Each line that is shown is in the output, in this order; a line of only `…` is skipped. */
function assertText(reported: string, real: string, where: string): void {
  const lines = real.split("\n").map((line) => line.trimEnd());
  for (const line of reported.trimEnd().split("\n")) {
    if (line.trim() === "…" || line === "") continue;
    const at = lines.findIndex((one) => isLike(line, one));
    assert.ok(at >= 0, `${where}: there is no line ${line} in\n${real}`);
    lines.splice(0, at + 1);
  }
}

/** Every member that is shown is there; of a list, every item, unless `"…"` is the last. */
function assertJson(reported: unknown, real: unknown, where: string): void {
  if (typeof reported === "string" && reported.includes("…")) {
    assert.ok(
      isLike(reported, typeof real === "string" ? real : JSON.stringify(real)),
      `${where}: ${real}`,
    );
  } else if (Array.isArray(reported)) {
    assert.ok(Array.isArray(real), `${where} is no list`);
    const items = reported.at(-1) === "…" ? reported.slice(0, -1) : reported;
    if (items.length === reported.length) assert.equal(real.length, reported.length, where);
    for (const [index, item] of items.entries()) assertJson(item, real[index], `${where}/${index}`);
  } else if (typeof reported === "object" && reported !== null) {
    assert.ok(typeof real === "object" && real !== null, `${where} is no object`);
    for (const [name, member] of Object.entries(reported)) {
      assertJson(member, (real as Record<string, unknown>)[name], `${where}/${name}`);
    }
  } else {
    assert.deepEqual(real, reported, where);
  }
}

function assertExpected({ expected }: Example, output: string, where: string): void {
  if (expected?.language === "text") assertText(expected.text, output, where);
  if (expected?.language !== "json") return;
  // The last output: a JSON response is one line, without a line break at its end.
  const last = output.trimEnd().replaceAll("}{", "}\n{").split("\n").at(-1) ?? "";
  assert.ok(/^[[{]/.test(last), `${where}: no JSON in\n${output}`);
  assertJson(JSON.parse(expected.text), JSON.parse(last), where);
}

const tools = ["bash", "curl", "sed", "grep", "gzip"];
const missing = tools.filter((tool) => spawnSync(tool, ["--version"]).error !== undefined);
const skip = missing.length > 0 && `${missing} MISSING: the documentation's examples were not run`;
if (skip) console.error(`\n  ${skip}\n`);

const guides = (await readdir(new URL("docs/", root), { recursive: true }))
  .filter((name) => name.endsWith(".md"))
  .map((name) => `docs/${name}`)
  .sort();

/** An example with files beside its page. It uses most of what an engine does, so it runs on both. */
const shop = "examples/shop/README.md";

const pages = await Promise.all(
  [shop, ...guides].map(async (page) => ({
    page,
    examples: examplesIn(await readFile(new URL(page, root), "utf8")),
  })),
);

/** The examples that a page goes on from: those of `docs/rules.md` for `docs/reference/rules.md`. */
const examplesBefore = (page: string): readonly Example[] =>
  page.startsWith("docs/reference/")
    ? (pages.find((guide) => guide.page === page.replace("reference/", ""))?.examples ?? [])
    : [];

/** What a page's server is started with, where it is not the defaults. */
const configs: Readonly<Record<string, Partial<Config>>> = {
  "docs/actions.md": { actions: fileURLToPath(new URL("examples/actions", root)) },
};

describe("the examples", () => {
  it("are found", () => {
    const found = pages.filter(({ examples }) => examples.length > 0).map(({ page }) => page);
    for (const guide of [
      "access",
      "actions",
      "aggregates",
      "cookbook",
      "definitions",
      "files",
      "formats",
      "import",
      "lists",
      "openapi",
      "operations",
      "relations",
      "rules",
      "tour",
      "validation",
    ]) {
      assert.ok(found.includes(`docs/${guide}.md`), guide);
    }
    assert.ok(found.includes(shop));
  });

  const runs = pages
    .filter(({ examples }) => examples.length > 0)
    .flatMap((each) =>
      (each.page === shop ? storesHere("postgres", [undefined, "postgres"]) : [undefined]).map(
        (store) => ({
          ...each,
          store,
        }),
      ),
    );
  for (const { page, examples: own, store } of runs) {
    const examples = [...examplesBefore(page), ...own];
    it(`in ${page} work as written${store ? ` on ${store}` : ""}`, { skip }, async () => {
      const app = await startApp({ ...configs[page], store });
      try {
        const variables = { BASE: app.url, TOKEN: app.admin };
        const files = page === shop ? new URL(dirname(page), root) : undefined;
        const { outputs, errors, code } = await runAll(examples, variables, files);
        const failed = examples[outputs.length - 1];
        const output = outputs.at(-1);
        assert.equal(code, 0, `${page}:${failed?.line}\n${failed?.script}\n${output}\n${errors}`);
        for (const [index, example] of examples.entries()) {
          assertExpected(example, outputs[index] ?? "", `${page}:${example.line}`);
        }
      } finally {
        await app.stop();
      }
    });
  }
});

describe("the parser of examples", () => {
  const page = [
    ..."```sh|a $BASE|```||```json|{}|```||```sh|npm start|```|words|```sh|b $BASE|```".split("|"),
    ..."words|```text|x|```".split("|"),
  ].join("\n");

  it("finds a command with the output below it", () => {
    assert.deepEqual(examplesIn(page), [
      { line: 1, script: "a $BASE\n", expected: { language: "json", text: "{}\n" } },
      { line: 13, script: "b $BASE\n", expected: undefined },
    ]);
  });

  it("compares only the output that is shown", () => {
    assertText("HTTP/1.1 20…\n…\nend", "first\nHTTP/1.1 200 OK\r\nx: y\nend", "");
    assert.throws(() => assertText("b\na", "a\nb", ""));
    const real = { id: "01a", name: "Ada", tags: ["x", "y"], n: null };
    assertJson({ id: "…", tags: ["x", "…"], n: null }, real, "");
    assertJson({ id: "0…a" }, real, "");
    for (const wrong of [
      { name: "Bob" },
      { tags: ["x"] },
      { other: null },
      { id: "1…" },
      { n: {} },
    ]) {
      assert.throws(() => assertJson(wrong, real, ""), JSON.stringify(wrong));
    }
  });
});
