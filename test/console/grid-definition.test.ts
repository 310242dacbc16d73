// A collection in the console while someone else changes its definition in another tab.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import { skip, useConsole } from "./console.ts";

const before = {
  schema: { properties: { name: { type: "string" }, age: { type: "integer" } } },
};
/** Without `age`; another name for `name`, of which only two are allowed. */
const after = {
  schema: {
    properties: { name: { enum: ["Ada", "Bob"], title: "First name" } },
    additionalProperties: false,
  },
};

const cell = (page: Page, name: string) => page.getByRole("gridcell", { name, exact: true });

describe("the grid under another definition", { skip }, () => {
  const test = useConsole();
  const define = async (name: string, definition: unknown): Promise<void> => {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify(definition);
    const path = `/-/collections/${name}`;
    assert.ok((await test.app.request(path, { method: "PUT", headers, body })).ok);
  };

  it("says that a view is refused, and shows it again when it is not", async () => {
    await define("people", before);
    await test.app.post("people", { name: "Ada", age: 36 });
    const page = await test.open("#/c/people?age[gte]=20");
    await cell(page, "Ada").waitFor();
    await define("people", after);
    const refused = page.getByRole("alert").getByText("The server does not take this view");
    await refused.waitFor();
    assert.equal(await page.getByRole("gridcell").count(), 0);
    await define("people", before);
    await cell(page, "Ada").waitFor();
    assert.equal(await refused.count(), 0);
  });

  it("keeps what is typed into a cell, and says why the server rejects it", async () => {
    await define("staff", before);
    await test.app.post("staff", { name: "Ada" });
    const page = await test.open("#/c/staff");
    await cell(page, "Ada").dblclick();
    const input = page.getByRole("textbox", { name: "name", exact: true });
    await input.fill("Zoe");
    await define("staff", after);
    await page.getByRole("columnheader", { name: "First name" }).waitFor();
    assert.equal(await input.inputValue(), "Zoe");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    await input.fill("Bob");
    await page.keyboard.press("Enter");
    await cell(page, "Bob").waitFor();
  });
});
