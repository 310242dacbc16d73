// A real browser posts real forms, from a page of another origin.
// @tier all

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import type { Browser, Page, Response } from "playwright-core";
import { startApp, type TestApp } from "./app.ts";
import { findChromium, patienceMs, startChromium } from "./chromium.ts";
import { Client } from "./client.ts";

const program = findChromium();
const skip = program === undefined && "CHROMIUM MISSING: no form was posted by a real browser";
if (skip) console.error(`\n  ${skip}\n`);

const contact = {
  schema: {
    type: "object",
    required: ["email", "message"],
    properties: {
      email: { type: "string", format: "email" },
      message: { type: "string", minLength: 1 },
      age: { type: "integer", minimum: 0 },
      price: { type: "number" },
      news: { type: "boolean", default: false },
      topics: { type: "array", items: { type: "string" } },
      born: { type: "string", format: "date" },
      address: { type: "object", properties: { city: { type: "string" } } },
    },
    additionalProperties: false,
  },
  access: { create: "public" },
  honeypot: "website",
};

/** The same fields for each form. */
const fields = `
  <input name="email"><textarea name="message"></textarea>
  <input name="age" type="number"><input name="price" type="number" step="any">
  <input name="news" type="checkbox">
  <select name="topics" multiple><option>red<option>green<option value="blue sky">blue</select>
  <input name="born" type="date"><input name="address[city]">
  <input name="website" style="display:none" tabindex="-1" autocomplete="off">
  <input name="_charset_" type="hidden"><button>Send</button>`;

const check = (name: string, act: () => Promise<void>) => it(name, { skip }, act);

describe("a form in a browser", () => {
  let app: TestApp;
  let client: Client;
  let site: Server;
  let siteUrl: string;
  let browser: Browser;
  let page: Page;

  before(async () => {
    if (program === undefined) return;
    app = await startApp();
    client = new Client(app);
    site = createServer((request, response) => {
      const name = request.url?.slice(1) ?? "";
      const encoding = name === "files" ? ' enctype="multipart/form-data"' : "";
      response.setHeader("content-type", "text/html; charset=utf-8");
      response.end(`<!doctype html><title>${name}</title>
        <form action="${app.url}/${name}" method="post"${encoding}>${fields}
        ${encoding && '<input name="photo" type="file"><input name="more" type="file" multiple>'}
        </form>`);
    });
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
    siteUrl = `http://localhost:${(site.address() as AddressInfo).port}`;
    await client.put("/-/collections/contact", contact);
    await client.put("/-/collections/home", { ...contact, redirect: `${siteUrl}/thanks` });
    const { schema, ...rules } = contact;
    const { additionalProperties, ...open } = schema;
    await client.put("/-/collections/files", { ...rules, schema: open });
    browser = await startChromium(program);
    page = await browser.newPage();
    page.setDefaultTimeout(patienceMs);
  });
  after(async () => {
    await browser?.close();
    site?.close();
    await app?.stop();
  });

  const fill = async (name: string, texts: Readonly<Record<string, string>>) => {
    await page.goto(`${siteUrl}/${name}`);
    for (const [field, text] of Object.entries(texts)) await page.fill(`[name="${field}"]`, text);
  };

  /** Sends the form, and waits for the page that comes of it. */
  const submit = async (): Promise<Response> => {
    const [response] = await Promise.all([page.waitForNavigation(), page.click("button")]);
    assert.ok(response !== null);
    return response;
  };

  const stored = async (name: string) => {
    const { data } = await client.json<{ data: Record<string, unknown>[] }>(`/${name}`);
    return data.map(({ id, createdAt, updatedAt, ...said }) => said);
  };

  check(
    "is stored with its types, answered with a page, and not posted again on reload",
    async () => {
      await fill("contact", {
        email: "zoe@example.com",
        message: "Hello,\n<b>you</b> & 100 % 😀",
        age: "042",
        price: ".5",
        born: "2001-02-03",
        "address[city]": "Zürich",
      });
      await page.check('[name="news"]');
      await page.selectOption('[name="topics"]', ["red", "blue sky"]);
      const landed = await submit();
      assert.equal(landed.status(), 200);
      assert.equal(landed.url(), `${app.url}/-/created`);
      assert.equal(await page.textContent("h1"), "Thank you");
      const [redirect] = [landed.request().redirectedFrom()];
      assert.equal(redirect?.method(), "POST");
      assert.equal((await redirect?.response())?.status(), 303);
      const sent = {
        email: "zoe@example.com",
        message: "Hello,\r\n<b>you</b> & 100 % 😀",
        age: 42,
        price: 0.5,
        news: true,
        topics: ["red", "blue sky"],
        born: "2001-02-03",
        address: { city: "Zürich" },
      };
      assert.deepEqual(await stored("contact"), [sent]);
      await page.reload();
      assert.equal(await page.textContent("h1"), "Thank you");
      await page.goBack();
      await page.goForward();
      assert.equal(page.url(), `${app.url}/-/created`);
      assert.deepEqual(await stored("contact"), [sent]);
    },
  );

  check("omits fields that are left empty", async () => {
    const before = await stored("contact");
    await fill("contact", { email: "ann@example.com", message: "Hello" });
    assert.equal((await submit()).status(), 200);
    const plain = { email: "ann@example.com", message: "Hello", news: false };
    // In an object that the schema declares, an empty text is a text.
    assert.deepEqual(await stored("contact"), [...before, { ...plain, address: { city: "" } }]);
  });

  check("redirects as the collection defines", async () => {
    await fill("home", { email: "ann@example.com", message: "Hello" });
    assert.equal((await submit()).url(), `${siteUrl}/thanks`);
    assert.equal((await stored("home")).length, 1);
  });

  check("shows each error when it is rejected, and keeps the input for another try", async () => {
    const before = await stored("contact");
    await fill("contact", { email: "ann", message: "", age: "-3" });
    const rejected = await submit();
    assert.equal(rejected.status(), 400);
    assert.equal(rejected.url(), `${app.url}/contact`);
    const errors = await page.locator("li").allTextContents();
    assert.deepEqual(
      errors.map((error) => error.split(":")[0]).toSorted(),
      ["age", "email", "message"],
      errors.join("\n"),
    );
    assert.deepEqual(await stored("contact"), before);
    await page.goBack();
    assert.equal(await page.inputValue('[name="email"]'), "ann");
  });

  check("runs no script that was sent", async () => {
    await page.goto(`${siteUrl}/contact`);
    await page.locator('[name="age"]').evaluate((input: { name: string }) => {
      input.name = "<img src=x onerror=\"document.title='owned'\">";
    });
    const rejected = await submit();
    assert.equal(rejected.status(), 400);
    assert.equal(await page.title(), "Your input was not accepted");
    assert.equal(await page.locator("img, script").count(), 0);
  });

  check("stores nothing when a bot filled in the honeypot", async () => {
    const before = await stored("contact");
    await fill("contact", { email: "spam@example.com", message: "Buy" });
    await page.locator('[name="website"]').evaluate((input: { value: string }) => {
      input.value = "https://spam.example";
    });
    assert.equal((await submit()).url(), `${app.url}/-/created`);
    assert.deepEqual(await stored("contact"), before);
  });

  check("uploads files unchanged", async () => {
    const photo = randomBytes(300_000);
    const files = [
      { name: 'naïve "quote" 😀.png', mimeType: "image/png", buffer: photo },
      { name: "empty.txt", mimeType: "text/plain", buffer: Buffer.alloc(0) },
      { name: "a.csv", mimeType: "text/csv", buffer: Buffer.from("a,b\r\n1,2\r\n") },
    ];
    await fill("files", { email: "ann@example.com", message: "Look", age: "7" });
    await page.setInputFiles('[name="photo"]', files.slice(0, 1));
    await page.setInputFiles('[name="more"]', files.slice(1));
    assert.equal((await submit()).url(), `${app.url}/-/created`);
    const [said = {}] = await stored("files");
    assert.equal(said.age, 7);
    assert.equal(said.message, "Look");
    const shown = [said.photo, said.more].flat() as readonly Record<string, unknown>[];
    assert.deepEqual(
      shown.map(({ url, ...rest }) => rest),
      files.map(({ name, mimeType, buffer }) => ({
        ...{ name, type: mimeType, size: buffer.length },
        sha256: createHash("sha256").update(buffer).digest("hex"),
      })),
    );
    const bytes = await (await app.request(String(shown[0]?.url))).arrayBuffer();
    assert.ok(photo.equals(Buffer.from(bytes)));
    await page.reload();
    assert.equal((await stored("files")).length, 1);
  });

  check("has no file when none was chosen", async () => {
    await fill("files", { email: "bob@example.com", message: "Nothing" });
    assert.equal((await submit()).status(), 200);
    const said = (await stored("files")).at(-1) ?? {};
    assert.equal(said.email, "bob@example.com");
    assert.equal(said.photo, undefined);
    assert.equal(said.more, undefined);
  });

  check("may be sent by a script of the page, which can read the response", async () => {
    await page.goto(`${siteUrl}/contact`);
    const answer = await page.evaluate(async (url: string) => {
      const body = new URLSearchParams({ email: "fetch@example.com", message: "Hi", age: "7" });
      const response = await fetch(url, { method: "POST", body });
      const location = response.headers.get("location") ?? "";
      return { status: response.status, location, body: await response.text() };
    }, `${app.url}/contact`);
    // The page may create and not read, so it gets the address and no representation.
    assert.deepEqual([answer.status, answer.body], [201, ""]);
    assert.match(answer.location, /^\/contact\//);
    const { age } = await client.json<{ age: number }>(answer.location);
    assert.equal(age, 7);
  });
});
