// A real browser opens files that want to run scripts: as pages, in frames, as images, scripts and styles.

import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import type { Browser, Page, Route } from "playwright-core";
import { isLong } from "../seeds.ts";
import { startApp, type TestApp } from "./app.ts";
import { findChromium, patienceMs, startChromium } from "./chromium.ts";
import { Client } from "./client.ts";
import { file, form, type Shown } from "./multipart.ts";

const program = findChromium();
const skip = program === undefined && "CHROMIUM MISSING: no file was opened by a real browser";
if (skip) console.error(`\n  ${skip}\n`);

const script = "console.log('ran'); document.title = 'ran'; top.postMessage('ran', '*');";
const html = `<!doctype html><title>page</title><script>${script}</script>
  <img src=x onerror="${script}"><body onload="${script}"><a href="javascript:${script}">x</a>`;
const xhtml = `<html xmlns="http://www.w3.org/1999/xhtml"><script>${script}</script></html>`;
const svg = `<svg xmlns="http://www.w3.org/2000/svg" onload="${script}"><script>${script}</script></svg>`;
const math = `<math xmlns="http://www.w3.org/1998/Math/MathML"><mtext>${xhtml}</mtext></math>`;
const sheet = `<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="/">${xhtml}</xsl:template></xsl:stylesheet>`;
const xslt = `<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="data:text/xsl,${encodeURIComponent(sheet)}"?><a/>`;
const javascript = `GIF89a=1;${script}`;
const css = `html { background: url("javascript:${script}") } body::after { content: "ran" }`;
const png = Buffer.from("89504e470d0a1a0a", "hex").toString("latin1");

const more = ["image/gif", "image/x-unknown", "audio/mpeg"];

/** Types that tell the truth, and those that lie. */
const files: readonly [type: string, content: string][] = [
  ...["text/html", "text/html; charset=utf-7", "TEXT/HTML", "application/octet-stream"].map(
    (type): [string, string] => [type, html],
  ),
  ...["image/png", "video/mp4", "text/plain", ...(isLong ? more : [])].flatMap(
    (type): [string, string][] => [
      [type, html],
      [type, svg],
      [type, xhtml],
      [type, javascript],
      [type, png + html],
    ],
  ),
  ["application/xhtml+xml", xhtml],
  ["application/xml", xhtml],
  ["text/xml", xslt],
  ["application/xml", xslt],
  ["application/rss+xml", xhtml],
  ["image/svg+xml", svg],
  ["application/mathml+xml", math],
  ["application/pdf", `%PDF-1.7\n1 0 obj<</OpenAction<</S/JavaScript/JS(${script})>>>>endobj`],
  ["text/css", css],
  ["text/plain", css],
  ["application/x-unknown", html],
  ["multipart/related", html],
  ["message/rfc822", `Content-Type: text/html\r\n\r\n${html}`],
];
const scripts: readonly [type: string, content: string][] = [
  ["text/javascript", script],
  ["application/javascript", script],
];

interface Uploaded {
  readonly type: string;
  readonly url: string;
  readonly isScript: boolean;
}

const check = (name: string, act: () => Promise<void>) => it(name, { skip }, act);

describe("a file in a browser", () => {
  let app: TestApp;
  let site: Server;
  let siteUrl: string;
  let browser: Browser;
  let page: Page;
  const uploaded: Uploaded[] = [];
  const ran: string[] = [];

  before(async () => {
    if (program === undefined) return;
    app = await startApp();
    await new Client(app).put("/-/collections/files", { access: { read: "public" } });
    for (const [type, content] of [...files, ...scripts]) await upload(type, content);
    site = createServer((_, response) => {
      response.setHeader("content-type", "text/html; charset=utf-8");
      response.end(`<!doctype html><title>site</title>
        <script>addEventListener("message", ({ data }) => console.log(data));</script>
        ${uploaded.map(embedded).join("")}`);
    });
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
    siteUrl = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
    browser = await startChromium(program);
    page = await browser.newPage();
    page.setDefaultTimeout(patienceMs);
    page.on("console", (message) => {
      if (message.text() === "ran") ran.push(page.url());
    });
  });

  after(async () => {
    await browser?.close();
    site?.close();
    await app?.stop();
  });

  async function upload(type: string, content: string): Promise<void> {
    const sent = form([file("photo", "a", Buffer.from(content, "latin1"), type)]);
    const response = await app.request("/files", { method: "POST", ...sent });
    // A multipart part is no file.
    if (type.startsWith("multipart/")) return assert.equal(response.status, 400);
    const { photo } = (await response.json()) as { photo: Shown };
    const isScript = scripts.some(([one]) => one === type);
    uploaded.push({ type, url: `${app.url}${photo.url}`, isScript });
  }

  /** Everything that a page can do with an address. A script runs where a page asks for it. */
  const embedded = ({ url, isScript }: Uploaded): string => `
    <img src="${url}"><iframe src="${url}"></iframe><object data="${url}"></object>
    <embed src="${url}"><video src="${url}"></video><link rel="stylesheet" href="${url}">
    ${isScript ? "" : `<script src="${url}"></script><script type="module" src="${url}"></script>`}`;

  /** Opens all of them without some of their header fields. Returns how many were shown. */
  async function openWithout(...fields: readonly string[]): Promise<number> {
    const serve = async (route: Route) => {
      const response = await route.fetch();
      const headers = Object.entries(response.headers()).filter(([name]) => !fields.includes(name));
      await route.fulfill({ response, headers: Object.fromEntries(headers) });
    };
    // A page that is left gives up what it still asks for, such as an icon.
    await page.route(`${app.url}/**`, (route) => serve(route).catch(() => undefined));
    let shown = 0;
    for (const { url } of uploaded) if (await open(url)) shown++;
    await page.unrouteAll({ behavior: "wait" });
    return shown;
  }

  /** Opens it; a download opens nothing. */
  async function open(url: string): Promise<boolean> {
    try {
      await page.goto(url, { waitUntil: "load" });
      return true;
    } catch (thrown) {
      assert.match(`${thrown}`, /Download is starting|ERR_ABORTED/);
      return false;
    }
  }

  check("is a page without scripts and without this origin, or a download", async () => {
    let shown = 0;
    for (const { type, url } of uploaded) {
      if (!(await open(url))) continue;
      shown++;
      assert.match(type, /^(?:image|audio|video|text\/plain)/);
      assert.equal(await page.evaluate("self.origin"), "null", type);
    }
    assert.ok(shown > 10, "no file was shown");
    assert.deepEqual(ran, []);
  });

  check("runs no script when the browser shows what should be saved", async () => {
    assert.ok((await openWithout("content-disposition")) > 20, "too few were shown");
    assert.deepEqual(ran, []);
  });

  check("runs no script inside the page of another site, unless it is one", async () => {
    assert.ok(await open(siteUrl));
    assert.equal(await page.title(), "site");
    assert.deepEqual(ran, []);
  });

  check("runs scripts without these header fields, which the tests notice", async () => {
    await openWithout("content-disposition", "content-security-policy");
    assert.ok(ran.length > 5, `${ran.length}`);
  });
});
