// Local copies in a real browser: IndexedDB, two tabs, and no network.
// @tier all

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import type { TestApp } from "../http/app.ts";
import { findChromium, patienceMs, startChromium } from "../http/chromium.ts";
import { itLong } from "../short-run.ts";
import { bundleOf, makePrograms, startShop } from "./programs.ts";

const program = findChromium();
const skip = program === undefined && "CHROMIUM MISSING: no browser opened a local copy";
if (skip) console.error(`\n  ${skip}\n`);

const programs = makePrograms();

/** What a page runs. It reads seldom by itself, so that a test sees who is told by whom. */
const script = (url: string, token: string) => `
import { Client } from "restante-client";
import { indexedDb, Sync } from "restante-client/sync";
const shop = new Client(${JSON.stringify(url)}, { token: ${JSON.stringify(token)} });
const sync = await Sync.open(shop, { storage: indexedDb("shop"), everyMs: 200 });
const copy = sync.copy("customers");
const names = () => copy.all().map(({ name }) => name).join();
/** A storage that is closed and opened again, as a component that is mounted twice does. */
const openTwice = async () => {
  const storage = indexedDb("twice");
  const first = await Sync.open(shop, { storage });
  await first.create("customers", { name: "Fay" });
  await first.close();
  const second = await Sync.open(shop, { storage });
  await second.now();
  const { status } = second;
  await second.close();
  return status;
};
Object.assign(globalThis, { sync, copy, names, openTwice });
`;

describe("in a browser", { skip }, () => {
  let app: TestApp;
  let browser: Browser;
  let context: BrowserContext;
  before(async () => {
    app = await startShop();
    const file = join(programs.folder, "page.ts");
    await programs.write("page.ts", script(app.url, app.admin));
    browser = await startChromium(program ?? "");
    context = await browser.newContext();
    context.setDefaultTimeout(patienceMs);
    const body = `<script type="module">${bundleOf(file).text.replaceAll("</script", "<\\/script")}</script>`;
    await context.route("**/page", (route) => route.fulfill({ contentType: "text/html", body }));
  });
  after(async () => {
    await browser?.close();
    await app?.stop();
  });

  const openTab = async (): Promise<Page> => {
    const page = await context.newPage();
    await page.goto(`${app.url}/page`);
    await page.waitForFunction("globalThis.sync");
    return page;
  };
  const shows = (page: Page, text: string) =>
    page.waitForFunction(`names() === ${JSON.stringify(text)}`);

  it("two tabs show the same, one of them sends, and what was written offline is there after a reload", async () => {
    const first = await openTab();
    const second = await openTab();
    await first.evaluate('sync.create("customers", { name: "Ada" })');
    await shows(second, "Ada");
    await second.evaluate("sync.now()");
    assert.equal(await app.total("customers"), 1);

    const other = 'sync.copy("customers", { where: { name: "Ada" } })';
    await second.evaluate(`${other}.ready()`);
    await second.evaluate(`sync.forget(globalThis.other = ${other})`);
    await second.waitForFunction('globalThis.other.state === "loading"');

    await context.setOffline(true);
    await second.evaluate('sync.create("customers", { name: "Bob" })');
    await shows(first, "Ada,Bob");
    await second.waitForFunction('sync.status === "offline"');
    await second.reload();
    await second.waitForFunction("globalThis.sync");
    await shows(second, "Ada,Bob");
    assert.equal(await second.evaluate("sync.pending.length"), 1);

    await context.setOffline(false);
    await second.waitForFunction('sync.pending.length === 0 && sync.status === "idle"');
    assert.equal(await app.total("customers"), 2);

    await first.close();
    await app.post("customers", { name: "Cid" });
    await shows(second, "Ada,Bob,Cid");
    await second.evaluate(`sync.update("customers", copy.all()[0], { name: "Eve" })`);
    await second.evaluate("sync.now()");
    await shows(second, "Eve,Bob,Cid");
    await second.close();

    const third = await openTab();
    assert.equal(await third.evaluate("names()"), "Eve,Bob,Cid");
    assert.equal(await third.evaluate("copy.state"), "ready");
    await third.close();
  });

  it("a write after the database was deleted is rejected, and then everything is read again", async () => {
    const page = await openTab();
    await page.evaluate(`new Promise((resolve, reject) => {
      const request = indexedDB.deleteDatabase("restante/shop");
      request.onsuccess = resolve;
      request.onerror = reject;
    })`);
    const create = 'sync.create("customers", { name: "Dan" })';
    const text = await page.evaluate(`${create}.then(() => "done", String)`);
    assert.match(String(text), /has closed or deleted the database/);
    await page.evaluate(create);
    await page.evaluate("sync.now()");
    await shows(page, "Eve,Bob,Cid,Dan");
    assert.equal(await app.total("customers"), 4);
    await page.close();
    assert.equal(await (await openTab()).evaluate("names()"), "Eve,Bob,Cid,Dan");
  });

  it("a storage that was closed can be opened again", async () => {
    const page = await openTab();
    const before = await app.total("customers");
    assert.equal(await page.evaluate("openTwice()"), "idle");
    assert.equal(await app.total("customers"), before + 1);
    await page.close();
  });

  itLong(
    "a write beyond the quota of the browser is rejected, and what was stored stays",
    async () => {
      const page = await openTab();
      await page.evaluate("sync.now()");
      const before = String(await page.evaluate("names()"));
      await context.setOffline(true);
      const session = await context.newCDPSession(page);
      const setQuota = (quotaSize?: number) =>
        session.send("Storage.overrideQuotaForOrigin", {
          origin: app.url,
          ...(quotaSize && { quotaSize }),
        });
      await setQuota(1_000_000);
      // Random, because the browser compresses what it stores; 20 MB, because it counts late.
      const create = (name: string, bytes: number) =>
        page.evaluate(`(async () => {
        const bytes = new Uint8Array(${bytes});
        for (let at = 0; at < bytes.length; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
        const country = new TextDecoder("latin1").decode(bytes);
        const created = sync.create("customers", { name: ${JSON.stringify(name)}, country });
        return created.then(() => "stored", (error) => error.name);
      })()`);
      const stored: string[] = [];
      let answer: unknown;
      for (;;) {
        const name = `Large ${stored.length}`;
        answer = await create(name, 20_000_000);
        if (answer !== "stored") break;
        stored.push(name);
      }
      assert.equal(answer, "QuotaExceededError");
      assert.equal(await page.evaluate("names()"), [before, ...stored].join());
      await page.reload();
      await page.waitForFunction("globalThis.sync");
      assert.equal(await page.evaluate("names()"), [before, ...stored].join());
      assert.equal(await page.evaluate("sync.pending.length"), stored.length);

      await setQuota();
      assert.equal(await create("Small", 10), "stored");
      assert.equal(await page.evaluate("names()"), [before, ...stored, "Small"].join());
      await page.close();
    },
  );
});
