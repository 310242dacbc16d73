// One resource in the console: form, JSON, conflicts, files, references, and leaving with changes.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import {
  desktop,
  expectAccessible,
  expectNoSidewaysScroll,
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
  },
};

const ada = {
  ...{ name: "Ada", email: "ada@example.org", age: 36, company: "acme", role: "guest" },
  ...{ address: { city: "London" }, tags: ["maths", "poetry"], nothing: null },
};

const input = (page: Page, name: string) => page.getByRole("textbox", { name });
const save = (page: Page) => page.getByRole("button", { name: "Save", exact: true });

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
    await page.getByLabel("member", { exact: true }).check();
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
      .and(page.locator("[aria-invalid=true]"))
      .waitFor();
    await input(page, "email").fill("ada@example.org");
    await save(page).click();
    await page.getByText("Saved.").waitFor();
    const { name, age, role, address } = await read("ada");
    assert.deepEqual(
      { name, age, role, address },
      { name: "Ada Lovelace", age: 37, role: "member", address: { city: "London" } },
    );
    await page.context().close();
  });

  it("creates one by the keyboard alone, once, and goes to it", async () => {
    const page = await test.open("#/c/people/-/new");
    await input(page, "Name").focus();
    await page.keyboard.type("Fay");
    await page.keyboard.press("Control+s");
    await page.getByText("email is required").waitFor();
    await page.keyboard.type("fay@example.org");
    const lost = page.route("**/people", async (route) => {
      await route.fetch();
      await route.abort();
    });
    await lost;
    await page.keyboard.press("Control+s");
    await page.getByText("The server cannot be reached").waitFor();
    await page.unroute("**/people");
    await page.keyboard.press("Control+s");
    await page.getByRole("heading", { name: "Fay" }).waitFor();
    assert.match(page.url(), /#\/c\/people\/[0-9a-f-]{36}$/);
    const list = await test.app.request("/people?name=Fay");
    assert.equal(((await list.json()) as { total: number }).total, 1);
    await page.context().close();
  });

  it("shows both versions after a change by someone else, and saves what is chosen", async () => {
    const page = await test.open("#/c/people/bob");
    await input(page, "Name").fill("My Bob");
    await input(page, "age").fill("40");
    await patch("bob", { name: "Their Bob", tags: ["theirs"] });
    await page.keyboard.press("Control+s");
    const dialog = page.getByRole("dialog");
    await dialog.getByText("both changed").waitFor();
    await expectAccessible(page);
    await dialog.getByLabel("name: theirs").check();
    await dialog.getByRole("button", { name: "Save the chosen version" }).click();
    await page.getByText("Saved.").waitFor();
    const { name, age, tags } = await read("bob");
    assert.deepEqual({ name, age, tags }, { name: "Their Bob", age: 40, tags: ["theirs"] });
    await page.context().close();
  });

  it("deletes with undo, and asks before changes are lost", async () => {
    const page = await test.open("#/c/people/cyd");
    await input(page, "Name").fill("Changed");
    await page.getByRole("link", { name: "companies" }).click();
    await page.getByRole("button", { name: "Stay" }).click();
    assert.equal(await input(page, "Name").inputValue(), "Changed");
    await page.getByRole("button", { name: "Discard", exact: true }).click();
    await page.getByRole("button", { name: "More for this resource" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await page.getByText("Deleted cyd.").waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByRole("heading", { name: "cyd" }).waitFor();
    assert.equal((await read("cyd")).name, "cyd");
    await page.context().close();
  });

  it("keeps the draft of a resource that someone else deletes, and creates it again", async () => {
    const page = await test.open("#/c/people/dan");
    await input(page, "Name").fill("Dan again");
    await test.app.request("/people/dan", { method: "DELETE" });
    await page.keyboard.press("Control+s");
    await page.getByRole("button", { name: "Create it again" }).click();
    await page.getByText("Someone else has deleted").waitFor({ state: "detached" });
    assert.equal((await read("dan")).name, "Dan again");
    await page.context().close();
  });

  for (const [size, options] of Object.entries({ phone, desktop }))
    for (const colorScheme of ["light", "dark"] as const)
      it(`shows a form on a ${size}, ${colorScheme}`, async () => {
        const page = await test.open("#/c/people/eve", { ...options, colorScheme });
        await input(page, "Name").waitFor();
        await expectAccessible(page);
        await expectNoSidewaysScroll(page);
        await page.context().close();
      });
});
