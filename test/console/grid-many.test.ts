// Many resources at once in the console: all that match, over several batches, with failures, cancel and a lost server.
// @tier all

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page, Route } from "playwright-core";
import type { TestApp } from "../http/app.ts";
import { expectAccessible, expectNoSidewaysScroll, phone, skip, useConsole } from "./console.ts";

async function send(app: TestApp, collection: string, records: readonly object[]): Promise<void> {
  const response = await app.request(`/${collection}`, {
    method: "POST",
    headers: { "Content-Type": "application/x-ndjson", Prefer: "return=minimal" },
    body: records.map((record) => JSON.stringify(record)).join("\n"),
  });
  assert.equal(response.status, 200);
}

/** Longer than a deletion is held back. */
const heldMs = 20_000;

const numbers = (count: number) => Array.from({ length: count }, (_, number) => ({ number }));

async function fill(app: TestApp): Promise<void> {
  const schema = { properties: { group: { type: "string" }, number: { type: "integer" } } };
  await app.request("/-/collections/teams", {
    method: "PUT",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ schema, unique: [["group", "number"]] }),
  });
  await send(
    app,
    "teams",
    numbers(350).map(({ number }) => ({ group: "new", number })),
  );
  await app.post("teams", { group: "old", number: 120 });
  await send(app, "logs", numbers(2_500));
  await send(app, "lost", numbers(250));
}

const cell = (page: Page, text: string) =>
  page.getByRole("gridcell", { name: text, exact: true }).first();

/** Runs what is held back, as the seconds would. */
const flush = (page: Page) => page.clock.fastForward(heldMs);

/** Lets batches through one by one, then all. */
async function gateOf(page: Page) {
  const waiting: Route[] = [];
  let isOpen = false;
  let arrived = (): void => {};
  await page.route("**/-/batch", (route) => {
    if (isOpen) return route.continue();
    waiting.push(route);
    arrived();
    return undefined;
  });
  return {
    async next(): Promise<void> {
      if (waiting.length === 0)
        await new Promise<void>((resolve) => {
          arrived = resolve;
        });
      await waiting.shift()?.continue();
    },
    async open(): Promise<void> {
      isOpen = true;
      await waiting.shift()?.continue();
    },
  };
}

describe("many resources in the console", { skip }, () => {
  const test = useConsole(fill);

  it("are changed in batches, and one that clashes in the middle is left out and told", async () => {
    const page = await test.open("#/c/teams?group=new");
    await cell(page, "0").waitFor();
    await page.getByRole("checkbox", { name: "Select all" }).click();
    await page.getByText("350 selected").waitFor();
    await page.getByRole("button", { name: "Edit a field" }).click();
    await page.getByLabel("Field", { exact: true }).selectOption("group");
    await page.getByLabel("New value").fill("old");
    const gate = await gateOf(page);
    await page.getByRole("button", { name: "Change 350 resources" }).click();
    await gate.next();
    await page.getByRole("dialog").getByText("Changing 100 of 350 resources").waitFor();
    await expectAccessible(page);
    await gate.open();
    const report = page.getByRole("dialog", { name: "1 resource could not be changed" });
    await report.getByText(/unique|already/).waitFor();
    await expectAccessible(page);
    await page.keyboard.press("Escape");
    await page.getByText("Changed 349 of 350 resources.").waitFor();
    await page.getByText("1 of 351 resources").waitFor();
    await cell(page, "120").waitFor();
    await page.context().close();
  });

  it("are deleted as they were seen: what changes meanwhile stays", async () => {
    const page = await test.open("#/c/teams?number[lt]=150&sort=number");
    await page.clock.install();
    await cell(page, "0").waitFor();
    await page.getByRole("grid").focus();
    await page.keyboard.press("Control+a");
    await page.getByText("151 selected").waitFor();
    await page.getByRole("button", { name: "Delete" }).press("Enter");
    await page.getByText("151 resources will be deleted.").waitFor();
    const found = await (await test.app.request("/teams?number=110")).json();
    const { data } = found as { data: { id: string }[] };
    const id = data[0]?.id ?? "";
    await test.app.request(`/teams/${id}`, {
      method: "PATCH",
      headers: { "Content-Type": "application/merge-patch+json" },
      body: JSON.stringify({ group: "kept" }),
    });
    await flush(page);
    const report = page.getByRole("dialog", { name: "1 resource could not be changed" });
    await report.getByText(id).waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("Deleted 150 of 151 resources.").waitFor();
    assert.equal(await test.app.total("teams"), 201);
    await page.context().close();
  });

  it("are all that match, with a question before thousands are deleted, and can be cancelled", async () => {
    const page = await test.open("#/c/logs", phone);
    await page.clock.install();
    await cell(page, "0").waitFor();
    await page.getByRole("checkbox", { name: "Select all" }).click();
    await page.getByText("2,500 selected").waitFor();
    await page.getByRole("checkbox", { name: "Select 3", exact: true }).click();
    await page.getByText("2,499 selected").waitFor();
    await expectNoSidewaysScroll(page);
    await page.getByRole("button", { name: "Delete" }).click();
    const question = page.getByRole("dialog", { name: "Delete 2,499 resources?" });
    await question.waitFor();
    await expectAccessible(page);
    await expectNoSidewaysScroll(page);
    await page.keyboard.press("Escape");
    await question.waitFor({ state: "detached" });
    assert.equal(await test.app.total("logs"), 2_500);
    await page.getByRole("button", { name: "Delete" }).click();
    await question.getByRole("button", { name: "Delete 2,499 resources" }).click();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByRole("checkbox", { name: "Select all" }).click();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Delete 2,500 resources" }).click();
    const gate = await gateOf(page);
    await flush(page);
    await gate.next();
    await gate.next();
    await page.getByText("Deleting 200 of 2,500 resources").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await gate.next();
    await page.getByText("Cancelled. Deleted 300 of 2,500 resources.").waitFor();
    assert.equal(await test.app.total("logs"), 2_200);
    await page.context().close();
  });

  it("are no longer all when something else matches", async () => {
    const page = await test.open("#/c/logs?number[gte]=1000");
    await cell(page, "1000").waitFor();
    await page.getByRole("grid").focus();
    await page.keyboard.press("Control+a");
    await page.getByText("1,500 selected").waitFor();
    await page.evaluate("location.hash = '#/c/logs?number[gte]=1200'");
    await page.getByText("1,500 selected").waitFor({ state: "detached" });
    await page.context().close();
  });

  it("are changed on after the server was lost, none twice and none left out", async () => {
    const page = await test.open("#/c/lost");
    await page.clock.install();
    await cell(page, "0").waitFor();
    await page.getByRole("grid").focus();
    await page.keyboard.press("Control+a");
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByText("250 resources will be deleted.").waitFor();
    let lost = 0;
    await page.route("**/-/batch", async (route) => {
      lost += 1;
      // The first request is lost, and of the second the answer.
      if (lost === 2) await route.fetch();
      if (lost <= 2) await route.abort();
      else await route.continue();
    });
    await flush(page);
    await page.getByText("lost has no resources yet").waitFor();
    assert.equal(await test.app.total("lost"), 0);
    assert.equal(await page.getByRole("dialog").count(), 0);
    await page.context().close();
  });
});
