// A walk through all that a grid can do, by keyboard alone and by pointer, on a desktop's and a phone's size, light and dark.
// @tier all

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import type { TestApp } from "../http/app.ts";
import {
  desktop,
  expectAccessible,
  expectNoSidewaysScroll,
  phone,
  skip,
  useConsole,
} from "./console.ts";

const names = ["desk-keys", "desk-mouse", "phone-keys", "phone-finger"] as const;
const people = [
  { name: "Ada", age: 36 },
  { name: "Bob", age: 9 },
  { name: "Cyd", age: 70 },
  { name: "Dan", age: 41 },
];

async function fill(app: TestApp): Promise<void> {
  for (const name of names) {
    const schema = { properties: { name: { type: "string" }, age: { type: "integer" } } };
    await app.request(`/-/collections/${name}`, {
      method: "PUT",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ schema, searchable: ["name"] }),
    });
    for (const person of people) await app.post(name, person);
  }
}

const cell = (page: Page, text: string) =>
  page.getByRole("gridcell", { name: text, exact: true }).first();
const hashIs = (page: Page, hash: string) =>
  page.waitForURL((url) => decodeURIComponent(url.hash) === hash);
const firstName = (page: Page, name: string) =>
  page.locator(".grid-body [role=row]").first().getByText(name, { exact: true }).waitFor();

/** Presses Tab until the element that is called so has the focus. */
async function tabTo(page: Page, role: string, name: string): Promise<void> {
  const wanted = page.getByRole(role as "button", { name, exact: true });
  for (let presses = 0; presses < 80; presses++) {
    if ((await wanted.and(page.locator(":focus")).count()) > 0) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`Tab does not lead to ${name}`);
}

/** What the walk does, by keys or by a pointer. */
interface InputDevice {
  filter(page: Page): Promise<void>;
  sortByAge(page: Page): Promise<void>;
  search(page: Page, text: string): Promise<void>;
  edit(page: Page, value: string): Promise<void>;
  select(page: Page): Promise<void>;
  press(page: Page, name: string): Promise<void>;
  fillField(page: Page): Promise<void>;
  exportCsv(page: Page): Promise<void>;
}

const keys: InputDevice = {
  async filter(page) {
    await page.keyboard.press("f");
    await page.locator("select:focus").waitFor();
    for (const key of ["a", "g", "e", "Tab"]) await page.keyboard.press(key);
    await page.keyboard.type("is at least");
    await page.keyboard.press("Tab");
    await page.keyboard.type("30");
    await page.keyboard.press("Enter");
  },
  async sortByAge(page) {
    await tabTo(page, "grid", page.url().split("/c/")[1]?.split("?")[0] ?? "");
    for (const key of ["ArrowUp", "End", "ArrowLeft", "Enter", "Enter"])
      await page.keyboard.press(key);
  },
  async search(page, text) {
    await page.keyboard.press("/");
    await page.keyboard.press("Control+a");
    await page.keyboard.press("Delete");
    await page.keyboard.type(text);
  },
  async edit(page, value) {
    await tabTo(page, "grid", page.url().split("/c/")[1]?.split("?")[0] ?? "");
    for (const key of ["Control+Home", "e", "Control+a"]) await page.keyboard.press(key);
    await page.keyboard.type(value);
    await page.keyboard.press("Enter");
  },
  async select(page) {
    await tabTo(page, "grid", page.url().split("/c/")[1]?.split("?")[0] ?? "");
    for (const key of ["Control+Home", "Space", "ArrowDown", "Space"])
      await page.keyboard.press(key);
  },
  async press(page, name) {
    await tabTo(page, "button", name);
    await page.keyboard.press("Enter");
  },
  async fillField(page) {
    await tabTo(page, "combobox", "Field");
    await page.keyboard.type("name");
    await page.keyboard.press("Tab");
    await page.keyboard.type("Zoe");
    await page.keyboard.press("Enter");
  },
  async exportCsv(page) {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").and(page.locator(":focus")).waitFor();
    await page.keyboard.type("export as csv");
    await page.keyboard.press("Enter");
  },
};

const pointer: InputDevice = {
  async filter(page) {
    await page.getByRole("button", { name: "Add filter" }).click();
    await page.getByLabel("Field").selectOption("age");
    await page.getByLabel("Condition").selectOption("gte");
    await page.getByLabel("Value").fill("30");
    await page.getByRole("button", { name: "Apply" }).click();
  },
  async sortByAge(page) {
    for (const _ of ["up", "down"])
      await page.getByRole("columnheader", { name: "age" }).click({ position: { x: 60, y: 15 } });
  },
  async search(page, text) {
    await page.getByLabel("Search", { exact: true }).fill(text);
  },
  async edit(page, value) {
    await cell(page, "70").dblclick();
    await page.getByLabel("age", { exact: true }).fill(value);
    await page.keyboard.press("Enter");
  },
  async select(page) {
    for (const name of ["Cyd", "Dan"])
      await page.getByRole("checkbox", { name: `Select ${name}` }).click();
  },
  async press(page, name) {
    await page.getByRole("button", { name, exact: true }).click();
  },
  async fillField(page) {
    await page.getByLabel("Field", { exact: true }).selectOption("name");
    await page.getByLabel("New value").fill("Zoe");
    await page.getByRole("button", { name: "Change 2 resources" }).click();
  },
  async exportCsv(page) {
    await page.getByRole("button", { name: "Export" }).click();
    await page.getByRole("menuitem", { name: /as CSV/ }).click();
  },
};

/** Finds, sorts and searches; edits; changes two; deletes and takes it back; exports; comes back to the view. */
async function walk(
  page: Page,
  app: TestApp,
  collection: string,
  device: InputDevice,
): Promise<void> {
  await cell(page, "Ada").waitFor();
  await device.filter(page);
  await hashIs(page, `#/c/${collection}?age[gte]=30`);
  await page.getByText("3 of 4 resources").waitFor();
  await device.sortByAge(page);
  await hashIs(page, `#/c/${collection}?age[gte]=30&sort=-age`);
  await firstName(page, "Cyd");
  await device.search(page, "dan");
  await page.getByText("1 of 4 resources").waitFor();
  await device.search(page, "");
  await hashIs(page, `#/c/${collection}?age[gte]=30&sort=-age`);
  await page.getByText("3 of 4 resources").waitFor();
  await device.edit(page, "71");
  await cell(page, "71").waitFor();
  await expectAccessible(page);
  await expectNoSidewaysScroll(page);
  await device.select(page);
  await page.getByText("2 selected").waitFor();
  await device.press(page, "Edit a field");
  await device.fillField(page);
  await page.getByText("Changed 2 resources.").waitFor();
  await device.press(page, "Delete");
  await page.getByText("2 resources will be deleted.").waitFor();
  await expectAccessible(page);
  const held = page.locator(".notice.held");
  if (device === keys) await page.keyboard.press("Control+z");
  else await held.getByRole("button", { name: "Undo" }).click();
  await held.waitFor({ state: "detached" });
  assert.equal(await app.total(collection), 4);
  const download = page.waitForEvent("download");
  await device.exportCsv(page);
  const saved = await readFile(await (await download).path(), "utf8");
  assert.match(saved, /^id,name,age,updatedAt\r\n[^,]+,Zoe,71,[^,]+\r\n[^,]+,Zoe,41,/);
  await page.reload();
  await firstName(page, "Zoe");
  await hashIs(page, `#/c/${collection}?age[gte]=30&sort=-age`);
}

describe("a walk through a grid", { skip }, () => {
  const test = useConsole(fill);
  const walks = [
    ["desk-keys", keys, desktop, "light"],
    ["desk-mouse", pointer, desktop, "dark"],
    ["phone-keys", keys, phone, "dark"],
    ["phone-finger", pointer, phone, "light"],
  ] as const;
  for (const [name, device, size, colorScheme] of walks)
    it(`${name}, ${colorScheme}`, async () => {
      const page = await test.open(`#/c/${name}`, { ...size, colorScheme, acceptDownloads: true });
      await walk(page, test.app, name, device);
      await page.context().close();
    });
});
