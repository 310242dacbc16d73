// Opens the console in a real browser, and fails on what a person would never see: errors, CSP violations, axe violations.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, afterEach, before } from "node:test";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import type { Config } from "../../src/server/config.ts";
import { startApp, type TestApp } from "../http/app.ts";
import { findChromium, patienceMs, startChromium } from "../http/chromium.ts";
import { isShort } from "../short-run.ts";

const program = findChromium();

/** For `describe`: why the tests are skipped, or false. */
export const skip = program === undefined && "CHROMIUM MISSING: no browser opened the console";
if (skip) console.error(`\n  ${skip}\n`);

export const phone = { viewport: { width: 390, height: 844 }, hasTouch: true } as const;
export const desktop = { viewport: { width: 1280, height: 800 } } as const;

interface Look extends BrowserContextOptions {
  readonly name: string;
  readonly size: "phone" | "desktop";
}

const look = (size: Look["size"], colorScheme: "light" | "dark"): Look => ({
  ...{ ...(size === "phone" ? phone : desktop), colorScheme },
  ...{ size, name: `a ${size}, ${colorScheme}` },
});

/** One of the four in a short run, whose other tests have a desktop in light colours. */
export const looks: readonly Look[] = [
  look("phone", "dark"),
  ...(isShort ? [] : [look("desktop", "light"), look("desktop", "dark"), look("phone", "light")]),
];

export interface ConsoleTest {
  readonly app: TestApp;
  /** Opens the console at an address such as `#/c/people`, signed in as the administrator; a whole URL is another server's. */
  open(address?: string, options?: OpenOptions): Promise<Page>;
}

export interface OpenOptions extends BrowserContextOptions {
  /** Null for a visit before anyone has signed in. */
  readonly token?: string | null;
}

/** Starts a server and a browser for the tests of one `describe`. */
export function useConsole(
  fill?: (app: TestApp) => Promise<void>,
  settings: Partial<Config> = {},
): ConsoleTest {
  let app: TestApp | undefined;
  const openPage = useBrowser();
  before(async () => {
    app = await startApp(settings);
    await fill?.(app);
  });
  after(async () => app?.stop());
  const running = (): TestApp => app ?? assert.fail("the server has not started");
  return {
    get app() {
      return running();
    },
    open: (address = "", { token = running().admin, ...options } = {}) =>
      openPage(new URL(address, `${running().url}/-/console`).href, { token, ...options }),
  };
}

/** The files of a short run share a process and this browser, which ends with the process. */
let shared: Promise<Browser> | undefined;

/** Starts a browser. Returns a function that opens a page at a URL. */
export function useBrowser(): (url: string, options: OpenOptions) => Promise<Page> {
  let browser: Browser | undefined;
  const contexts: BrowserContext[] = [];
  const faults: string[] = [];
  before(async () => {
    if (isShort) shared ??= startChromium(program ?? "");
    browser = await (shared ?? startChromium(program ?? ""));
  });
  // A page that stays open goes on asking the server.
  afterEach(async () => {
    await Promise.all(contexts.splice(0).map((context) => context.close()));
  });
  after(async () => {
    if (shared === undefined) await browser?.close();
    assert.deepEqual(faults, [], "the console must cause no error in the browser");
  });
  return async (url, { token, ...options }) => {
    const context = await browser?.newContext({ ...desktop, ...options });
    if (context === undefined) assert.fail("the browser has not started");
    contexts.push(context);
    context.setDefaultTimeout(patienceMs);
    const page = await context.newPage();
    page.on("pageerror", (error) => faults.push(error.message));
    page.on("console", (message) => {
      if (message.type() === "error" && !isAnswer(message.text())) faults.push(message.text());
    });
    if (token)
      await page.addInitScript(
        `sessionStorage.setItem("restante.token", ${JSON.stringify(token)})`,
      );
    await page.goto(url);
    return page;
  };
}

/** The browser logs every answer of 400 and more, which tests cause on purpose. */
const isAnswer = (text: string): boolean => text.startsWith("Failed to load resource");

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Without the details of what is well, and without selectors, it takes half of the time. */
const axeOptions = {
  resultTypes: ["violations"],
  preload: false,
  selectors: false,
  iframes: false,
};

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
  }[];
}

/** What axe has seen in a short run. */
const seen = new Set<string>();

/** An address in one width, with and without a dialog. */
async function isSeen(page: Page): Promise<boolean> {
  const dialogs = await page.getByRole("dialog").count();
  const [address] = new URL(page.url()).hash.split("?");
  const view = `${page.viewportSize()?.width} ${address} ${dialogs}`;
  return seen.size === seen.add(view).size;
}

/** Expects no violation of WCAG 2.2 AA on the page as it is now. A short run looks once at each address. */
export async function expectAccessible(page: Page): Promise<void> {
  if (!isShort || !(await isSeen(page))) assert.deepEqual(await violationsOn(page), []);
}

/** Returns each violation of WCAG 2.2 AA on the page as it is now. */
export async function violationsOn(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe);
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const { violations } = (await page.evaluate(
    `axe.run({ runOnly: ${JSON.stringify(tags)}, ...${JSON.stringify(axeOptions)} })`,
  )) as AxeResults;
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  );
}

/** Expects that nothing is wider than the window. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const [content, window] = (await page.evaluate(
    "[document.documentElement.scrollWidth, innerWidth]",
  )) as [number, number];
  assert.ok(content <= window, `the page is ${content} pixels wide in a window of ${window}`);
}

/** Replaces the text of a JSON editor by keys. So the editor changes it, not the browser, which may add styles of its own. */
export async function writeJson(page: Page, label: string, text: string): Promise<void> {
  await page.getByRole("textbox", { name: label }).focus();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText(text);
}
