// The documentation as a static site: its pages, search and lists, and how it looks in a browser.
// @runtimes only bun

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { buildSite, type IndexEntry, type SitePage } from "../scripts/site.ts";
import { desktop, expectNoSidewaysScroll, phone, skip, violationsOn } from "./console/console.ts";
import { findChromium, startChromium } from "./http/chromium.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

let folder: string;
let pages: readonly SitePage[];
const read = (path: string) => readFile(join(folder, path), "utf8");
const pageOf = (source: string) =>
  pages.find((page) => page.source === source) ?? assert.fail(`${source} is not in the site`);

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-site-"));
  pages = buildSite(folder, `${pathToFileURL(folder).href}/`);
});
after(() => rm(folder, { recursive: true, force: true }));

describe("the site", () => {
  it("has a page for each file of the documentation", async () => {
    const docs = await readdir(join(root, "docs"), { recursive: true });
    const files = docs.filter((path) => path.endsWith(".md")).map((path) => `docs/${path}`);
    for (const source of [...files, "README.md", "CHANGELOG.md", "examples/shop/README.md"]) {
      const html = await read(pageOf(source).path);
      assert.match(html, /<title>.+<\/title>\n *<meta name="description" content=".+">/);
      assert.equal(html.match(/<h1 /g)?.length, 1, source);
    }
  });

  it("has the sections of the index, and those of contributors for themselves", () => {
    assert.equal(pageOf("docs/rules.md").section, "Access");
    assert.equal(pageOf("docs/decisions/0001-no-hono.md").section, "Decisions");
    assert.equal(pages[0]?.path, "index.html");
  });

  it("has relative links only, and each leads to a file and to a heading", async () => {
    const contents = new Map<string, string>();
    for (const { path } of pages)
      contents.set(pathToFileURL(join(folder, path)).href, await read(path));
    for (const [url, html] of contents) {
      for (const [, address = ""] of html.matchAll(/ (?:href|src)="([^"]*)"/g)) {
        if (/^https?:/.test(address)) continue;
        assert.doesNotMatch(address, /^\//, url);
        const target = new URL(address, url);
        assert.ok(existsSync(fileURLToPath(target)), `${url}: ${address}`);
        const anchor = target.hash.slice(1);
        target.hash = "";
        if (anchor !== "")
          assert.ok(contents.get(target.href)?.includes(` id="${anchor}"`), `${url}: ${address}`);
      }
      for (const [tag] of html.matchAll(/<(?:img|script|link)[^>]*>/g))
        assert.doesNotMatch(tag, /"(?:https?:)?\/\//, url);
    }
  });

  it("lists each page for language models, and has the text of the guides in one file", async () => {
    const list = await read("llms.txt");
    for (const { path } of pages) assert.ok(list.includes(`](${path}): `), path);
    const whole = await read("llms-full.txt");
    for (const source of ["README.md", "docs/rules.md"])
      assert.ok(whole.includes(await readFile(join(root, source), "utf8")), source);
  });

  it("finds words, beginnings of words and phrases", async () => {
    await import(join(folder, "site.js"));
    await import(join(folder, "search-index.js"));
    const { searchPages, searchIndex } = globalThis as unknown as {
      readonly searchPages: (entries: unknown, wanted: string) => readonly IndexEntry[];
      readonly searchIndex: readonly IndexEntry[];
    };
    const found = (wanted: string) => searchPages(searchIndex, wanted).map(([address]) => address);
    const { path, headings } = pageOf("docs/reference/http.md");
    const [heading] = headings.filter(({ level, text }) => level === 2 && /^\w+ \w+$/.test(text));
    const { id, text } = heading ?? assert.fail("no heading has two words");
    assert.equal(found(text)[0], `${path}#${id}`);
    assert.equal(found(text.toUpperCase().slice(0, -2))[0], `${path}#${id}`);
    assert.deepEqual([found(`${text} nosuchword`), found(" ")], [[], []]);
  });
});

describe("in a browser", { skip }, () => {
  let browser: Browser;
  before(async () => {
    browser = await startChromium(findChromium() ?? "");
  });
  after(() => browser.close());

  for (const colorScheme of ["light", "dark"] as const)
    for (const [size, options] of Object.entries({ desktop, phone }))
      it(`the pages are accessible on a ${size}, ${colorScheme}, and fit`, async () => {
        const context = await browser.newContext({ ...options, colorScheme });
        const page = await context.newPage();
        for (const path of ["pages.html", "rules.html", "reference/http.html", "404.html"]) {
          await page.goto(pathToFileURL(join(folder, path)).href);
          await expectNoSidewaysScroll(page);
          assert.deepEqual(await violationsOn(page), [], path);
        }
        await context.close();
      });

  it("the search is used with the keyboard alone", async () => {
    const page = await browser.newPage();
    await page.goto(pathToFileURL(join(folder, "reference/http.html")).href);
    await page.keyboard.press("/");
    await page.keyboard.type("renewal");
    const first = await page.waitForSelector(".found a");
    const address = (await first.getProperty("href")).toString();
    assert.deepEqual(await violationsOn(page), []);
    await page.keyboard.press("ArrowDown");
    await Promise.all([page.waitForURL(address), page.keyboard.press("Enter")]);
    await page.close();
  });

  it("the pages can be read without JavaScript", async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(pathToFileURL(join(folder, "index.html")).href);
    assert.equal(await page.getByRole("search").count(), 0);
    await page
      .getByRole("navigation", { name: "Pages" })
      .locator("summary", { hasText: "Access" })
      .click();
    await page.getByRole("link", { name: "Rules", exact: true }).first().click();
    await page.getByRole("heading", { name: "Rules", level: 1 }).waitFor();
    await context.close();
  });
});
