// Lists in the console: what the server does not count, conditions as JSON, widths, files, exports to the disk, and readers.
// @tier all

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import type { TestApp } from "../http/app.ts";
import { expectAccessible, phone, skip, useConsole } from "./console.ts";

const orders = 2_400;
const picture = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

async function fill(app: TestApp): Promise<void> {
  const define = (name: string, definition: object) =>
    app.request(`/-/collections/${name}`, {
      method: "PUT",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(definition),
    });
  await define("customers", { searchable: ["name"] });
  await define("sales", {
    schema: {
      type: "object",
      properties: {
        title: { type: "string" },
        level: { enum: ["gold", "silver"] },
        customer: { type: "string" },
      },
    },
    searchable: ["title"],
    references: { customer: { collection: "customers" } },
  });
  const ada = await app.post("customers", { name: "Ada" });
  for (const title of ["Pen", "Ink", "Cap"])
    await app.post("sales", { title, level: "gold", customer: ada.id });
  const lines = Array.from({ length: orders }, (_, number) => JSON.stringify({ number }));
  await app.request("/orders", {
    method: "POST",
    headers: { "Content-Type": "application/x-ndjson", Prefer: "return=minimal" },
    body: lines.join("\n"),
  });
  const form = new FormData();
  form.set("name", "Poster");
  form.set("photo", new File([picture], "<b>photo.png", { type: "image/png" }));
  form.append("papers", new File(["a"], "one.txt", { type: "text/plain" }));
  form.append("papers", new File(["b"], "two.txt", { type: "text/plain" }));
  const made = await app.request("/items", { method: "POST", body: form });
  assert.equal(made.status, 201, await made.text());
}

const cell = (page: Page, text: string | RegExp) =>
  page.getByRole("gridcell", { name: text, exact: true }).first();
const hashIs = (page: Page, hash: string | RegExp) =>
  page.waitForURL((url) => {
    const found = decodeURIComponent(url.hash);
    return typeof hash === "string" ? found === hash : hash.test(found);
  });

/** The picker of the browser, with a file of the origin's private file system behind it. */
const toPrivateFile = `
  globalThis.showSaveFilePicker = async ({ suggestedName }) =>
    (await navigator.storage.getDirectory()).getFileHandle(suggestedName, { create: true });
  globalThis.savedText = async (name) => {
    const folder = await navigator.storage.getDirectory();
    return (await (await folder.getFileHandle(name)).getFile()).text();
  };`;

/** A disk that stands still until it is released. */
const toSlowDisk = `
  globalThis.disk = { text: "", isAborted: false, release: () => {} };
  const gate = new Promise((resolve) => { disk.release = resolve; });
  globalThis.showSaveFilePicker = async () => ({
    createWritable: async () => new WritableStream({
      async write(chunk) { await gate; disk.text += new TextDecoder().decode(chunk); },
      abort() { disk.isAborted = true; },
    }),
  });`;

const slowScan = 'scan;desc="2400 resources checked";dur=321.5';

async function exportAs(page: Page, format: "CSV" | "JSON lines"): Promise<void> {
  await page.getByRole("button", { name: "Export" }).click();
  await page.getByRole("menuitem", { name: `as ${format}` }).click();
}

describe("lists in the console", { skip }, () => {
  const test = useConsole(fill, { maxCounted: 500 });

  it("have no total where the server does not count, and still an end", async () => {
    const page = await test.open("#/c/orders?number[gte]=100");
    await cell(page, "100").waitFor();
    await page.getByText(/^More than [\d,]+ resources$/).waitFor();
    const grid = page.getByRole("grid", { name: "orders" });
    assert.equal(await grid.getAttribute("aria-rowcount"), "-1");
    await expectAccessible(page);
    await grid.focus();
    // Each jump shows that there is more, until the last page is there.
    for (let jumps = 0; jumps < 40; jumps++) {
      await page.keyboard.press("Control+End");
      await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
      if ((await grid.getAttribute("aria-rowcount")) === "2301") break;
    }
    await page.keyboard.press("Control+End");
    await cell(page, "2399").waitFor();
    await page.getByText("2,300 of 2,400 resources").waitFor();
    await page.context().close();
  });

  it("name the index that would help a filter", async () => {
    const page = await test.open("#/c/customers");
    await cell(page, "Ada").waitFor();
    // A collection that takes long to look through.
    await page.route("**/orders?*", async (route) => {
      const response = await route.fetch();
      const headers = { ...response.headers(), "server-timing": slowScan };
      await route.fulfill({ response, headers });
    });
    await page.evaluate("location.hash = '#/c/orders?number[gte]=1000'");
    await page.getByText("The server looked through 2,400 resources for this").waitFor();
    await page.getByRole("link", { name: "Make it faster with an index on number" }).press("Enter");
    await hashIs(page, "#/queries");
    await page.context().close();
  });

  it("show conditions that the builder cannot, and take them as JSON", async () => {
    const where = JSON.stringify({ $or: [{ number: 3 }, { number: 5 }] });
    const page = await test.open(`#/c/orders?where=${encodeURIComponent(where)}`);
    await cell(page, "5").waitFor();
    await page.getByText("2 of 2,400 resources").waitFor();
    await page.getByRole("button", { name: `Conditions: ${where}`, exact: true }).click();
    await page.getByLabel("Conditions as JSON").fill('{"$or": [{"number": {"like": ""}}]');
    await page.getByRole("button", { name: "Apply" }).click();
    await page.getByRole("group", { name: "Filters" }).getByRole("alert").waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: /^Conditions:/ }).press("Enter");
    await page.getByLabel("Conditions as JSON").fill('{"number":7}');
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await cell(page, "7").waitFor();
    await hashIs(page, '#/c/orders?where={"number":7}');
    await page.getByRole("button", { name: /^Remove the filter Conditions/ }).press("Enter");
    await hashIs(page, "#/c/orders");
    await page.context().close();
  });

  it("have columns of any width, by mouse and by keys, kept in the address", async () => {
    const page = await test.open("#/c/sales?fields=title,level");
    await cell(page, "Pen").waitFor();
    const header = page.getByRole("columnheader", { name: "title" });
    const width = async () => Math.round((await header.boundingBox())?.width ?? 0);
    const before = await width();
    const box = (await header.boundingBox()) ?? assert.fail();
    await page.mouse.move(box.x + box.width - 3, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width + 77, box.y + box.height / 2, { steps: 4 });
    await page.mouse.up();
    await hashIs(page, `#/c/sales?fields=title,level&-widths=title:${before + 80}`);
    assert.equal(await width(), before + 80);
    await page.getByRole("grid").focus();
    for (const key of ["ArrowUp", "Control+ArrowLeft", "Control+ArrowLeft"])
      await page.keyboard.press(key);
    await hashIs(page, `#/c/sales?fields=title,level&-widths=title:${before + 48}`);
    await page.reload();
    await cell(page, "Pen").waitFor();
    assert.equal(await width(), before + 48);
    // It is no sort.
    assert.equal(await header.getAttribute("aria-sort"), null);
    await page.context().close();
  });

  it("show files by their names, and never as HTML", async () => {
    const page = await test.open("#/c/items");
    await cell(page, "Poster").waitFor();
    await cell(page, "<b>photo.png").locator("img[src^=blob]").waitFor();
    await cell(page, "one.txt +1").waitFor();
    await cell(page, "one.txt +1").getByTitle("two.txt").waitFor();
    assert.equal(await page.locator("main b").count(), 0);
    await page.getByRole("grid").focus();
    await page.keyboard.press("ArrowRight");
    // A file is not edited in its cell: the resource opens.
    await page.keyboard.press("e");
    await page.getByRole("heading", { name: "Poster" }).waitFor();
    await page.context().close();
  });

  it("are exported straight to the disk", async () => {
    const page = await test.open("about:blank", { token: null });
    await page.addInitScript(toPrivateFile);
    await page.addInitScript(
      `sessionStorage.setItem("restante.token", ${JSON.stringify(test.app.admin)})`,
    );
    await page.goto(`${test.app.url}/-/console#/c/orders?number[gte]=100&fields=number`);
    await cell(page, "100").waitFor();
    await exportAs(page, "JSON lines");
    await page.getByText("Exported orders.ndjson.").waitFor();
    const saved = (await page.evaluate("savedText('orders.ndjson')")) as string;
    const numbers = saved.trim().split("\n");
    assert.equal(numbers.length, orders - 100);
    assert.equal(JSON.parse(numbers.at(-1) ?? "").number, orders - 1);
    await page.context().close();
  });

  it("show the progress of an export, which can be cancelled", async () => {
    const page = await test.open("#/c/customers");
    await cell(page, "Ada").waitFor();
    await page.evaluate(toSlowDisk);
    await page.evaluate(
      "location.hash = '#/c/orders?number[gte]=100&fields=number,id,createdAt,updatedAt'",
    );
    await cell(page, "100").waitFor();
    await exportAs(page, "JSON lines");
    await page.getByText(/^orders\.ndjson: [\d,]+ resources/).waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Cancel" }).press("Enter");
    await page.evaluate("disk.release()");
    await page.getByText("The export was cancelled.").waitFor();
    assert.equal(await page.evaluate("disk.isAborted"), true);
    assert.equal(await page.getByText(/^orders\.ndjson:/).count(), 0);
    // Someone who closes the picker wants no file.
    await page.evaluate(
      "globalThis.showSaveFilePicker = async () => { throw new DOMException('', 'AbortError') }",
    );
    await exportAs(page, "CSV");
    assert.equal(await page.getByText(/orders\.csv|The console failed/).count(), 0);
    await page.context().close();
  });

  it("give the focus to the resource that opens, and back to its row", async () => {
    const page = await test.open("#/c/sales?sort=title");
    await cell(page, "Cap").waitFor();
    await page.getByRole("grid").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.locator("h1:focus", { hasText: "Ink" }).waitFor();
    await page.keyboard.press("j");
    await page.locator("h1:focus", { hasText: "Pen" }).waitFor();
    await page.getByLabel("title", { exact: true }).focus();
    await page.keyboard.press("Escape");
    await page.locator("h1:focus", { hasText: "Pen" }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator("[role=grid]:focus").waitFor();
    assert.equal(
      await page.evaluate(
        "document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).textContent",
      ),
      "Pen",
    );
    await page.getByRole("gridcell").getByRole("link", { name: "Cap" }).click();
    await page.locator("h1:focus", { hasText: "Cap" }).waitFor();
    await page.getByRole("button", { name: "Close the resource" }).click();
    await page.locator("[role=grid]:focus").waitFor();
    await page.keyboard.press("n");
    await page.getByLabel("title", { exact: true }).waitFor();
    await page.context().close();
  });

  it("have titles, search and choices for someone who may only read", async () => {
    const token = await test.app.token("sales:read", "customers:read");
    for (const options of [{}, phone]) {
      const page = await test.open("#/c/sales", { token, ...options });
      await cell(page, "Pen").waitFor();
      await page.getByRole("gridcell").getByRole("link", { name: "Ada" }).first().waitFor();
      await page.getByLabel("Search", { exact: true }).fill("ink");
      await page.getByText("1 resource", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Add filter" }).click();
      await page.getByLabel("Field").selectOption("level");
      await page.getByLabel("Value").selectOption("gold");
      await page.getByRole("button", { name: "Apply" }).click();
      await hashIs(page, "#/c/sales?level=gold&q=ink*");
      await cell(page, "Ink").waitFor();
      await expectAccessible(page);
      await page.context().close();
    }
  });
});
