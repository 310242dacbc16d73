// The reference pages list every setting, problem and route, and nothing else.
// @runtimes only bun

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { maxFiles } from "../src/http/body/multipart.ts";
import type { Permission } from "../src/http/request/permission.ts";
import { problemStatus } from "../src/http/response/problem.ts";
import { routes } from "../src/http/routes.ts";
import { definitionSchema } from "../src/model/definition-schema.ts";
import { maxOperations as maxPatchOperations } from "../src/model/patch.ts";
import { type ProblemKind, problemKinds } from "../src/model/problem.ts";
import { pageLimits } from "../src/model/query/list-request.ts";
import { batchLimits } from "../src/model/schemas/batch.ts";
import { configFile, type Setting, settings } from "../src/server/config.ts";
import { schemaVersion } from "../src/store/sqlite/schema.ts";

const folder = new URL("../docs/reference/", import.meta.url);
const read = (name: string) => readFile(new URL(name, folder), "utf8");

/** The cells of every row of the page's tables, without the marks of code. */
const rowsOf = (page: string) =>
  page
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .map((line) => line.slice(1, -1).split("|"))
    .map((cells) => cells.map((cell) => cell.trim().replaceAll("`", "")));

const wordsOf = (text: string) => text.split(/\s+/).filter((word) => word !== "").length;

describe("docs/reference/configuration.md", async () => {
  const rows = rowsOf(await read("configuration.md"));
  const documented = new Map(rows.map(([, variable = "", ...rest]) => [variable, rest]));

  for (const [name, setting] of Object.entries<Setting<unknown>>(settings)) {
    it(`documents ${name}: flag, variable, file key and default`, () => {
      const row = rows.find(([, variable]) => variable === setting.variable);
      assert.ok(row !== undefined, `${setting.variable} is not documented`);
      const [flag, , key, fallback, meaning = ""] = row;
      assert.equal(flag, setting.flag ?? "none");
      assert.equal(key, name);
      assert.equal(fallback, setting.fallback || "none");
      assert.ok(meaning.length > 10);
    });
  }

  it("documents no setting that does not exist", () => {
    const existing = Object.values<Setting<unknown>>(settings).map(({ variable }) => variable);
    const known = new Set<string>([...existing, configFile.variable]);
    for (const variable of documented.keys()) {
      assert.ok(!variable.startsWith("RESTANTE_") || known.has(variable), variable);
    }
    assert.ok(documented.has(configFile.variable));
  });
});

describe("docs/reference/problems.md", async () => {
  const sections = (await read("problems.md")).split("\n## ").slice(1);
  const documented = new Map(
    sections.map((section) => [section.split("\n", 1)[0] ?? "", section.split("\n")]),
  );

  it("has a section for each kind of problem, and for no other", () => {
    assert.deepEqual([...documented.keys()].sort(), Object.keys(problemKinds).sort());
  });

  for (const kind of Object.keys(problemKinds) as ProblemKind[]) {
    it(`has the text of the page of ${kind}`, () => {
      const lines = documented.get(kind) ?? [];
      assert.equal(lines[2], `**${problemStatus[kind]}** ${problemKinds[kind].title}`);
      assert.equal(lines[4], problemKinds[kind].about);
    });
  }
});

/** Who may use a route, in the words of the page. */
const needed: Readonly<Record<Permission, string>> = {
  anyone: "anyone",
  "optional-token": "anyone",
  token: "any token",
  admin: "admin",
  metrics: "scope metrics",
  issue: "admin or issue:{role}",
  action: "scope of the action",
  read: "scope read",
  create: "scope create",
  update: "scope update",
  delete: "scope delete",
  put: "scope create or update",
};

describe("docs/reference/http.md", async () => {
  const page = await read("http.md");
  const rows = rowsOf(page);

  it("documents each route, method and permission, and no others", () => {
    const existing = Object.values(routes).map(
      ({ method, path, permission }) => `${method} ${path} ${needed[permission]}`,
    );
    const documented = rows
      .filter(([address = ""]) => address.startsWith("/"))
      .map(([address, method, who]) => `${method} ${address} ${who}`);
    assert.deepEqual(documented.sort(), existing.sort());
  });

  it("links to the page about definitions", async () => {
    const rows = rowsOf(await read("../definitions.md"));
    const rules = rows.map(([name = ""]) => name.split(".")[0]);
    for (const name of Object.keys(definitionSchema.properties)) {
      if (name === "$schema") continue;
      assert.ok(rules.includes(name), name);
    }
  });

  it("has the current limits of a batch and of a patch", () => {
    const limits = new Map(rows.map(([what = "", limit]) => [what, limit]));
    assert.equal(limits.get("operations in a batch"), `${batchLimits.maxOperations}`);
    assert.equal(limits.get("operations in a JSON Patch"), `${maxPatchOperations}`);
    assert.equal(limits.get("files in a form"), `${maxFiles}`);
  });

  it("has the current limits of a page", () => {
    const limit = rows.find(([name]) => name === "limit");
    assert.deepEqual(limit, [
      "limit",
      `a whole number from 1 to ${pageLimits.maxLimit}`,
      `${pageLimits.defaultLimit}`,
    ]);
  });
});

describe("the pages with output of commands", () => {
  it("show the current schema version", async () => {
    const [upgrading, doctor] = [await read("../upgrading.md"), await read("../doctor.md")];
    assert.match(upgrading, new RegExp(`^Schema version: ${schemaVersion}, `, "m"));
    assert.match(upgrading, new RegExp(`which supports up to ${schemaVersion}\\)`));
    assert.match(doctor, new RegExp(`, schema ${schemaVersion}\\.$`, "m"));
  });
});

describe("README.md", async () => {
  const page = await read("../../README.md");

  it("has at most 650 words", () => {
    assert.ok(wordsOf(page) <= 650, `${wordsOf(page)} words`);
  });

  it("has the figures of the benchmark", async () => {
    const results = await read("../../bench/RESULTS.md");
    const part = /\n## One core, [\s\S]*?(?=\n## )/.exec(results)?.[0] ?? assert.fail();
    const tables = [...part.matchAll(/\*\*(?:GET|POST)[^*]*\*\*:[^|]*([^*]*)/g)];
    const figures = tables.flatMap(([, rows = ""]) =>
      ["Restante", "PocketBase"].map(
        (server) => new RegExp(`^\\| ${server} \\| ([\\d,]+)`, "m").exec(rows)?.[1] ?? "?",
      ),
    );
    assert.equal(figures.length, 4);
    for (const figure of figures) assert.ok(page.includes(figure), figure);
  });
});

describe("the guides", async () => {
  const docs = new URL("../docs/", import.meta.url);
  /** One begins with a window to look at, the other one with what all its languages need. */
  const withLateCommand = ["console.md", "clients.md"];
  const guides = (await readdir(docs)).filter(
    (name) => name.endsWith(".md") && name !== "README.md",
  );

  for (const name of guides) {
    it(`${name} has at most 1,800 words, and a command within the first 60`, async () => {
      const page = await readFile(new URL(name, docs), "utf8");
      assert.ok(wordsOf(page) <= 1800, `${wordsOf(page)} words: move details to docs/reference/`);
      const [beginning = "", ...commands] = page.split(/^```/m);
      if (commands.length === 0 || withLateCommand.includes(name)) return;
      assert.ok(wordsOf(beginning) <= 60, `${wordsOf(beginning)} words before the first command`);
    });
  }
});

describe("the decisions", async () => {
  const decisions = new URL("../docs/decisions/", import.meta.url);
  const names = (await readdir(decisions)).sort();

  it("have one number each, without gaps", () => {
    const numbers = names.map((name) => Number.parseInt(name, 10));
    assert.deepEqual(
      numbers,
      names.map((_, index) => index + 1),
    );
  });

  for (const name of names) {
    it(`${name} has its number, a date and a status`, async () => {
      const [title = "", , status = ""] = (await readFile(new URL(name, decisions), "utf8")).split(
        "\n",
      );
      assert.ok(title.startsWith(`# ${Number.parseInt(name, 10)}. `), title);
      assert.match(status, /^Date: \d{4}-\d\d-\d\d\. Status: .+\.$/);
    });
  }
});

describe("links between the pages", async () => {
  const root = new URL("../", import.meta.url);
  /** As forges make an anchor of a heading. */
  const anchorOf = (heading: string) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, "")
      .replaceAll(" ", "-");

  const docs = await readdir(new URL("docs/", root), { recursive: true });
  const top = (await readdir(root)).filter((name) => name.endsWith(".md"));
  const pages = [
    ...top,
    ...docs.filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`),
  ];

  for (const name of pages) {
    it(`of ${name} lead to a page and a heading that exist`, async () => {
      const address = new URL(name, root);
      const page = await readFile(address, "utf8");
      for (const [, file = "", anchor] of page.matchAll(/\]\(([\w./-]*)(?:#([\w-]+))?\)/g)) {
        const target = file === "" ? address : new URL(file, address);
        assert.ok(existsSync(fileURLToPath(target)), `${name} → ${file}`);
        if (anchor === undefined) continue;
        const headings = [...(await readFile(target, "utf8")).matchAll(/^#+ (.*)$/gm)];
        const anchors = headings.map(([, heading = ""]) => anchorOf(heading));
        assert.ok(anchors.includes(anchor), `${name} → ${file}#${anchor}`);
      }
    });
  }
});
