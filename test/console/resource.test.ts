// One resource in the console: form, JSON, conflicts, files, references, and leaving with changes.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import { itLong } from "../short-run.ts";
import {
  expectAccessible,
  expectNoSidewaysScroll,
  looks,
  phone,
  skip,
  useConsole,
} from "./console.ts";

const schema = {
  type: "object",
  required: ["name", "email"],
  properties: {
    name: { type: "string", title: "Name", maxLength: 40, examples: ["Ada Lovelace"] },
    email: { type: "string", format: "email" },
    age: { type: "integer", minimum: 0 },
    company: { type: "string" },
    role: { enum: ["guest", "member"] },
    active: { type: "boolean" },
    seen: { type: "string", format: "date-time" },
    pin: { type: "string", writeOnly: true },
    address: { type: "object", properties: { city: { type: "string" } } },
    tags: { type: "array", items: { type: "string" } },
    photo: { type: "object", properties: { type: { enum: ["image/png"] } } },
  },
};

const ada = {
  ...{ name: "Ada", email: "ada@example.org", age: 36, company: "acme", role: "guest" },
  ...{ address: { city: "London" }, tags: ["maths", "poetry"], nothing: null },
};

/** A picture of one pixel. */
const dot = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
  "base64",
);

/** The list is beside it. */
const panel = (page: Page) => page.locator(".resource");
const input = (page: Page, name: string) => panel(page).getByRole("textbox", { name });
const save = (page: Page) => panel(page).getByRole("button", { name: "Save", exact: true });

describe("one resource in the console", { skip }, () => {
  const test = useConsole(async (app) => {
    const put = async (path: string, body: unknown): Promise<void> => {
      const headers = { "content-type": "application/json" };
      const init = { method: "PUT", headers, body: JSON.stringify(body) };
      const { ok, status } = await app.request(path, init);
      assert.ok(ok, `${path} ${status}`);
    };
    await put("/companies/acme", { name: "Acme Ltd" });
    await put("/companies/globex", { name: "Globex" });
    await put("/-/collections/people", {
      schema,
      unique: ["email"],
      references: { company: { collection: "companies" } },
    });
    for (const id of ["ada", "bob", "cyd", "dan", "eve"])
      await put(`/people/${id}`, { ...ada, name: id, email: `${id}@example.org` });
  });
  const read = async (id: string): Promise<Record<string, unknown>> =>
    (await test.app.request(`/people/${id}`)).json() as Promise<Record<string, unknown>>;
  const patch = (id: string, body: unknown): Promise<Response> =>
    test.app.request(`/people/${id}`, {
      method: "PATCH",
      headers: { "content-type": "application/merge-patch+json" },
      body: JSON.stringify(body),
    });

  it("saves the changed members by mouse, and shows errors at their field", async () => {
    const page = await test.open("#/c/people/ada");
    await input(page, "Name").fill("Ada Lovelace");
    await input(page, "age").fill("-3");
    await input(page, "email").fill("bob@example.org");
    await panel(page).getByLabel("member", { exact: true }).check();
    const sent = page.waitForRequest((request) => request.method() === "PATCH");
    await save(page).click();
    assert.deepEqual((await sent).postDataJSON(), {
      ...{ name: "Ada Lovelace", age: -3, email: "bob@example.org", role: "member" },
    });
    await page.locator(":focus[aria-invalid=true]").waitFor();
    assert.equal(await input(page, "age").getAttribute("aria-invalid"), "true");
    await expectAccessible(page);
    await input(page, "age").fill("37");
    await save(page).click();
    await page
      .getByRole("textbox", { name: "email", disabled: false })
      .and(panel(page).locator("[aria-invalid=true]"))
      .waitFor();
    await input(page, "email").fill("ada@example.org");
    await save(page).click();
    await page.getByText("Saved.", { exact: true }).waitFor();
    const { name, age, role, address } = await read("ada");
    assert.deepEqual(
      { name, age, role, address },
      { name: "Ada Lovelace", age: 37, role: "member", address: { city: "London" } },
    );
    await page.context().close();
  });

  it("says that there is none, and nothing of a new one", async () => {
    const page = await test.open("#/c/people/nobody");
    await panel(page).getByRole("heading", { name: "There is nothing at this address" }).waitFor();
    assert.equal(await panel(page).getByRole("heading", { level: 1 }).textContent(), "nobody");
    const { height } =
      (await panel(page).getByRole("button", { name: "Try again" }).boundingBox()) ?? assert.fail();
    assert.ok(height < 50, `the button is ${height} pixels high`);
    await expectAccessible(page);
    await page.context().close();
  });

  it("leaves the collection a place in a narrow window", async () => {
    await patch("eve", { name: "Eve ".repeat(10).trim() });
    const page = await test.open("#/c/people/eve", { viewport: { width: 320, height: 640 } });
    await panel(page).getByRole("heading", { level: 1, name: "Eve Eve" }).waitFor();
    await expectAccessible(page);
    await page.context().close();
  });

  itLong("creates one by the keyboard alone, once, and goes to it", async () => {
    const page = await test.open("#/c/people/-/new");
    await input(page, "Name").and(page.locator(":focus")).waitFor();
    await page.keyboard.type("Fay");
    await page.keyboard.press("Control+s");
    await panel(page).getByText("email is required").waitFor();
    await input(page, "email").and(page.locator(":focus")).waitFor();
    await page.keyboard.type("fay@example.org");
    const lost = page.route("**/people", async (route) => {
      await route.fetch();
      await route.abort();
    });
    await lost;
    await page.keyboard.press("Control+s");
    await panel(page).getByText("Not saved: The server does not answer.").waitFor();
    await page.unroute("**/people");
    await page.keyboard.press("Control+s");
    await panel(page).getByRole("heading", { name: "Fay" }).waitFor();
    assert.match(page.url(), /#\/c\/people\/[0-9a-f-]{36}$/);
    const list = await test.app.request("/people?name=Fay");
    assert.equal(((await list.json()) as { total: number }).total, 1);
    await page.context().close();
  });

  it("says what to do, and creates one with its picture by Enter", async () => {
    const page = await test.open("#/c/people/-/new?name=Ada");
    await input(page, "age").fill("1,200");
    await page.keyboard.press("Enter");
    await panel(page).getByText("Not saved: 3 fields need attention.").waitFor();
    await panel(page).getByText("Write 1200 or 1.2.").waitFor();
    await input(page, "age").fill("1 200");
    await panel(page).getByText("Not saved: 2 fields need attention.").waitFor();
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate("document.activeElement.ariaLabel"), "Choose company");
    const [chooser] = await Promise.all([
      page.waitForEvent("filechooser"),
      panel(page).getByRole("button", { name: "Choose a file for photo" }).click(),
    ]);
    await chooser.setFiles([{ name: "dot.png", mimeType: "image/png", buffer: dot }]);
    await panel(page).getByRole("img", { name: "Preview of dot.png" }).waitFor();
    await input(page, "Name").fill("Zoe");
    await input(page, "email").fill("ada@example.org");
    await page.keyboard.press("Enter");
    await panel(page).getByText("Not saved: this email is already used.").waitFor();
    await expectAccessible(page);
    await input(page, "email").fill("zoe@example.org");
    await page.keyboard.press("Enter");
    await panel(page).getByRole("heading", { name: "Zoe" }).waitFor();
    await page.getByText("Created Zoe. The filter of the list hides it.").waitFor();
    await page.getByRole("navigation", { name: "Breadcrumb" }).getByText("Zoe").waitFor();
    await panel(page).getByRole("img", { name: "Preview of dot.png" }).waitFor();
    await page.context().close();
  });

  itLong(
    "creates one after the other, and does not take its own change for someone else's",
    async () => {
      const page = await test.open("#/c/people/-/new");
      for (const name of ["Gil", "Hal"]) {
        await input(page, "Name").fill(name);
        await input(page, "email").fill(`${name}@example.org`);
        await panel(page).getByRole("button", { name: "Save and create another" }).click();
        await page.getByText(`Created ${name}.`).waitFor();
      }
      assert.equal(await input(page, "Name").inputValue(), "");
      await input(page, "Name").fill("Ivy");
      await input(page, "email").fill("ivy@example.org");
      await panel(page).getByRole("button", { name: "Create", exact: true }).click();
      await panel(page).getByRole("heading", { name: "Ivy" }).waitFor();
      await input(page, "age").fill("20");
      await save(page).click();
      await page.getByText("Saved.", { exact: true }).waitFor();
      await input(page, "age").fill("21");
      assert.equal(await panel(page).getByText("Someone else").count(), 0);
      await panel(page).getByRole("button", { name: "Discard", exact: true }).click();
      await page.context().close();
    },
  );

  it("shows both versions after a change by someone else, and saves what is chosen", async () => {
    const page = await test.open("#/c/people/bob", phone);
    await input(page, "Name").fill("My Bob");
    await input(page, "age").fill("40");
    await patch("bob", { name: "Their Bob", tags: ["theirs"] });
    await page.keyboard.press("Control+s");
    const dialog = page.getByRole("dialog");
    await dialog.getByText("both changed").waitFor();
    await expectAccessible(page);
    await expectNoSidewaysScroll(page);
    await dialog.getByLabel("name: theirs").check();
    await dialog.getByRole("button", { name: "Save the chosen version" }).click();
    await page.getByText("Saved.", { exact: true }).waitFor();
    const { name, age, tags } = await read("bob");
    assert.deepEqual({ name, age, tags }, { name: "Their Bob", age: 40, tags: ["theirs"] });
    await page.context().close();
  });

  itLong(
    "undoes what was saved, one after the other, unless someone else has changed it",
    async () => {
      const page = await test.open("#/c/people/dan");
      const change = async (name: string): Promise<void> => {
        await input(page, "Name").fill(name);
        await page.keyboard.press("Control+s");
        await page.getByText("Saved.", { exact: true }).last().waitFor();
        await panel(page).getByText("No changes").waitFor();
      };
      const shown = (name: string): Promise<void> =>
        panel(page).getByRole("heading", { name, exact: true }).waitFor();
      await change("Dan 1");
      await change("Dan 2");
      await page.getByRole("button", { name: "Undo" }).last().click();
      await shown("Dan 1");
      await panel(page).getByRole("heading").first().focus();
      await page.keyboard.press("Control+z");
      await shown("dan");
      assert.equal((await read("dan")).name, "dan");
      await change("Dan 3");
      await patch("dan", { age: 50 });
      await page.getByRole("button", { name: "Undo" }).click();
      await page.getByText("Not undone: someone else has changed it meanwhile.").waitFor();
      assert.equal((await read("dan")).name, "Dan 3");
      await page.context().close();
    },
  );

  it("deletes with undo, and asks before changes are lost", async () => {
    const page = await test.open("#/c/people/cyd");
    await input(page, "Name").fill("Changed");
    await page.getByRole("link", { name: "companies" }).click();
    await panel(page).getByRole("button", { name: "Stay" }).click();
    assert.equal(await input(page, "Name").inputValue(), "Changed");
    await panel(page).getByRole("button", { name: "Discard", exact: true }).click();
    await panel(page).getByRole("button", { name: "More for this resource" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await page.getByText("cyd will be deleted.").waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await panel(page).getByRole("heading", { name: "cyd" }).waitFor();
    assert.equal((await read("cyd")).name, "cyd");
    await page.context().close();
  });

  itLong(
    "keeps the draft of a resource that someone else deletes, and creates it again",
    async () => {
      const page = await test.open("#/c/people/dan");
      await input(page, "Name").fill("Dan again");
      await test.app.request("/people/dan", { method: "DELETE" });
      await page.keyboard.press("Control+s");
      await panel(page).getByRole("button", { name: "Create it again" }).click();
      await panel(page).getByText("Someone else has deleted").waitFor({ state: "detached" });
      assert.equal((await read("dan")).name, "Dan again");
      await page.context().close();
    },
  );

  itLong("edits the same draft as JSON, with the hints of the schema", async () => {
    const page = await test.open("#/c/people/eve/json");
    const editor = panel(page).getByRole("textbox", { name: "The resource as JSON" });
    await editor.click();
    await page.keyboard.press("Control+Home");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.type('"act');
    await page.keyboard.press("Control+Space");
    await panel(page).getByRole("option", { name: '"active"' }).click();
    await page.keyboard.type("true");
    await panel(page)
      .getByRole("status")
      .getByText(/JSON|Expected/)
      .waitFor();
    await panel(page).getByRole("tab", { name: "Form" }).click();
    await panel(page).getByText("The JSON text has an error").waitFor();
    await panel(page).getByRole("tab", { name: "JSON" }).click();
    await panel(page).getByText("true", { exact: true }).click();
    await page.keyboard.press("End");
    await page.keyboard.type(",");
    await expectAccessible(page);
    await panel(page).getByRole("tab", { name: "Form" }).click();
    assert.equal(await panel(page).getByRole("checkbox", { name: "active" }).isChecked(), true);
    await page.keyboard.press("Control+s");
    await page.getByText("Saved.", { exact: true }).waitFor();
    assert.equal((await read("eve")).active, true);
    await page.context().close();
  });

  itLong("tells missing, null and empty apart, and edits lists by the keyboard", async () => {
    const page = await test.open("#/c/people/eve");
    await panel(page).getByRole("button", { name: "Value of nothing" }).focus();
    await page.keyboard.press("Enter");
    await page.locator("[role=menuitem]:focus").waitFor();
    await page.keyboard.press("Enter");
    await panel(page).getByRole("textbox", { name: "nothing" }).waitFor({ state: "detached" });
    await panel(page).getByRole("button", { name: "Move tags 1 down" }).press("Enter");
    await panel(page).getByRole("button", { name: "Add to tags" }).press("Enter");
    await input(page, "tags 3").fill("third");
    await panel(page).getByRole("button", { name: "Remove tags 1" }).press("Enter");
    await panel(page).getByRole("button", { name: "Add a field" }).last().press("Enter");
    await panel(page).getByLabel("Name of the new field").and(page.locator(":focus")).waitFor();
    await page.keyboard.type("constructor");
    await page.keyboard.press("Enter");
    await input(page, "constructor").fill("<b>مرحبا</b>");
    await page.keyboard.press("Control+s");
    await page.getByText("Saved.", { exact: true }).waitFor();
    const saved = await read("eve");
    assert.equal(Object.hasOwn(saved, "nothing"), false);
    assert.deepEqual(saved.tags, ["maths", "third"]);
    assert.equal(Object.getOwnPropertyDescriptor(saved, "constructor")?.value, "<b>مرحبا</b>");
    await page.context().close();
  });

  itLong("shows references by their titles, finds others, and lists what refers here", async () => {
    const page = await test.open("#/c/people/ada");
    await panel(page).getByRole("link", { name: "Acme Ltd" }).waitFor();
    await panel(page).getByRole("button", { name: "Choose company" }).press("Enter");
    await panel(page).getByRole("combobox", { name: "Search companies" }).fill("glo");
    await panel(page).getByRole("option", { name: "Globex" }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press("Enter");
    await panel(page).getByRole("link", { name: "Globex" }).waitFor();
    await page.keyboard.press("Control+s");
    await page.getByText("Saved.", { exact: true }).waitFor();
    await panel(page).getByRole("link", { name: "Globex" }).click();
    await panel(page).getByRole("tab", { name: "Related" }).click();
    await panel(page).getByRole("link", { name: "Ada Lovelace" }).click();
    await panel(page).getByRole("heading", { name: "Ada Lovelace" }).waitFor();
    await page.context().close();
  });

  itLong("adds, shows, replaces and removes files", async () => {
    const page = await test.open("#/c/people/ada/files");
    assert.equal(await panel(page).getByLabel("Field", { exact: true }).inputValue(), "photo");
    await panel(page).getByLabel("Field", { exact: true }).selectOption("Another field…");
    const chooser = page.locator(".file-drop input[type=file]");
    await chooser.setInputFiles([
      { name: "grüße.png", mimeType: "image/png", buffer: dot },
      { name: "page.html", mimeType: "text/html", buffer: Buffer.from("<b>not bold</b>") },
    ]);
    await panel(page).getByRole("img", { name: "Preview of grüße.png" }).waitFor();
    await panel(page).getByText("<b>not bold</b>").waitFor();
    const large = Buffer.alloc(9_000_000, "x");
    await chooser.setInputFiles([{ name: "large.bin", mimeType: "", buffer: large }]);
    await panel(page).getByText("files.3 · application/octet-stream · 9 MB").waitFor();
    await expectAccessible(page);
    const [downloaded] = await Promise.all([
      page.waitForEvent("download"),
      panel(page).getByRole("button", { name: "Download grüße.png" }).click(),
    ]);
    assert.equal(downloaded.suggestedFilename(), "grüße.png");
    await page
      .locator(".file input[type=file]")
      .first()
      .setInputFiles({
        ...{ name: "new.txt", mimeType: "text/plain", buffer: Buffer.from("replaced") },
      });
    await panel(page).getByText("replaced").waitFor();
    await panel(page).getByRole("button", { name: "Remove page.html" }).click();
    await page.getByText("page.html will be removed.").waitFor();
    await page.evaluate("dispatchEvent(new Event('pagehide'))");
    await panel(page).getByText("files.2 ·").waitFor({ state: "detached" });
    const { files } = (await read("ada")) as { files: { name: string; size: number }[] };
    assert.deepEqual(
      files.map(({ name, size }) => [name, size]),
      [
        ["new.txt", 8],
        ["large.bin", 9_000_000],
      ],
    );
    await page.context().close();
  });

  itLong("takes dropped files, and says why one is too large", async () => {
    test.app.reload({ maxFileBytes: 10 });
    const page = await test.open("#/c/people/cyd/files");
    await panel(page).getByLabel("Field", { exact: true }).selectOption("Another field…");
    const data = await page.evaluateHandle(`(() => {
      const data = new DataTransfer();
      data.items.add(new File(["small"], "small.txt", { type: "text/plain" }));
      data.items.add(new File(["much too large"], "large.txt", { type: "text/plain" }));
      return data;
    })()`);
    await panel(page).getByRole("region", { name: "Add files" }).dispatchEvent("drop", {
      dataTransfer: data,
    });
    await panel(page).getByText("files.1 ·").waitFor();
    await panel(page).getByRole("alert").getByText("10 bytes").waitFor();
    await expectAccessible(page);
    await panel(page).getByRole("button", { name: "Close the upload of large.txt" }).click();
    test.app.reload({});
    await page.context().close();
  });

  itLong("shows a token without the right to change why it cannot", async () => {
    const token = await test.app.token("people:read");
    const page = await test.open("#/c/people/cyd", { token });
    await panel(page).getByText("Your token may not change this resource.").waitFor();
    assert.equal(await panel(page).getByRole("button", { name: "Save" }).count(), 0);
    await panel(page).getByRole("tab", { name: "Info" }).click();
    await panel(page).getByText("update: not allowed").waitFor();
    await panel(page).getByRole("tab", { name: "API" }).click();
    await panel(page).getByText("curl -X DELETE").waitFor();
    await expectAccessible(page);
    await page.context().close();
  });

  for (const look of looks)
    it(`shows a form on ${look.name}`, async () => {
      const page = await test.open("#/c/people/eve", look);
      await input(page, "Name").waitFor();
      await expectAccessible(page);
      await expectNoSidewaysScroll(page);
      await page.context().close();
    });
});
