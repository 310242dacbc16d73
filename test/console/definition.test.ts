// Designs a collection in a real browser: fields, members, rules, a suggestion, what no longer fits, and the JSON beside it.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import { itLong } from "../short-run.ts";
import {
  expectAccessible,
  expectNoSidewaysScroll,
  phone,
  skip,
  useConsole,
  writeJson,
} from "./console.ts";

describe("the designer", { skip }, () => {
  const test = useConsole(async (app) => {
    await app.post("people", { name: "Ada", age: 36 });
    await app.post("people", { name: "Bob" });
    await app.post("teams", { name: "red" });
    await app.request("/-/access", {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ roles: { editor: ["posts:*"] } }),
    });
  });
  const definitionOf = async (name: string) =>
    (await test.app.request(`/-/collections/${name}/definition`)).json();
  const define = (name: string, definition: object) =>
    test.app.request(`/-/collections/${name}`, {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(definition),
    });
  const editor = (page: Page) => page.getByRole("textbox", { name: "The definition as JSON" });
  const write = (page: Page, text: string) => writeJson(page, "The definition as JSON", text);
  const save = (page: Page) => page.getByRole("button", { name: "Save", exact: true });

  it("suggests a schema, shows what would no longer fit, and saves", async () => {
    const page = await test.open("#/c/people/-/definition");
    await page.getByText("No changes").waitFor();
    await page.getByRole("button", { name: "Suggest a schema" }).click();
    await page.getByText("Unsaved changes").waitFor();
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

  itLong("stays usable while its JSON is that of no definition", async () => {
    const page = await test.open("#/c/half/-/definition");
    await page.getByText("As JSON").click();
    const fields = page.getByRole("table");
    await fields.waitFor();
    for (const text of ['{"unique":5}', '{"schema":{"properties":{"a":null}}}', '{"schema":5}']) {
      await write(page, text);
      await fields.waitFor({ state: "detached" });
    }
    await write(page, '{"schema":{"properties":{"a":true}}}');
    await page.getByLabel("Type of a", { exact: true }).waitFor();
    assert.equal(await page.getByLabel("Type of a", { exact: true }).inputValue(), "anything");
    await page.context().close();
  });

  itLong("adds a field that was typed and not added when the person goes on", async () => {
    const page = await test.open("#/c/typed/-/definition");
    await page.getByLabel("Name of a new field").fill("rating");
    await page.getByLabel("Type of a new field").selectOption("number");
    await page.getByLabel("Who may read").focus();
    await page.getByLabel("rating is required").waitFor();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved the definition of typed.").waitFor();
    const saved = await test.app.request("/-/collections/typed/definition");
    const { schema } = (await saved.json()) as { schema: { properties: object } };
    assert.deepEqual(schema.properties, { rating: { type: "number" } });
    assert.equal(await page.getByLabel("Type of a new field").inputValue(), "text");
    await page.context().close();
  });

  itLong("designs a new collection with members by the keyboard alone, on a phone", async () => {
    const page = await test.open("#/c/books/-/definition", { ...phone, colorScheme: "dark" });
    await page.getByLabel("Name of a new field").focus();
    await page.keyboard.type("title");
    await page.keyboard.press("Enter");
    await page.getByLabel("title is unique").focus();
    await page.keyboard.press("Space");
    await page.getByLabel("Name of a new field").focus();
    await page.keyboard.type("lines");
    await page.keyboard.press("Tab");
    await page.keyboard.type("list of objects");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Add a member to lines" }).focus();
    await page.keyboard.press("Enter");
    await page.getByLabel("Name of a new member of lines").and(page.locator(":focus")).waitFor();
    await page.keyboard.type("sku");
    await page.keyboard.press("Enter");
    await page.getByLabel("lines[].sku is required").focus();
    await page.keyboard.press("Space");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Space");
    await page.getByLabel("Who may read").focus();
    await page.keyboard.type("everyone");
    await expectAccessible(page);
    await expectNoSidewaysScroll(page);
    await page.keyboard.press("Control+s");
    await page.getByText("Saved the definition of books.").waitFor();
    const sku = { type: "object", required: ["sku"], properties: { sku: { type: "string" } } };
    assert.deepEqual(await definitionOf("books"), {
      schema: { properties: { title: { type: "string" }, lines: { type: "array", items: sku } } },
      unique: ["title"],
      indexed: ["lines[].sku"],
      access: { read: "public" },
    });
    await page.context().close();
  });

  itLong("sends no number whose digits it would lose", async () => {
    const page = await test.open("#/c/digits/-/definition");
    await page.getByText("As JSON").click();
    const schema = (maximum: string) =>
      `{"schema":{"type":"object","properties":{"n":{"type":"integer","maximum":${maximum}}}}}`;
    await write(page, schema("9007199254740993"));
    await page.getByText("9007199254740993: It has more digits than a number keeps.").waitFor();
    assert.equal(await save(page).isDisabled(), true);
    await page.keyboard.press("Control+s");
    await write(page, schema("9007199254740992"));
    await save(page).click();
    await page.getByText("Saved the definition of digits.").waitFor();
    const stored = await test.app.request("/-/collections/digits/definition");
    assert.equal(await stored.text(), schema("9007199254740992"));
  });

  it("writes rules: for whom, when, for which fields, and what they set", async () => {
    await define("posts", {
      schema: { properties: { title: {}, status: { enum: ["draft", "published"] } } },
    });
    const page = await test.open("#/c/posts/-/definition");
    await page.getByLabel("Who may read").selectOption("rules by value and field");
    const first = page.getByRole("listitem", { name: "Rule 1 to read" });
    await first.getByLabel("Name").fill("published");
    await first.getByLabel("For", { exact: true }).selectOption("everyone");
    await first.getByLabel("Fields").fill("title, status");
    await first.getByRole("button", { name: "Add condition" }).click();
    await first.getByLabel("Field", { exact: true }).selectOption("status");
    await first.getByLabel("Value").selectOption("published");
    await first.getByRole("button", { name: "Apply" }).press("Enter");
    await first.getByRole("button", { name: "status is published", exact: true }).waitFor();
    await page.getByRole("button", { name: "Add a rule to read" }).press("Enter");
    const second = page.getByRole("listitem", { name: "Rule 2 to read" });
    await second.getByLabel("For", { exact: true }).selectOption("tokens with the role");
    await second.getByLabel("Role").fill("editor");
    await page.getByLabel("Who may create").selectOption("rules by value and field");
    const creation = page.getByRole("listitem", { name: "Rule 1 to create" });
    await creation.getByLabel("Sets").fill('{"status": "draft"');
    await creation.getByText("This is no JSON object yet.").waitFor();
    await expectAccessible(page);
    await creation.getByLabel("Sets").fill('{"status": "draft"}');
    await save(page).click();
    await page.getByText("Saved the definition of posts.").waitFor();
    assert.deepEqual(((await definitionOf("posts")) as { access: unknown }).access, {
      read: [
        {
          ...{ name: "published", to: "everyone" },
          ...{ fields: ["title", "status"], where: { status: "published" } },
        },
        { name: "rule 2", to: { role: "editor" } },
      ],
      create: [{ name: "tokens", to: "token", set: { status: "draft" } }],
    });
    await page.getByRole("button", { name: "Remove rule 1 to create" }).click();
    assert.equal(await page.getByLabel("Who may create").inputValue(), "token");
    await page.getByRole("link", { name: "Try the rules" }).click();
    await page.getByRole("button", { name: "Stay" }).click();
    await page.getByRole("button", { name: "Discard", exact: true }).click();
    await creation.waitFor();
    await page.context().close();
  });

  itLong("shows the server's errors at their line, and what is no JSON", async () => {
    const page = await test.open("#/c/teams/-/definition");
    await page.getByText("As JSON").click();
    await write(page, '{"schema"');
    await page.getByText("This is no JSON object yet.").waitFor();
    await write(page, '{"schema":{"properties":{\n"a":{"type":"strnig"}}}}');
    await save(page).click();
    await page.getByText("/schema/properties/a/type").waitFor();
    await page.locator(".cm-lintRange-error").getByText('"strnig"').waitFor();
    assert.equal(await page.locator(".cm-lint-marker-error").count(), 1);
    await expectAccessible(page);
    await page.context().close();
  });

  itLong("shows both versions when someone else has saved, and saves what is chosen", async () => {
    await define("teams", { description: "before" });
    const page = await test.open("#/c/teams/-/definition", { colorScheme: "dark" });
    await page.getByText("As JSON").click();
    await write(page, '{"description":"mine","maxBytes":5000}');
    await define("teams", { description: "theirs", cache: { maxAge: 60 } });
    await page.keyboard.press("Control+s");
    const dialog = page.getByRole("dialog", { name: "Someone else has changed this definition" });
    await dialog.getByText("both changed").waitFor();
    await expectAccessible(page);
    await dialog.getByLabel("description: theirs").check();
    await dialog.getByRole("button", { name: "Save the chosen version" }).click();
    await page.getByText("Saved the definition of teams.").waitFor();
    const merged = { description: "theirs", cache: { maxAge: 60 }, maxBytes: 5000 };
    assert.deepEqual(await definitionOf("teams"), merged);
    await write(page, '{"description":"mine again"}');
    await define("teams", { description: "theirs again" });
    await save(page).click();
    await dialog.getByRole("button", { name: "Take all theirs" }).click();
    await dialog.getByRole("button", { name: "Save the chosen version" }).click();
    await dialog.waitFor({ state: "detached" });
    await editor(page).getByText("theirs again").waitFor();
    assert.deepEqual(await definitionOf("teams"), { description: "theirs again" });
    await page.context().close();
  });
});
