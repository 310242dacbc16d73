// Designs a collection in a real browser: fields, a suggestion, what no longer fits, and the JSON beside it.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { expectAccessible, expectNoSidewaysScroll, phone, skip, useConsole } from "./console.ts";

describe("the designer", { skip }, () => {
  const test = useConsole(async (app) => {
    await app.post("people", { name: "Ada", age: 36 });
    await app.post("people", { name: "Bob" });
    await app.post("teams", { name: "red" });
  });
  const definitionOf = async (name: string) => {
    const response = await test.app.request(`/-/collections/${name}`);
    return ((await response.json()) as { definition: unknown }).definition;
  };

  it("suggests a schema, shows what would no longer fit, and saves", async () => {
    const page = await test.open("#/c/people/-/definition");
    await page.getByRole("button", { name: "Suggest a schema" }).click();
    await page.getByRole("row", { name: "age" }).waitFor();
    await page.getByLabel("age is required").check();
    await page.getByLabel("name is indexed").check();
    await page.getByRole("button", { name: "Check what would no longer fit" }).click();
    await page.getByText("1 resources would no longer fit").waitFor();
    await page.getByText("/age age is required").waitFor();
    await expectAccessible(page);
    await page.getByLabel("age is required").uncheck();
    await page.keyboard.press("Control+s");
    await page.getByText("All resources fit this definition.").waitFor();
    assert.deepEqual(await definitionOf("people"), {
      schema: {
        type: "object",
        required: ["name"],
        properties: { name: { type: "string" }, age: { type: "integer" } },
      },
      indexed: ["name"],
    });
    await page.context().close();
  });

  it("designs a new collection by the keyboard alone, on a phone", async () => {
    const page = await test.open("#/c/books/-/definition", { ...phone, colorScheme: "dark" });
    await page.getByLabel("Name of a new field").focus();
    await page.keyboard.type("title");
    await page.keyboard.press("Enter");
    await page.getByLabel("title is unique").focus();
    await page.keyboard.press("Space");
    await page.getByLabel("Who may read").focus();
    await page.keyboard.type("everyone");
    await expectAccessible(page);
    await expectNoSidewaysScroll(page);
    await page.keyboard.press("Control+s");
    await page.getByText("Saved the definition of books.").waitFor();
    assert.deepEqual(await definitionOf("books"), {
      schema: { properties: { title: { type: "string" } } },
      unique: ["title"],
      access: { read: "public" },
    });
    await page.context().close();
  });

  it("shows the server's errors, and what is no JSON", async () => {
    const page = await test.open("#/c/teams/-/definition");
    const text = page.getByLabel("The definition as JSON");
    await text.fill("{");
    await page.getByText("This is no JSON object yet.").waitFor();
    await text.fill('{"schema":{"properties":{"a":{"type":"strnig"}}}}');
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("/schema/properties/a/type").waitFor();
    await test.app.request("/-/collections/teams", {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: '{"description":"by someone else"}',
    });
    await text.fill('{"description":"mine"}');
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("The definition has changed meanwhile").waitFor();
    assert.deepEqual(await definitionOf("teams"), { description: "by someone else" });
    await page.context().close();
  });
});
