// Builds an example with the packed package, as a new user does, and opens it in a real browser.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { after, before, it } from "node:test";
import { fileURLToPath } from "node:url";
import type { Browser, Locator, Page } from "playwright-core";
import type { Client } from "../../client/index.ts";
import { findChromium, patienceMs, startChromium } from "../http/chromium.ts";
import { install, packInto } from "../npm-package.ts";
import { fillShop, picture, startShop, type TestShop } from "./shop.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

const chromium = findChromium();

/** For `describe`: why the tests are skipped, or false. */
export const skip =
  "bun" in process.versions
    ? "once is enough: it runs under Node"
    : chromium === undefined && "CHROMIUM MISSING: no browser opened the example";

export interface Example {
  readonly client: Client;
  readonly admin: string;
  readonly page: Page;
  /** A test. One page is used from the first to the last, as a person does. */
  screen(name: string, act: () => Promise<void>): void;
  /** Goes to an address of the app. */
  go(path: string): Promise<void>;
  button(name: string | RegExp): Locator;
  /** Waits until a text is there. */
  shown(text: string | RegExp): Promise<void>;
  /** Waits until the elements have these texts. */
  expectTexts(selector: string, expected: readonly string[]): Promise<void>;
}

/** Starts the shop, the example and a browser for the tests of one `describe`. */
export function useExample(name: string): Example {
  let browser: Browser | undefined;
  const faults: string[] = [];
  let shop: TestShop | undefined;
  let app: ExampleApp | string | undefined;
  let page: Page | undefined;
  let isBroken = false;
  before(async () => {
    shop = await startShop();
    await fillShop(shop.client);
    app = await startExample(name, shop.app.url);
    browser = await startChromium(chromium ?? "");
    page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    page.setDefaultTimeout(patienceMs);
    page.on("pageerror", (error) => faults.push(error.message));
    if (typeof app === "object") await page.goto(app.url);
  });
  after(async () => {
    await browser?.close();
    if (typeof app === "object") await app.stop();
    await shop?.app.stop();
    assert.deepEqual(faults, [], "the example must cause no error in the browser");
  });
  const started = (): Page => page ?? assert.fail("the page is not open");
  return {
    get client() {
      return shop?.client ?? assert.fail("the shop has not started");
    },
    get admin() {
      return shop?.app.admin ?? "";
    },
    get page() {
      return started();
    },
    screen: (title, act) =>
      it(title, async (test) => {
        if (typeof app !== "object") return test.skip(app);
        assert.ok(!isBroken, "an earlier screen has failed");
        isBroken = true;
        await act();
        isBroken = false;
      }),
    async go(path) {
      await started().evaluate(`location.hash = ${JSON.stringify(`#/${path}`)}`);
    },
    button: (text) => started().getByRole("button", { name: text, exact: true }),
    shown: (text) => started().getByText(text).first().waitFor(),
    async expectTexts(selector, expected) {
      const wanted = JSON.stringify(JSON.stringify(expected));
      const find = `[...document.querySelectorAll(${JSON.stringify(selector)})]`;
      await started()
        .waitForFunction(`JSON.stringify(${find}.map((one) => one.innerText)) === ${wanted}`)
        .catch(async () =>
          assert.deepEqual(await started().locator(selector).allInnerTexts(), expected),
        );
    },
  };
}

/** A picture as Playwright takes it. */
export const pictureFile = async (name: string) => ({
  ...{ name, mimeType: "image/gif", buffer: Buffer.from(await picture(name).arrayBuffer()) },
});

interface ExampleApp {
  readonly url: string;
  stop(): Promise<void>;
}

/** Returns why it cannot be tested when the registry is out of reach. */
async function startExample(name: string, api: string): Promise<ExampleApp | string> {
  const folder = await mkdtemp(join(tmpdir(), `restante-${name}-`));
  await cp(join(root, "examples", name), folder, { recursive: true });
  // Its package.json names the file.
  packInto(folder, "restante-client");
  const reason = install(folder);
  if (reason) return reason;
  const env = { ...process.env, VITE_API: api };
  for (const args of [["tsc"], ["vite", "build", "--logLevel", "error"]]) {
    const [program = "", ...rest] = args;
    const bin = join(folder, "node_modules/.bin", program);
    const built = spawnSync(process.execPath, [bin, ...rest], {
      cwd: folder,
      env,
      encoding: "utf8",
    });
    assert.equal(built.status, 0, `${args.join(" ")}: ${built.stdout}${built.stderr}`);
  }
  return serve(folder);
}

const types: Readonly<Record<string, string>> = {
  ...{ ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css" },
};

async function serve(folder: string): Promise<ExampleApp> {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://x");
    const path = pathname === "/" ? "/index.html" : pathname;
    const bytes = await readFile(join(folder, "dist", path)).catch(() => undefined);
    const type = types[extname(path)] ?? "application/octet-stream";
    response.writeHead(bytes === undefined ? 404 : 200, { "Content-Type": type }).end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
