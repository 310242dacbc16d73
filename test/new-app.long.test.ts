// `restante new` as a new user has it: from the packed package, installed, built, and used in a browser.
// @runtimes only node

import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import sharp, { type Noise } from "sharp";
import { Client } from "../client/index.ts";
import { newSecret } from "../src/model/secret.ts";
import { desktop, expectAccessible, expectNoSidewaysScroll, phone } from "./console/console.ts";
import { findChromium, startChromium } from "./http/chromium.ts";
import { install, npm, packInto } from "./npm-package.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "restante-app-"));
const app = join(folder, "my-app");
after(() => rmSync(folder, { recursive: true }));

const chromium = findChromium();
const skip = "bun" in process.versions ? "once is enough: it runs under Node" : makeApp();

/** Packs this package, writes an app with it, and installs the app with the packages that are in it. */
function makeApp(): string | false {
  const packed = packInto(folder, "restante");
  spawnSync("tar", ["xzf", packed], { cwd: folder });
  symlinkSync(join(root, "node_modules"), join(folder, "package/node_modules"));
  const program = join(folder, "package/bin/restante.js");
  const made = spawnSync(process.execPath, [program, "new", "my-app"], { cwd: folder });
  assert.equal(made.status, 0, String(made.stderr));
  return install(app);
}

const check = (name: string, act: () => void | Promise<void>) => it(name, { skip }, act);

describe("the new app", () => {
  check("has types that are up to date, and builds", () => {
    const before = readFileSync(join(app, "src/collections.ts"), "utf8");
    for (const script of ["types", "check", "build"]) {
      const { status, stdout, stderr } = npm(app, ["run", script]);
      assert.equal(status, 0, stdout + stderr);
    }
    assert.equal(readFileSync(join(app, "src/collections.ts"), "utf8"), before);
    assert.match(readFileSync(join(app, "dist/index.html"), "utf8"), /assets\/index-.*\.js/);
  });
});

interface Running {
  readonly child: ChildProcess;
  readonly page: string;
  readonly server: string;
}

const secret = newSecret();

/** The program and its children are one group, as they are on a terminal. */
function launch(program: string, args: readonly string[], env: object): ChildProcess {
  const all = { ...process.env, RESTANTE_PORT: "0", RESTANTE_ADMIN_TOKEN: secret, ...env };
  return spawn(program, args, { cwd: app, env: all, detached: true });
}

/** Reads the output until it has all that is looked for. */
async function waitFor(child: ChildProcess, ...patterns: RegExp[]): Promise<readonly string[]> {
  let text = "";
  child.stderr?.on("data", (chunk) => {
    text += chunk;
  });
  for await (const chunk of child.stdout ?? []) {
    text = stripVTControlCharacters(text + chunk);
    const found = patterns.map((pattern) => pattern.exec(text)?.[1]);
    if (found.every((one) => one !== undefined)) return found;
  }
  throw new Error(`it ended: ${text}`);
}

async function stop(child: ChildProcess): Promise<unknown> {
  const ended = once(child, "close");
  if (child.pid) process.kill(-child.pid, "SIGINT");
  const [code] = await ended;
  return code;
}

const pageAt = /Local: +(http:\S+)/;

async function startDev(): Promise<Running> {
  const port = ["--port", "0"];
  const child = launch(process.execPath, ["dev.js", ...port], {});
  const [page = "", server = ""] = await waitFor(child, pageAt, /The server is at (\S+),/);
  return { child, page, server };
}

/** Noise does not compress, so it is sent in several parts. */
const pictureOf = (look: { background: string; noise?: Noise }): Promise<Buffer> =>
  sharp({ create: { width: 800, height: 600, channels: 3, ...look } })
    .png()
    .toBuffer();

const widthOfPicture = `(async () => {
  const picture = document.querySelector("li img");
  await picture.decode();
  return picture.naturalWidth;
})()`;

const isRed = `(() => {
  const picture = document.querySelector("li img");
  if (!picture?.complete) return false;
  const context = new OffscreenCanvas(1, 1).getContext("2d");
  context.drawImage(picture, 0, 0, 1, 1);
  const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
  return red > 240 && green < 20 && blue < 20;
})()`;

/** As a person adds one to `Row`. */
const addButtons = `for (const row of document.querySelectorAll("li")) {
  const button = document.createElement("button");
  button.textContent = "Buy";
  button.onclick = () => { button.textContent = "Bought"; };
  row.append(button);
}`;

const missing = chromium === undefined && "CHROMIUM MISSING: no browser opened the new app";

describe("npm run dev", { skip: skip || missing }, () => {
  let running: Running;
  let browser: Browser;
  const faults: string[] = [];
  before(async () => {
    [running, browser] = await Promise.all([startDev(), startChromium(chromium ?? "")]);
  });
  after(async () => {
    await browser?.close();
    if (running) assert.equal(await stop(running.child), 0);
    assert.deepEqual(faults, []);
  });

  const open = async (options: BrowserContextOptions = desktop, url = running.page) => {
    const page = await (await browser.newContext(options)).newPage();
    page.on("pageerror", ({ message }) => faults.push(message));
    await page.goto(url);
    await page.getByText("1–10 of").waitFor();
    return page;
  };
  const products = () => new Client(running.server, { token: secret }).collection("products");
  const named = async (name: string) =>
    (await products().list({ where: { name } })).data[0] ?? assert.fail(`no ${name}`);
  const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
  const isClosed = (page: Page) => page.getByRole("dialog").waitFor({ state: "hidden" });

  it("lists, searches, sorts and turns pages, on all sizes and colours", async () => {
    for (const colorScheme of ["light", "dark"] as const)
      for (const size of [phone, desktop]) {
        const page = await open({ ...size, colorScheme });
        await expectAccessible(page);
        await expectNoSidewaysScroll(page);
        await button(page, "Bread board").click();
        await page.getByLabel("Price").waitFor();
        await expectAccessible(page);
        await page.context().close();
      }
    const page = await open();
    await button(page, "Next").click();
    await page.getByText("11–20 of 25").waitFor();
    await page.getByLabel("Search").fill("tea");
    await page.getByText("1–4 of 4").waitFor();
    await page.getByLabel("Search").fill("cof, sto");
    await button(page, "Coffee mug").waitFor();
    await page.getByLabel("Search").fill("nothing");
    await page.getByText("Nothing has “nothing” in it.").waitFor();
    await page.getByLabel("Search").fill("");
    await page.getByLabel("Sort by").selectOption("Most expensive");
    await page.getByRole("listitem").first().getByText("Tablecloth").waitFor();
    await page.context().close();
  });

  it("has room for another button in a row, on all sizes", async () => {
    for (const size of [phone, desktop]) {
      const page = await open(size);
      await page.evaluate(addButtons);
      await button(page, "Buy").first().click();
      await button(page, "Bought").waitFor();
      assert.equal(await page.getByRole("dialog").count(), 0);
      await expectNoSidewaysScroll(page);
      await page.getByRole("listitem").first().click();
      await page.getByRole("dialog").waitFor();
      await page.context().close();
    }
  });

  it("creates with errors at their fields, and sends a photo with progress", async () => {
    const page = await open();
    await button(page, "New product").click();
    await page.getByLabel("Name").fill("A jar");
    await page.getByLabel("SKU").fill("CU-101");
    await page.getByLabel("Price").fill("cheap");
    await button(page, "Save").click();
    await page.getByText("must be a number, not text").waitFor();
    assert.deepEqual(await page.getByRole("alert").allInnerTexts(), [
      ...["Please correct what is marked."],
    ]);
    assert.equal(await page.getByLabel("Price").getAttribute("aria-invalid"), "true");
    await page.getByLabel("Price").fill("7,5");
    await button(page, "Save").click();
    await page.getByText("another resource has this value").waitFor();
    await expectAccessible(page);
    await page.getByLabel("SKU").fill("JA-001");
    const noise = { type: "gaussian", mean: 128, sigma: 40 } as const;
    const buffer = await pictureOf({ background: "white", noise });
    const file = { name: "jar.png", mimeType: "image/png" };
    await page.getByLabel("Photo").setInputFiles({ ...file, buffer });
    const bar = page.getByRole("progressbar").waitFor();
    await button(page, "Save").click();
    await bar;
    await isClosed(page);
    const made = await named("A jar");
    assert.equal(made.price, 7.5);
    const stored = await products().file(made, "photo").get();
    assert.deepEqual(Buffer.from(await stored.arrayBuffer()), buffer);
    await page.getByRole("listitem").first().locator("img").waitFor();
    assert.equal(await page.evaluate(widthOfPicture), 128);
    await button(page, "A jar").click();
    const red = await pictureOf({ background: "#f00" });
    await page.getByLabel("Photo").setInputFiles({ ...file, buffer: red });
    await button(page, "Save").click();
    await isClosed(page);
    await page.waitForFunction(isRed);
    await page.context().close();
  });

  it("shows both versions of a conflict, and saves the one that is chosen", async () => {
    const page = await open();
    await button(page, "Cake stand").click();
    await page.getByLabel("Price").fill("44");
    const before = await named("Cake stand");
    await products().update(before, { price: 40, stock: 5 });
    await button(page, "Save").click();
    const conflict = page.getByRole("alert");
    await conflict.getByText("Somebody else has changed this product.").waitFor();
    assert.deepEqual(await conflict.getByRole("row").allInnerTexts(), [
      ...["\tBefore\tTheirs\tYours", "Price\t45\t40\t44", "Stock\t6\t5\t–"],
    ]);
    await expectAccessible(page);
    assert.equal((await named("Cake stand")).price, 40);
    await button(page, "Save mine").click();
    await isClosed(page);
    const saved = await named("Cake stand");
    assert.deepEqual([saved.price, saved.stock], [44, 5]);
    await button(page, "Cake stand").click();
    await page.getByLabel("Name").fill("Stand");
    await products().update(saved.id, { name: "Cake plate" });
    await button(page, "Save").click();
    await button(page, "Take theirs").click();
    assert.equal(await page.getByLabel("Name").inputValue(), "Cake plate");
    page.on("dialog", (dialog) => void dialog.accept());
    await button(page, "Delete").click();
    await isClosed(page);
    await page.getByText("1–10 of 25").waitFor();
    assert.equal(await products().find(saved.id), undefined);
    await page.context().close();
  });

  it("shows a photo of somebody else before it is replaced", async () => {
    const photo = async (background: string) => ({
      ...{ name: `${background}.png`, mimeType: "image/png" },
      buffer: await pictureOf({ background }),
    });
    const [red, green, blue] = [await photo("red"), await photo("green"), await photo("blue")];
    const one = await named("Coffee mug");
    const theirs = ({ buffer }: typeof red) =>
      products()
        .file(one, "photo")
        .put(new Blob([new Uint8Array(buffer)], { type: "image/png" }));
    const page = await open();
    await button(page, "Coffee mug").click();
    await page.getByLabel("Price").fill("14");
    await theirs(red);
    await button(page, "Save").click();
    const row = page.getByRole("row", { name: "Photo" });
    await row.locator("img").waitFor();
    assert.deepEqual(await row.getByRole("cell").allInnerTexts(), ["", "", "–"]);
    await expectAccessible(page);
    await button(page, "Take theirs").click();
    await page.getByLabel("Photo").setInputFiles(blue);
    await theirs(green);
    await button(page, "Save").click();
    await row.getByText("blue.png").waitFor();
    assert.equal((await products().file(one, "photo").get()).size, green.buffer.length);
    await button(page, "Save mine").click();
    await isClosed(page);
    const stored = await (await products().file(one, "photo").get()).arrayBuffer();
    assert.deepEqual(Buffer.from(stored), blue.buffer);
    await page.context().close();
  });

  it("gives its token to its own page only, and never to the browser", async () => {
    const post = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
    const address = new URL("/api/products", running.page);
    for (const site of ["cross-site", "same-site", "none"]) {
      const headers = { ...post.headers, "sec-fetch-site": site };
      assert.equal((await fetch(address, { ...post, headers })).status, 401);
    }
    const page = await open();
    const status = `fetch("/api/products", ${JSON.stringify(post)}).then(({ status }) => status)`;
    assert.equal(await page.evaluate(status), 400);
    assert.equal(await page.evaluate("sessionStorage.length + localStorage.length"), 0);
    await page.context().close();
  });

  it("asks for a token in production, where nothing adds one", async () => {
    const vite = ["node_modules/vite/bin/vite.js", "preview", "--port", "0"];
    const preview = launch(process.execPath, vite, { DEV_SERVER: running.server });
    const [url = ""] = await waitFor(preview, pageAt);
    try {
      const page = await open(desktop, url);
      await button(page, "Coffee mug").click();
      await page.getByLabel("Price").fill("13");
      await button(page, "Save").click();
      await page.getByLabel("Token").fill(secret);
      await button(page, "Sign in").click();
      await button(page, "Save").click();
      await isClosed(page);
      assert.equal((await named("Coffee mug")).price, 13);
      await page.context().close();
    } finally {
      await stop(preview);
    }
  });
});
