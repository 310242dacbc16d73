// The frame of the console: signing in, navigation, palette, themes, and a server that goes away.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { expectAccessible, expectNoSidewaysScroll, looks, skip, useConsole } from "./console.ts";

describe("the frame of the console", { skip }, () => {
  const test = useConsole(async (app) => {
    for (const name of ["Ada", "Bob"]) await app.post("people", { name });
    await app.post("orders", { number: 1 });
  });

  it("asks for a token, says when it is wrong, and keeps it in this tab alone", async () => {
    const page = await test.open("", { token: null });
    await expectAccessible(page);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("Paste a token.").waitFor();
    await page.getByLabel("Token").fill("wrong");
    await page.keyboard.press("Enter");
    await page.getByText("The token is wrong, expired or revoked.").waitFor();
    await page.getByLabel("Token").fill(test.app.admin);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
    const kept = await page.evaluate("[JSON.stringify(localStorage), location.href]");
    assert.ok(!JSON.stringify(kept).includes(test.app.admin));
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    assert.equal(await page.evaluate("sessionStorage.length"), 0);
    await page.context().close();
  });

  for (const look of looks)
    it(`shows all collections on ${look.name}`, async () => {
      const page = await test.open("", look);
      await page.getByRole("row", { name: "people 2" }).waitFor();
      await expectAccessible(page);
      await expectNoSidewaysScroll(page);
      await page.context().close();
    });

  it("shows the request of the page as code, and three themes by their names", async () => {
    const page = await test.open();
    await page.getByRole("button", { name: "Copy as" }).click();
    await page.getByRole("dialog").getByLabel("Python").check();
    await page.getByText("requests.request(").waitFor();
    await expectAccessible(page);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Theme: as the system" }).click();
    await page.getByRole("menuitem", { name: "Dark" }).click();
    assert.equal(await page.evaluate("document.documentElement.dataset.theme"), "dark");
    await page.context().close();
  });

  it("opens any screen by the keyboard alone", async () => {
    const page = await test.open();
    await page.getByRole("row", { name: "people 2" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").and(page.locator(":focus")).waitFor();
    await expectAccessible(page);
    await page.keyboard.type("peop");
    await page.keyboard.press("Enter");
    await page.waitForURL(/#\/c\/people$/);
    await page.context().close();
  });

  it("names each screen in the title and in a heading, also an address that is none", async () => {
    const page = await test.open("#/c/people/-/charts");
    await page.getByRole("heading", { name: "Charts of people" }).waitFor();
    assert.equal(await page.title(), "people / charts · Restante");
    await page.goto(`${test.app.url}/-/console#/nowhere`);
    await page.getByText("There is no such screen").waitFor();
    await expectAccessible(page);
    await page.context().close();
  });

  it("shows a limited token what it may read, and nothing else", async () => {
    const token = await test.app.token("people:read");
    const page = await test.open("#/tokens", { token });
    await page.getByRole("row", { name: "people" }).waitFor();
    assert.equal(await page.getByRole("link", { name: "orders" }).count(), 0);
    assert.deepEqual(await page.getByRole("columnheader").allTextContents(), ["Name"]);
    await page.getByRole("row").getByRole("link", { name: "people" }).click();
    await page.getByRole("link", { name: "Charts" }).waitFor();
    assert.equal(await page.getByRole("link", { name: "Import" }).count(), 0);
    await page.context().close();
  });

  it("says that the server is away, and goes on when it is back", async () => {
    const page = await test.open();
    await page.getByRole("row", { name: "people 2" }).waitFor();
    await page.context().setOffline(true);
    await page.getByText("The server does not answer").waitFor();
    await test.app.post("people", { name: "Cyd" });
    await page.context().setOffline(false);
    await page.getByRole("row", { name: "people 3" }).waitFor();
    assert.equal(await page.getByText("The server does not answer").count(), 0);
    await page.context().close();
  });
});
