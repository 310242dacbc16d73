// Imports files in a real browser: preview, mapping, a dry run with every error, and the import itself.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { itLong } from "../short-run.ts";
import { expectAccessible, expectNoSidewaysScroll, phone, skip, useConsole } from "./console.ts";

const csv = "Name,Age,Notes\nAda,36,x\nBob,old,y\nCyd,20,z\n";

describe("an import in the console", { skip }, () => {
  const test = useConsole(async (app) => {
    const schema = { properties: { name: { type: "string" }, age: { type: "integer" } } };
    const body = JSON.stringify({ schema, unique: ["name"] });
    const headers = { "content-type": "application/json" };
    await app.request("/-/collections/people", { method: "PUT", headers, body });
  });
  const choose = (name: string, text: string) => ({
    name,
    mimeType: "text/plain",
    buffer: Buffer.from(text),
  });

  it("shows a file, tries it, and imports what is valid", async () => {
    const page = await test.open("#/c/people/-/import", { colorScheme: "dark" });
    await page.locator("input[type=file]").setInputFiles(choose("people.csv", csv));
    assert.equal(await page.getByLabel("Field for Name").inputValue(), "name");
    await page.getByLabel("Import Notes").uncheck();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Try without writing" }).click();
    await page
      .getByText("3 records: 2 would be created, 0 would be replaced, 1 rejected.")
      .waitFor();
    const row = page.getByRole("row", { name: "3 /age must be a whole number, not text" });
    await row.waitFor();
    assert.equal(await test.app.total("people"), 0);
    await page.getByRole("button", { name: "Import", exact: true }).click();
    await page.getByText("3 records: 2 created, 0 replaced, 1 rejected.").waitFor();
    await expectAccessible(page);
    const { data } = (await (await test.app.request("/people")).json()) as {
      data: readonly Record<string, unknown>[];
    };
    assert.deepEqual(
      data.map(({ id, createdAt, updatedAt, ...fields }) => fields),
      [
        { name: "Ada", age: 36 },
        { name: "Cyd", age: 20 },
      ],
    );
    await page.context().close();
  });

  itLong("replaces by a unique field, by the keyboard alone, on a phone", async () => {
    const page = await test.open("#/c/people/-/import", phone);
    await page
      .locator("input[type=file]")
      .setInputFiles(choose("people.json", '[{"name":"Ada","age":37}]'));
    await page.getByLabel("If a resource is there already").focus();
    await page.keyboard.type("Replace the one with the same name");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByText("1 records: 0 created, 1 replaced, 0 rejected.").waitFor();
    await expectNoSidewaysScroll(page);
    await page.getByRole("link", { name: "Show people" }).waitFor();
    await page.context().close();
  });

  it("says what is wrong with a file that cannot be read", async () => {
    const page = await test.open("#/c/people/-/import");
    await page.locator("input[type=file]").setInputFiles(choose("empty.csv", ""));
    await page.getByText("empty.csv is empty.").waitFor();
    await page.locator("input[type=file]").setInputFiles(choose("twice.csv", "a,a\n1,2\n"));
    await page.getByRole("button", { name: "Import", exact: true }).click();
    await page.getByText("two columns are called a").waitFor();
    await page.context().close();
  });
});
