// A token that is revoked or expires while someone works: the console asks for another one in place, and no draft is lost.
// @tier all

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import { withClockMoved } from "../clock.ts";
import { expectAccessible, expectNoSidewaysScroll, phone, skip, useConsole } from "./console.ts";

describe("a token that is no longer valid", { skip }, () => {
  const test = useConsole(async (app) => {
    for (const name of ["ada", "bob"])
      await app.request(`/people/${name}`, {
        method: "PUT",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ name }),
      });
  });

  const makeToken = async (more: object = {}): Promise<{ id: string; token: string }> => {
    const response = await test.app.request("/-/tokens", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name: "editor", scopes: ["people:*"], ...more }),
    });
    assert.equal(response.status, 201);
    return (await response.json()) as { id: string; token: string };
  };
  const revoke = async (id: string): Promise<void> => {
    assert.ok((await test.app.request(`/-/tokens/${id}`, { method: "DELETE" })).ok);
  };
  const nameOf = async (id: string): Promise<unknown> =>
    ((await (await test.app.request(`/people/${id}`)).json()) as { name: unknown }).name;
  const nameField = (page: Page) =>
    page.locator(".resource").getByRole("textbox", { name: "name" });
  const dialog = (page: Page) =>
    page.getByRole("dialog", { name: "Your token is no longer valid" });

  it("is asked for over the draft, which is saved with the next one, by the keyboard alone", async () => {
    const { id, token } = await makeToken();
    const page = await test.open("#/c/people/ada", { ...phone, token });
    await nameField(page).focus();
    await page.keyboard.press("End");
    await page.keyboard.type(" Lovelace");
    await revoke(id);
    await page.keyboard.press("Control+s");
    await dialog(page).getByLabel("Token", { exact: true }).and(page.locator(":focus")).waitFor();
    await expectAccessible(page);
    await expectNoSidewaysScroll(page);
    await page.keyboard.type(token);
    await page.keyboard.press("Enter");
    await dialog(page).getByText("The token is wrong, expired or revoked.").waitFor();
    await page.keyboard.press("Control+a");
    await page.keyboard.type((await makeToken()).token);
    await page.keyboard.press("Enter");
    await page.getByText("Saved.", { exact: true }).waitFor();
    await nameField(page).and(page.locator(":focus")).waitFor();
    assert.equal(await nameOf("ada"), "ada Lovelace");
    await page.context().close();
  });

  it("can expire, and be given later: the draft stays", async () => {
    const hourMs = 3_600_000;
    const expiresAt = new Date(Date.now() + hourMs).toISOString();
    const { token } = await makeToken({ expiresAt });
    const page = await test.open("#/c/people/bob", { token, colorScheme: "dark" });
    await nameField(page).fill("Bob the second");
    await withClockMoved(2 * hourMs, async () => {
      await dialog(page).waitFor();
      await expectAccessible(page);
      await page.keyboard.press("Escape");
      await dialog(page).waitFor({ state: "detached" });
      await page.getByText("Your token is no longer valid. What you see may be old").waitFor();
      await expectAccessible(page);
      assert.equal(await nameField(page).inputValue(), "Bob the second");
      await page.getByRole("button", { name: "Enter a token" }).click();
      await dialog(page).getByLabel("Token", { exact: true }).fill(test.app.admin);
      await dialog(page).getByRole("button", { name: "Go on" }).click();
      await page.getByText("Administrator").waitFor();
      assert.equal(await nameField(page).inputValue(), "Bob the second");
      await page.locator(".resource").getByRole("button", { name: "Save", exact: true }).click();
      await page.getByText("Saved.", { exact: true }).waitFor();
      assert.equal(await nameOf("bob"), "Bob the second");
    });
    await page.context().close();
  });

  it("is forgotten by this tab, also when nobody gives another one", async () => {
    const { id, token } = await makeToken();
    const page = await test.open("#/c/people", { token });
    await page.getByRole("row", { name: /ada/ }).waitFor();
    await revoke(id);
    await dialog(page).waitFor();
    assert.equal(await page.evaluate("sessionStorage.length"), 0);
    await dialog(page).getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Look around without a token" }).waitFor();
    await page.context().close();
  });

  it("leaves nothing to undo to whoever signs in next", async () => {
    const page = await test.open("#/c/people/bob", { token: test.app.admin });
    await nameField(page).fill("Bob the third");
    await page.keyboard.press("Control+s");
    await page.getByText("Saved.", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Undo" }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token", { exact: true }).fill((await makeToken()).token);
    await page.keyboard.press("Enter");
    await page.locator(".resource").getByRole("heading").first().focus();
    assert.equal(await page.getByRole("button", { name: "Undo" }).count(), 0);
    await page.keyboard.press("Control+z");
    await page.getByText("There is nothing to undo.").waitFor();
    assert.equal(await nameOf("bob"), "Bob the third");
    await page.context().close();
  });
});

describe("a sign-in link", { skip }, () => {
  const test = useConsole();
  const signedIn = (page: Page) => page.getByRole("button", { name: "Sign out" });

  it("opens the console signed in, and leaves the address bar and the history at once", async () => {
    const code = await test.app.code();
    const seen: string[] = [];
    const page = await test.open("", { token: null });
    page.on("request", (request) => seen.push(`${request.url()} ${request.headers().referer}`));
    await page.goto(`${test.app.url}/-/console#code=${code}`);
    await signedIn(page).waitFor();
    assert.equal(page.url(), `${test.app.url}/-/console`);
    assert.ok(seen.some((request) => request.includes("/-/console/tokens")));
    for (const request of seen) assert.ok(!request.includes(code), request);
    // The token stays until the tab is closed.
    await page.reload();
    await signedIn(page).waitFor();
    await page.context().close();
  });

  it("that was used says how to get another one, and where the first token is", async () => {
    const code = await test.app.code();
    const other = await test.open(`#code=${code}`, { token: null });
    await signedIn(other).waitFor();
    const page = await test.open(`#code=${code}`, { token: null, ...phone });
    await page.getByRole("alert").getByText("`restante console`").waitFor();
    await page.getByText("admin-token").waitFor();
    await expectAccessible(page);
    await expectNoSidewaysScroll(page);
    // A new link in the same tab loads no page.
    await page.evaluate(`location.hash = "#code=${await test.app.code()}"`);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    assert.equal(page.url(), `${test.app.url}/-/console`);
  });
});

describe("a token that may only create", { skip }, () => {
  const test = useConsole(async (app) => {
    await app.request("/notes", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ text: "first" }),
    });
  });

  it("has the form on the screen of the collection, where the list would be", async () => {
    const response = await test.app.request("/-/tokens", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name: "sender", scopes: ["notes:create"] }),
    });
    const { token } = (await response.json()) as { token: string };
    const page = await test.open("#/c/notes", { token });
    await page.getByText("Your token may add to notes, and not read it").waitFor();
    await expectAccessible(page);
    await page.getByRole("link", { name: "New resource" }).press("Enter");
    await page.locator(".resource").getByRole("button", { name: "Create", exact: true }).waitFor();
    // No error stands beside the form.
    await page.getByText("Your token may not read notes").waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
    await expectAccessible(page);
    await page.context().close();
  });
});
