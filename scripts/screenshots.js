// Takes the pictures in docs/screenshots from a server with a demo shop: bun scripts/screenshots.js
// It needs Chromium, and takes half a minute.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findChromium, startChromium } from "../test/http/chromium.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = join(root, "docs/screenshots");
const main = join(root, "src/main.ts");
const desktop = { width: 1280, height: 800 };
const phone = { width: 390, height: 844 };

/** By name: the address, what to wait for, and how the browser is set. */
const pictures = {
  grid: { address: "#/c/orders?status=paid&sort=-total", text: "placedAt" },
  resource: { address: "#/c/products/oak-mug", text: "Save and next", colorScheme: "dark" },
  definition: { address: "#/c/products/-/definition", text: "Searchable" },
  charts: {
    address: "#/c/orders/-/charts?aggregate=sum(total)&by=month(placedAt)",
    text: "Charts of orders",
    waitMs: 1_500,
  },
  requests: { address: "#/requests", text: "p99", waitMs: 9_000 },
  api: { address: "#/docs", text: "Choose one to read" },
  phone: { address: "#/c/products", text: "New resource", viewport: phone, colorScheme: "dark" },
};

const data = mkdtempSync(join(tmpdir(), "restante-screenshots-"));
const server = spawn(process.execPath, [main, "serve", "--data", data, "--port", "0"], {
  stdio: ["ignore", "pipe", "inherit"],
});
try {
  const [line] = await once(server.stdout, "data");
  const { url } = JSON.parse(String(line).split("\n", 1)[0]);
  const demo = ["demo", "--data", data, "--orders", "20000"];
  if (spawnSync(process.execPath, [main, ...demo], { stdio: "inherit" }).status !== 0)
    throw new Error("the demo shop was not filled");
  const token = readFileSync(join(data, "admin-token"), "utf8").trim();
  await takeAll(url, token);
} finally {
  server.kill();
  await once(server, "exit");
  rmSync(data, { recursive: true, force: true });
}

async function takeAll(url, token) {
  mkdirSync(folder, { recursive: true });
  const program = findChromium();
  if (program === undefined) throw new Error("Chromium is missing");
  const browser = await startChromium(program);
  for (const [name, picture] of Object.entries(pictures))
    await take(browser, name, picture, url, token);
  await browser.close();
}

async function take(browser, name, picture, url, token) {
  const { address, text, waitMs = 500, viewport = desktop, colorScheme = "light" } = picture;
  const page = await browser.newPage({ viewport, colorScheme, timezoneId: "UTC", locale: "en" });
  await page.addInitScript(`sessionStorage.setItem("restante.token", ${JSON.stringify(token)})`);
  await page.goto(`${url}/-/console${address}`);
  await page.getByText(text).first().waitFor();
  await page.waitForTimeout(waitMs);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  await page.close();
}
