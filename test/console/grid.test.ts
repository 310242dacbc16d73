// A collection in the console: its grid, filters, columns, edits in place, and changes of many.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import type { TestApp } from "../http/app.ts";
import { itLong } from "../short-run.ts";
import { expectAccessible, expectNoSidewaysScroll, looks, skip, useConsole } from "./console.ts";

const hostile = `"><script>document.title='owned'</script>\u202eabc\u0007 😀 ${"long".repeat(50_000)}`;

async function fill(app: TestApp): Promise<void> {
  const json = { "Content-Type": "application/json" };
  const definition = {
    schema: {
      type: "object",
      properties: {
        name: { type: "string", title: "Full name" },
        age: { type: "integer", minimum: 0 },
        level: { enum: ["gold", "silver"] },
        isActive: { type: "boolean" },
        friend: { type: "string" },
        tags: { type: "array", items: { type: "string" } },
      },
    },
    searchable: ["name"],
    references: { friend: { collection: "people" } },
  };
  const put = { method: "PUT", headers: json, body: JSON.stringify(definition) };
  await app.request("/-/collections/people", put);
  await app.request("/-/collections/nobody", { ...put, body: "{}" });
  const ada = await app.post("people", { name: "Ada", age: 36, level: "gold", tags: ["a", "b"] });
  await app.post("people", { name: "Bob", age: 9, isActive: true, friend: ada.id });
  await app.post("people", { name: "Cyd", age: 70, level: "silver", isActive: false });
  await app.post("odd", { constructor: hostile, __proto: null, "a.b": { c: ["<b>"] }, "": "none" });
  const lines = Array.from({ length: 2_500 }, (_, number) => JSON.stringify({ number }));
  await app.request("/orders", {
    method: "POST",
    headers: { "Content-Type": "application/x-ndjson", Prefer: "return=minimal" },
    body: lines.join("\n"),
  });
}

const rows = (page: Page) => page.getByRole("row");
const cell = (page: Page, text: string | RegExp) =>
  page.getByRole("gridcell", { name: text, exact: true }).first();
const hashIs = (page: Page, hash: string) =>
  page.waitForURL((url) => decodeURIComponent(url.hash) === hash);
const activeText = (page: Page) =>
  page.evaluate(
    "document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))?.textContent",
  );

describe("the grid of the console", { skip }, () => {
  const test = useConsole(fill);

  itLong("moves through thousands of rows by keys, and renders few of them", async () => {
    const page = await test.open("#/c/orders");
    const grid = page.getByRole("grid", { name: "orders" });
    await cell(page, "0").waitFor();
    assert.equal(await grid.getAttribute("aria-rowcount"), "2501");
    await grid.focus();
    await page.keyboard.press("Control+End");
    await cell(page, "2499").waitFor();
    assert.equal(await activeText(page), "2499");
    assert.ok((await rows(page).count()) < 60);
    for (const key of ["PageUp", "PageDown", "ArrowUp"]) await page.keyboard.press(key);
    assert.equal(await activeText(page), "2498");
    await page.keyboard.press("Control+Home");
    await cell(page, "0").waitFor();
    await page.mouse.move(700, 400);
    await page.mouse.wheel(0, 34 * 1200);
    await cell(page, "1205").waitFor();
    await page.context().close();
  });

  itLong("shows what others add, and stays where the person looks", async () => {
    const page = await test.open("#/c/orders?sort=-number");
    await cell(page, "2499").waitFor();
    await page.mouse.move(700, 400);
    await page.mouse.wheel(0, 34 * 50);
    await cell(page, "2445").waitFor();
    const top = async () => (await cell(page, "2445").boundingBox())?.y;
    const before = await top();
    await test.app.post("orders", { number: 2500 });
    await page.getByText("2,501 resources", { exact: true }).waitFor();
    assert.equal(await top(), before);
    await page.context().close();
  });

  it("filters by point and click, sorts and searches, all in the address", async () => {
    const page = await test.open("#/c/people");
    await cell(page, "Ada").waitFor();
    await page.getByRole("button", { name: "Add filter" }).click();
    await page.getByLabel("Field").selectOption("age");
    await page.getByLabel("Condition").selectOption("gte");
    await page.getByLabel("Value").fill("30");
    await expectAccessible(page);
    await page.getByRole("button", { name: "Apply" }).click();
    await hashIs(page, "#/c/people?age[gte]=30");
    await page.getByText("2 of 3 resources").waitFor();
    await page.getByRole("columnheader", { name: "age" }).click();
    await hashIs(page, "#/c/people?age[gte]=30&sort=age");
    await page.getByRole("columnheader", { name: "age" }).click();
    await hashIs(page, "#/c/people?age[gte]=30&sort=-age");
    await rows(page).nth(1).getByText("Cyd").waitFor();
    await page.getByRole("columnheader", { name: "level" }).click({ modifiers: ["Shift"] });
    await hashIs(page, "#/c/people?age[gte]=30&sort=-age,level");
    await page.getByLabel("Search", { exact: true }).fill("ada");
    await page.getByText("1 of 3 resources").waitFor();
    await page.getByLabel("Search", { exact: true }).fill("zoe");
    await page.getByText("Nothing contains “zoe”").waitFor();
    await page.getByRole("button", { name: "Clear the search" }).click();
    await page.getByText("2 of 3 resources").waitFor();
    // The beginning of a word is enough, and the collection is found again as it was left.
    await page.getByLabel("Search", { exact: true }).fill("cy");
    await cell(page, "Cyd").waitFor();
    await page.getByText("1 of 3 resources").waitFor();
    await page.getByRole("link", { name: /^orders/ }).click();
    await page.getByText("No field can be searched.").waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("ad");
    await page.getByRole("option", { name: "Ada people" }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: /^people/ }).click();
    await hashIs(page, "#/c/people?age[gte]=30&q=cy*&sort=-age,level");
    await page.getByLabel("Search", { exact: true }).fill("zoe");
    await page.getByRole("button", { name: "Clear all filters" }).click();
    await page.getByText("3 resources", { exact: true }).waitFor();
    await page.context().close();
  });

  itLong("shows what the server says against a filter at its chip, by keyboard alone", async () => {
    const page = await test.open("#/c/people?age[gte]=x&nme=1");
    await page.getByRole("group", { name: "Filters" }).getByText("must be a number").waitFor();
    const excess = await page.evaluate(
      "[...document.querySelectorAll('.chip-error')].map((each) => each.offsetWidth - each.previousElementSibling.offsetWidth)",
    );
    // A long error is wider than its chip.
    assert.ok(
      (excess as number[]).some((pixels) => pixels > 50),
      `${excess}`,
    );
    await expectAccessible(page);
    await page.getByRole("button", { name: "Remove the filter nme is 1" }).press("Enter");
    await page.getByRole("button", { name: "age is at least x", exact: true }).press("Enter");
    await page.getByLabel("Value").fill("60");
    await page.keyboard.press("Enter");
    await hashIs(page, "#/c/people?age[gte]=60");
    await cell(page, "Cyd").waitFor();
    await page.keyboard.press("f");
    await page.getByLabel("Condition").waitFor();
    await page.keyboard.press("Escape");
    await page.getByLabel("Condition").waitFor({ state: "detached" });
    await page.context().close();
  });

  itLong("chooses, orders and widens columns, and keeps them in the address", async () => {
    const page = await test.open("#/c/people");
    await cell(page, "Ada").waitFor();
    await page.keyboard.press("c");
    for (const name of ["level", "isActive", "friend", "tags", "Updated"])
      await page.getByRole("checkbox", { name, exact: true }).uncheck();
    await page.getByRole("button", { name: "Move age forward" }).click();
    await page.keyboard.press("Escape");
    await hashIs(page, "#/c/people?fields=age,name");
    await page.getByRole("grid").focus();
    for (const key of ["ArrowUp", "Control+ArrowRight"]) await page.keyboard.press(key);
    await hashIs(page, "#/c/people?fields=age,name&-widths=age:126");
    assert.deepEqual(await page.getByRole("columnheader").allTextContents(), [
      ...["", "age", "Full name"],
    ]);
    await page.context().close();
  });

  it("edits a cell in place, says why it cannot, and leaves it with Escape", async () => {
    const page = await test.open("#/c/people");
    await cell(page, "36").dblclick();
    await page.getByLabel("age", { exact: true }).fill("-1");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    await page.getByLabel("age", { exact: true }).fill("1,250");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("Write 1250 or 1.25.").waitFor();
    await page.getByLabel("age", { exact: true }).fill("37");
    await page.keyboard.press("Enter");
    await page.locator("[role=grid]:focus").waitFor();
    await cell(page, "37").waitFor();
    await page.keyboard.press("F2");
    await page.getByLabel("age", { exact: true }).fill("99");
    await page.keyboard.press("Escape");
    await cell(page, "37").waitFor();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("e");
    await page.getByLabel("level").selectOption("silver");
    await page.keyboard.press("Enter");
    await page.locator("[role=grid]:focus").waitFor();
    const { data } = (await (await test.app.request("/people?name=Ada")).json()) as {
      data: Record<string, unknown>[];
    };
    assert.deepEqual([data[0]?.age, data[0]?.level], [37, "silver"]);
    assert.match((await cell(page, "a, b").innerHTML()) ?? "", /edited in the panel/);
    for (const _ of ["level", "age"]) {
      await page.keyboard.press("Control+z");
      await page.getByText("Undone.").last().waitFor();
    }
    await cell(page, "36").waitFor();
    await page.context().close();
  });

  itLong("shows both versions when someone else was faster", async () => {
    const page = await test.open("#/c/people");
    await cell(page, "9").dblclick();
    const list = await (await test.app.request("/people?name=Bob")).json();
    const { data } = list as { data: { id: string }[] };
    const headers = { "Content-Type": "application/merge-patch+json" };
    const body = JSON.stringify({ age: 10 });
    await test.app.request(`/people/${data[0]?.id}`, { method: "PATCH", headers, body });
    await page.getByLabel("age", { exact: true }).fill("11");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await expectAccessible(page);
    await page.keyboard.press("Escape");
    await cell(page, "10").waitFor();
    await page.context().close();
  });

  itLong("opens a resource beside the grid, its neighbours, and a reference", async () => {
    const page = await test.open("#/c/people?sort=name");
    await cell(page, "Ada").waitFor();
    await page.getByRole("grid").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Ada" }).waitFor();
    await page.getByRole("button", { name: /next/i }).first().click();
    await page.getByRole("heading", { name: "Bob" }).waitFor();
    // A click beside the link opens too, and the pencil of a cell edits it.
    await cell(page, "70").click();
    await page.locator("h1:focus", { hasText: "Cyd" }).waitFor();
    const pencil = await cell(page, "gold").boundingBox();
    await page.mouse.click((pencil?.x ?? 0) + (pencil?.width ?? 0) - 8, (pencil?.y ?? 0) + 8);
    await page.getByRole("gridcell").getByLabel("level").press("Escape");
    await page.getByRole("heading", { name: "Cyd" }).waitFor();
    await page.getByRole("separator").press("ArrowLeft");
    await page.getByRole("button", { name: /close/i }).first().click();
    await hashIs(page, "#/c/people?sort=name");
    await cell(page, "Bob").waitFor();
    await page.getByRole("gridcell").getByRole("link", { name: "Ada" }).last().click();
    await page.getByRole("heading", { name: "Ada" }).waitFor();
    await page.context().close();
  });

  itLong(
    "has the focus after someone chose its collection, and keeps its first column in view",
    async () => {
      const page = await test.open("#/c/nobody", { viewport: { width: 800, height: 600 } });
      await page.getByText("nobody has no resources yet").waitFor();
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox").fill("open people");
      await page.keyboard.press("Enter");
      await page.locator("[role=grid]:focus").waitFor();
      const name = await cell(page, "Ada").boundingBox();
      await page.keyboard.press("End");
      await page.getByRole("columnheader", { name: "Updated" }).click({ trial: true });
      assert.deepEqual(await cell(page, "Ada").boundingBox(), name);
      await page.getByRole("link", { name: /^orders/ }).click();
      await page.locator("[role=grid][aria-label=orders]:focus").waitFor();
      await page.context().close();
    },
  );

  itLong("changes and deletes many as batches, with undo, and tells what failed", async () => {
    await test.app.request("/-/collections/many", {
      method: "PUT",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({
        schema: { properties: { name: { type: "string" }, count: { type: "integer" } } },
        unique: ["count"],
      }),
    });
    for (const name of ["one", "two", "three"]) await test.app.post("many", { name });
    const page = await test.open("#/c/many");
    await cell(page, "one").waitFor();
    await page.getByRole("grid").focus();
    await page.keyboard.press("Control+a");
    await page.getByText("3 selected").waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Edit a field" }).click();
    await page.getByRole("button", { name: "Change 3 resources", disabled: true }).waitFor();
    await page.getByLabel("Field", { exact: true }).selectOption("count");
    await page.getByLabel("New value").fill("5");
    await page.getByRole("button", { name: "Change 3 resources" }).click();
    await page.getByRole("dialog", { name: "2 resources could not be changed" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("Changed 1 of 3 resources.").waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("Undone.").waitFor();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Undo" }).click();
    assert.equal(await test.app.total("many"), 3);
    const box = (name: string) => page.getByRole("checkbox", { name: `Select ${name}` });
    await box("one").click();
    assert.equal(await box("one").isChecked(), true);
    await page.locator('[aria-label="Select all"]:indeterminate').waitFor();
    await box("three").click({ modifiers: ["Shift"] });
    await box("two").click({ modifiers: ["Shift"] });
    for (const name of ["one", "two", "three", "all"])
      assert.equal(await box(name).isChecked(), true, name);
    await page.getByRole("button", { name: "Edit a field" }).click();
    await page.getByLabel("Field", { exact: true }).selectOption("count");
    await page.getByLabel("Remove the field instead").check();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Remove count of 3 resources" }).click();
    await page.getByText("Changed 3 resources.").waitFor();
    for (const name of ["one", "three"]) await box(name).click();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.evaluate("dispatchEvent(new Event('pagehide'))");
    await page.getByText("2 resources", { exact: true }).waitFor();
    assert.equal(await test.app.total("many"), 2);
    await page.context().close();
  });

  itLong("exports what is shown, and copies rows", async () => {
    const page = await test.open("#/c/people?fields=name&name=Cyd", {
      permissions: ["clipboard-read", "clipboard-write"],
    });
    await cell(page, "Cyd").waitFor();
    for (const [label, pattern] of [
      ["Export 1 resource as CSV, for spreadsheets", /^id,name\r\n[^,]+,Cyd\r\n$/],
      ["Export 1 resource as JSON lines, for programs", /^\{"id":"[^"]+","name":"Cyd"\}\n$/],
    ] as const) {
      await page.getByRole("button", { name: "Export" }).click();
      const download = page.waitForEvent("download");
      await page.getByRole("menuitem", { name: label }).click();
      assert.match(await readFile(await (await download).path(), "utf8"), pattern);
    }
    await page.getByRole("checkbox", { name: "Select Cyd" }).click();
    await page.getByRole("button", { name: "Copy", exact: true }).click();
    await page.getByRole("menuitem", { name: "Copy as JSON" }).click();
    await page.getByText("Copied 1 resource.").waitFor();
    const copied = JSON.parse((await page.evaluate("navigator.clipboard.readText()")) as string);
    assert.equal(copied[0].name, "Cyd");
    await page.context().close();
  });

  itLong("has an answer when there is nothing to show", async () => {
    const page = await test.open("#/c/nobody");
    await page.getByText("nobody has no resources yet").waitFor();
    await expectAccessible(page);
    await page.evaluate("location.hash = '#/c/unknown'");
    await page.getByText("There is no collection unknown").waitFor();
    await page.context().close();
    const token = await test.app.token("people:read");
    const limited = await test.open("#/c/orders", { token });
    await limited.getByText("Your token does not allow this").waitFor();
    await limited.evaluate("location.hash = '#/c/people'");
    await cell(limited, "Cyd").waitFor();
    assert.equal(await limited.getByRole("link", { name: "New resource" }).count(), 0);
    await limited.context().close();
  });

  it("keeps hostile names and values as text", async () => {
    const page = await test.open("#/c/odd");
    await page.getByRole("columnheader", { name: "constructor" }).waitFor();
    await page.getByRole("gridcell", { name: /^"><script>/ }).waitFor();
    assert.equal(await page.locator("main script, main b").count(), 0);
    assert.notEqual(await page.title(), "owned");
    await expectAccessible(page);
    await page.context().close();
  });

  for (const look of looks)
    it(`is readable on ${look.name}`, async () => {
      const page = await test.open("#/c/people?level=silver", look);
      await cell(page, "Cyd").waitFor();
      await expectAccessible(page);
      await expectNoSidewaysScroll(page);
      if (look.size === "phone") {
        const tools = page.locator(".list-head :is(.grid-toolbar, .filter-bar) > .button");
        const boxes = (await tools.all()).slice(0, 4).map((tool) => tool.boundingBox());
        const [search, ...others] = await Promise.all([
          ...[page.getByLabel("Search", { exact: true }).boundingBox(), ...boxes],
        ]);
        for (const box of [search, ...others]) assert.equal(box?.y, search?.y);
        for (const box of others) assert.deepEqual([box?.width, box?.height], [44, 44]);
        await page.getByRole("button", { name: "Navigation" }).tap();
        await page.getByRole("button", { name: "Close the navigation" }).tap();
        await cell(page, "70").tap();
        await page.getByRole("heading", { name: "Cyd" }).waitFor();
        assert.equal(await page.getByRole("grid").isVisible(), false);
      }
      await page.context().close();
    });
});
