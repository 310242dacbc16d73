// The screens of operators in a real browser: tokens, requests, slow queries, and the server itself.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import { itLong } from "../short-run.ts";
import {
  desktop,
  expectAccessible,
  expectNoSidewaysScroll,
  phone,
  skip,
  useConsole,
} from "./console.ts";

const hostile = '"><script>alert(1)</script>';

describe("tokens and the server in the console", { skip }, () => {
  const test = useConsole(async (app) => {
    const lines = Array.from({ length: 1_200 }, (_, n) => `{"number":${n},"status":"s${n % 7}"}\n`);
    await app.request("/orders", {
      method: "POST",
      headers: { "content-type": "application/x-ndjson", prefer: "return=minimal" },
      body: lines.join(""),
    });
    await (await app.request("/orders?status=s3")).text();
    await app.request("/-/access", {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ roles: { editor: ["orders:*"] } }),
    });
  });

  const tokens = async () => {
    const { data } = (await (await test.app.request("/-/tokens")).json()) as {
      data: { name: string; scopes: string[]; roles: string[]; revokedAt: string | null }[];
    };
    return data;
  };

  it("creates a token by ticking, shows its secret once, and revokes it", async () => {
    const page = await test.open("#/tokens");
    await page.getByRole("button", { name: "New token" }).click();
    await page.getByRole("button", { name: "Create the token" }).click();
    await page.getByText("must be text of 1 to 200 characters").waitFor();
    await page.getByLabel("Name").fill(hostile);
    await page.getByRole("checkbox", { name: "read orders" }).check();
    await page.getByRole("checkbox", { name: "metrics" }).check();
    await page.getByRole("checkbox", { name: "editor" }).check();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Create the token" }).click();
    const secret = await page.getByLabel("Secret").inputValue();
    assert.match(secret, /^rst_/);
    const [made] = (await tokens()).filter(({ name }) => name === hostile);
    assert.deepEqual([made?.scopes, made?.roles], [["orders:read", "metrics"], ["editor"]]);
    const used = await test.app.request("/orders?limit=1", { token: secret });
    assert.equal(used.status, 200);
    await used.text();
    await page.getByRole("button", { name: "Done" }).click();
    assert.ok(!(await page.content()).includes(secret));
    const kept = await page.evaluate(
      "JSON.stringify([localStorage, sessionStorage, location.href])",
    );
    assert.ok(!String(kept).includes(secret));
    await page.getByRole("row", { name: hostile }).getByRole("button").click();
    await page.getByRole("button", { name: `Revoke “${hostile}”` }).click();
    await page.getByText(`Revoked “${hostile}”.`).waitFor();
    await page.getByRole("row", { name: hostile }).waitFor({ state: "detached" });
    await page.getByLabel("Revoked and expired ones, too").check();
    await page.getByRole("row", { name: hostile }).waitFor();
    await page.context().close();
  });

  itLong("creates and revokes a token by the keyboard alone, on a phone", async () => {
    const page = await test.open("#/tokens", { ...phone, colorScheme: "dark" });
    await page.getByRole("row", { name: "first admin" }).waitFor();
    await expectNoSidewaysScroll(page);
    await expectAccessible(page);
    await page.keyboard.press("n");
    await page.getByLabel("Name").and(page.locator(":focus")).waitFor();
    await page.keyboard.type("walker");
    await press(page, "Tab", "Tab", "Space", "Enter");
    await page.getByLabel("Secret").waitFor();
    await expectAccessible(page);
    await page.keyboard.press("Escape");
    await page.getByRole("row", { name: "walker" }).waitFor();
    const [made] = (await tokens()).filter(({ name }) => name === "walker");
    assert.deepEqual(made?.scopes, ["metrics"]);
    await page.getByRole("row", { name: "walker" }).getByRole("button").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await press(page, "Tab", "Tab", "Enter");
    await page.getByText("Revoked “walker”.").waitFor();
    await page.context().close();
  });

  itLong("adds the index that would help a slow query", async () => {
    const page = await test.open("#/queries");
    await page.getByRole("heading", { name: "orders status eq" }).waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Add the index on status" }).press("Enter");
    await page.getByText("The index on status is there.").waitFor();
    const orders = (await (await test.app.request("/-/collections/orders")).json()) as {
      definition: object;
    };
    assert.deepEqual(orders.definition, { indexed: ["status"] });
    await page.context().close();
  });

  itLong("plots requests, with a table of the same figures", async () => {
    const page = await test.open("#/requests");
    await page.getByRole("row", { name: /GET \/-\/metrics/ }).waitFor();
    await page.locator(".plot canvas").nth(3).waitFor();
    const rate = page.getByRole("figure", { name: "Requests per second" });
    await rate.getByRole("row", { name: /^2xx 0\.|^2xx [1-9]/ }).waitFor();
    await rate.getByText("Figures of").click();
    await rate.getByRole("columnheader", { name: "Time" }).waitFor();
    await expectAccessible(page);
    await page.emulateMedia({ colorScheme: "dark" });
    await page.locator(".plot canvas").nth(3).waitFor();
    await expectAccessible(page);
    await page.setViewportSize(phone.viewport);
    await expectNoSidewaysScroll(page);
    await page.context().close();
  });

  it("shows status, storage, backups and settings, as tabs and in the palette", async () => {
    const page = await test.open("#/server", { ...phone, colorScheme: "dark" });
    await page.getByText("Ready, writes included").waitFor();
    await expectAccessible(page);
    await page.getByRole("link", { name: "Storage" }).click();
    await page.getByText("Database", { exact: true }).waitFor();
    await page.getByRole("listitem").filter({ hasText: "of all resources" }).waitFor();
    await page.getByText(/^[\d.,]+ [kMGT]B are free on the disk of the database\.$/).waitFor();
    await expectAccessible(page);
    await expectNoSidewaysScroll(page);
    await page.getByRole("link", { name: "Backups" }).click();
    await page.getByText("No backup is scheduled").waitFor();
    await expectAccessible(page);
    await expectNoSidewaysScroll(page);
    await page.setViewportSize(desktop.viewport);
    await page.emulateMedia({ colorScheme: "light" });
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("go to settings");
    await page.keyboard.press("Enter");
    await page.getByLabel("Filter settings").fill("corsorigins");
    await page.getByRole("row", { name: "corsOrigins * default with a reload" }).waitFor();
    assert.equal(await page.getByRole("row").count(), 2);
    assert.match(page.url(), /filter=corsorigins/);
    await page.getByRole("button", { name: "Reload settings" }).press("Enter");
    // The program that runs these tests gives the settings, so they cannot be read again.
    await page.getByText("The settings were not reloaded, and nothing was changed").waitFor();
    await page.route("**/-/settings", (route) =>
      route.request().method() === "POST"
        ? route.fulfill({ json: { changed: ["corsOrigins"], needRestart: ["port"], defined: [] } })
        : route.continue(),
    );
    await page.getByRole("button", { name: "Reload settings" }).click();
    await page.getByText("Changed: corsOrigins. Need a restart: port.").waitFor();
    await expectAccessible(page);
    await page.context().close();
  });

  itLong("shows scheduled backups that run, are done and have failed", async () => {
    const page = await test.open("", { colorScheme: "dark" });
    // A schedule needs a process of its own, so its answer is given here.
    const run = { startedAt: "2026-11-16T20:00:00Z", seconds: 1.24, bytes: 5e6, writtenBytes: 900 };
    const data = [
      { ...run, startedAt: "2026-11-17T02:00:00Z", state: "failed", error: hostile },
      { ...run, state: "done", error: null },
    ];
    const schedule = { to: "/srv/backups", everySeconds: 21_600, keepSeconds: null, nextAt: null };
    await page.route("**/-/backups", (route) => route.fulfill({ json: { schedule, data } }));
    await page.goto(`${test.app.url}/-/console#/backups`);
    await page.getByText("6 hours", { exact: true }).waitFor();
    await page.getByText("one runs now").waitFor();
    await page.getByText("for ever").waitFor();
    await page.getByRole("row", { name: `failed ${hostile}` }).waitFor();
    await page.getByRole("row", { name: "done 1.2 s 5 MB 900 bytes" }).waitFor();
    await expectAccessible(page);
    await page.context().close();
  });

  it("lead a token without the right to the overview", async () => {
    const page = await test.open("#/settings", { token: await test.app.token("orders:read") });
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
    await page.context().close();
  });
});

describe("the first steps in the console", { skip }, () => {
  const test = useConsole();

  it("shows how to POST the first person, waits, and shows it arriving", async () => {
    const page = await test.open("", { ...phone, colorScheme: "dark" });
    await page.getByText("Waiting for the first resource").waitFor();
    await page.getByText(`curl ${test.app.url}/people`).waitFor();
    await expectAccessible(page);
    await expectNoSidewaysScroll(page);
    await test.app.post("people", { name: hostile });
    await page.getByRole("heading", { name: "It has arrived" }).waitFor();
    await page.getByText(JSON.stringify(hostile)).waitFor();
    await page.getByRole("row", { name: "people 1" }).waitFor();
    await page.setViewportSize(desktop.viewport);
    await page.getByRole("img", { name: /^1 since/ }).waitFor();
    await expectAccessible(page);
    await page.context().close();
  });

  itLong("creates a collection by its name, with the keyboard", async () => {
    const page = await test.open();
    await page.getByRole("button", { name: "New collection" }).press("Enter");
    await page.getByLabel("Name").and(page.locator(":focus")).waitFor();
    await page.keyboard.type("People");
    await page.keyboard.press("Enter");
    await page.getByText("There is a collection with this name.").waitFor();
    await expectAccessible(page);
    await page.getByLabel("Name").fill("");
    await page.keyboard.type("Alte Bücher");
    await page.keyboard.press("Enter");
    await page.waitForURL("**#/c/alte-bucher");
    await page.getByRole("link", { name: "Add fields" }).waitFor();
    await page.getByRole("link", { name: "Import a file" }).waitFor();
    await page.context().close();
  });
});

async function press(page: Page, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key);
}
