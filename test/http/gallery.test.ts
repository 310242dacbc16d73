// A real browser opens the gallery of the examples, and shows private pictures by signed URLs.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { startApp, type TestApp } from "./app.ts";
import { findChromium, patienceMs, startChromium } from "./chromium.ts";
import { Client } from "./client.ts";
import { file, form } from "./multipart.ts";
import { flag } from "./picture-samples.ts";

const program = findChromium();
const skip = program === undefined && "CHROMIUM MISSING: no browser opened the gallery";
if (skip) console.error(`\n  ${skip}\n`);

const page = new URL("../../examples/gallery/index.html", import.meta.url);

describe("the gallery", { skip }, () => {
  let app: TestApp;
  let site: Server;
  let browser: Browser;
  before(async () => {
    app = await startApp();
    const sizes = [{ width: 200, height: 200 }];
    const definition = { signedUrls: true, pictures: { sizes } };
    await new Client(app).put("/-/collections/photos", definition);
    for (const name of ["one.png", "two.png", "three.png"]) {
      const photo = file("photo", name, await flag(600, 300).png().toBuffer(), "image/png");
      const made = await app.request("/photos", { method: "POST", ...form([photo]) });
      assert.equal(made.status, 201);
    }
    const html = await readFile(page);
    site = createServer((_, response) => {
      response.setHeader("content-type", "text/html; charset=utf-8");
      response.end(html);
    });
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
    browser = await startChromium(program ?? "");
  });
  after(async () => {
    await browser?.close();
    site?.close();
    await app?.stop();
  });

  it("shows every private picture in its size, to a caller who may read only", async () => {
    const tab = await browser.newPage();
    tab.setDefaultTimeout(patienceMs);
    await tab.goto(`http://localhost:${(site.address() as AddressInfo).port}/`);
    await tab.fill("[name=server]", app.url);
    await tab.fill("[name=token]", await app.token("photos:read"));
    await tab.click("button");
    await tab.waitForFunction("document.querySelector('[role=status]').textContent !== ''");
    assert.equal(await tab.textContent("[role=status]"), "3 pictures");
    await tab.waitForFunction("[...document.images].every((image) => image.complete)");
    const widths = await tab.evaluate("[...document.images].map((image) => image.naturalWidth)");
    assert.deepEqual(widths, [200, 200, 200]);
  });
});
