// The console in a real browser: what the first load takes, and a jump to another place of a long list.

import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { findChromium, startChromium } from "../../test/http/chromium.ts";
import { engines, engineTitles } from "../data/stores.ts";
import { bar } from "../progress.ts";
import { median } from "../report/figures.ts";
import { bun, root, run } from "../servers/processes.ts";
import type { Setting } from "./setting.ts";

export interface ConsoleFigures {
  readonly resources: number;
  readonly lines: readonly ConsoleLine[];
}

export interface ConsoleLine {
  readonly engine: string;
  /** What the server sends before the first rows are shown, compressed. */
  readonly loadedBytes: number;
  readonly requests: number;
  /** From the start of the navigation until the first rows are shown and the page is idle. */
  readonly interactiveMs: number;
  readonly jump: Turns;
  readonly pageDown: Turns;
}

export interface Turns {
  readonly medianMs: number;
  readonly p95Ms: number;
  /** Of it, until the answer of the server has come. */
  readonly requestMs: number;
}

const loads = 7;
const turns = 40;
const viewport = { width: 1280, height: 800 };

export async function measureConsole({ stores, secret, sizes }: Setting): Promise<ConsoleFigures> {
  const program = findChromium();
  if (program === undefined) throw new Error("Chromium is not installed.");
  await run({ command: bun, args: [join(root, "scripts", "console.js")] }, 60);
  const browser = await startChromium(program);
  const lines: ConsoleLine[] = [];
  try {
    for (const engine of engines) {
      const server = await stores.start(await stores.members(engine, sizes.big));
      try {
        const url = `${server.origin}/-/console#/c/members`;
        lines.push({ engine: engineTitles[engine], ...(await measure(browser, url, secret)) });
      } finally {
        await server.stop();
      }
    }
  } finally {
    await browser.close();
  }
  return { resources: sizes.big, lines };
}

async function measure(
  browser: Browser,
  url: string,
  secret: string,
): Promise<Omit<ConsoleLine, "engine">> {
  const show = bar("first loads of the console", loads + 1);
  const found: Load[] = [];
  // The first one opens the files of the server.
  for (let count = 0; count <= loads; count++) {
    found.push(await load(browser, url, secret));
    show(count + 1);
  }
  const page = await open(browser, url, secret);
  const jump = (await page.evaluate(`(${turn})(${turns}, "jump")`)) as readonly Turn[];
  const pageDown = (await page.evaluate(`(${turn})(${turns}, "page")`)) as readonly Turn[];
  await page.context().close();
  const measured = found.slice(1);
  return {
    loadedBytes: Math.max(...measured.map(({ bytes }) => bytes)),
    requests: Math.max(...measured.map(({ requests }) => requests)),
    interactiveMs: median(measured.map(({ ms }) => ms)),
    jump: turnsOf(jump),
    pageDown: turnsOf(pageDown),
  };
}

interface Load {
  readonly bytes: number;
  readonly requests: number;
  readonly ms: number;
}

/** A browser context of its own, so that nothing is cached. */
async function load(browser: Browser, url: string, secret: string): Promise<Load> {
  const page = await open(browser, url, secret);
  const sent = (await page.evaluate(transfers)) as Omit<Load, "ms">;
  const ms = await page.evaluate<number>("rowsShown");
  await page.context().close();
  return { ...sent, ms };
}

async function open(browser: Browser, url: string, secret: string): Promise<Page> {
  const context = await browser.newContext({ viewport });
  const page = await context.newPage();
  await page.addInitScript(`sessionStorage.setItem("restante.token", ${JSON.stringify(secret)})`);
  await page.addInitScript(watchFirstRows);
  await page.goto(url);
  await page.evaluate("rowsShown");
  return page;
}

/** Notes when the first rows are on the screen, and the page can answer a key. */
const watchFirstRows = `
  globalThis.rowsShown = new Promise((done) => {
    const look = () => {
      const isShown = document.querySelector("[role=grid] [role=gridcell]") !== null
        && document.querySelector("[role=grid] [aria-busy]") === null;
      if (isShown) setTimeout(() => done(performance.now()));
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
`;

/** What was transferred until then, the page itself included. */
const transfers = `(async () => {
  const shownAt = await rowsShown;
  const [page] = performance.getEntriesByType("navigation");
  const sent = [page, ...performance.getEntriesByType("resource")]
    .filter(({ responseEnd }) => responseEnd <= shownAt);
  return {
    bytes: sent.reduce((sum, { transferSize }) => sum + transferSize, 0),
    requests: sent.length,
  };
})()`;

interface Turn {
  readonly ms: number;
  readonly requestMs: number;
}

/** Goes to another place, at random or by a key, and waits until all its rows are painted. Some time between, as a person takes it. */
const turn = `async (count, kind) => {
  const grid = document.querySelector("[role=grid]");
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  const painted = () => new Promise((done) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => done(performance.now());
    port2.postMessage(0);
  }));
  const place = () => grid.querySelector(".grid-body [role=row]")?.getAttribute("aria-rowindex")
    + " " + grid.getAttribute("aria-activedescendant");
  const found = [];
  grid.focus();
  for (let done = 0; done < count; done++) {
    await pause(300);
    const before = place();
    const start = performance.now();
    performance.clearResourceTimings();
    if (kind === "jump") grid.scrollTop = Math.random() * (grid.scrollHeight - grid.clientHeight);
    else grid.dispatchEvent(new KeyboardEvent("keydown", { key: "PageDown", bubbles: true }));
    let end = await painted();
    while (place() === before || grid.querySelector("[aria-busy]")) end = await painted();
    const answered = performance.getEntriesByType("resource").map(({ responseEnd }) => responseEnd);
    found.push({ ms: end - start, requestMs: Math.max(start, ...answered) - start });
  }
  return found;
}`;

function turnsOf(turns: readonly Turn[]): Turns {
  const times = turns.map(({ ms }) => ms).sort((a, b) => a - b);
  return {
    medianMs: median(times),
    p95Ms: times[Math.floor(0.95 * times.length)] ?? Number.NaN,
    requestMs: median(turns.map(({ requestMs }) => requestMs)),
  };
}
