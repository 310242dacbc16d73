// `restante docs`: the index, a page of the reference, and a name that is no page.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { documentationPages } from "../../src/lib/program.ts";
import { ownCommandLine, run } from "../process.ts";

const cwd = new URL("../..", import.meta.url).pathname;
const read = (page: string) => readFileSync(`${cwd}docs/${page}`, "utf8");

describe("restante docs", () => {
  it("prints the index, and names all pages when there is no such page", async () => {
    const surroundings = { cwd, command: ownCommandLine };
    assert.equal((await run(["docs"], surroundings)).stdout, read("README.md"));
    const { code, stdout, stderr } = await run(["docs", "nothing"], surroundings);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, /^There is no page nothing\. There are: .*backup, .*reference\/http, /);
  });

  it("has every page that the index names", () => {
    const pages = documentationPages();
    const links = [...read("README.md").matchAll(/\]\((?!\.\.)([\w/-]+)\.md[#)]/g)];
    assert.ok(links.length > 40);
    for (const [, name = ""] of links) assert.equal(pages.get(name), read(`${name}.md`));
  });
});
