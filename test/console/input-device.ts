// Two ways through the console: with the mouse, and with the keyboard alone.

import assert from "node:assert/strict";
import type { Locator, Page } from "playwright-core";

export interface SentFile {
  readonly name: string;
  readonly mimeType: string;
  readonly buffer: Buffer;
}

/** What a person does, with one input device. */
export interface InputDevice {
  /** A button, a link, a box or a tab. */
  press(target: Locator): Promise<void>;
  type(target: Locator, text: string): Promise<void>;
  choose(target: Locator, option: string): Promise<void>;
  /** Puts a file into a place that takes dropped ones. */
  dropFile(place: Locator, opener: Locator, file: SentFile): Promise<void>;
}

/** On a phone a message may lie over a button, so it is closed first. */
async function closeMessages(page: Page): Promise<void> {
  const close = page.getByRole("button", { name: "Close this message" });
  while ((await close.count()) > 0)
    await close
      .first()
      .click({ timeout: 2_000 })
      // It may go by itself.
      .catch(() => undefined);
}

export const mouse = (page: Page): InputDevice => ({
  async press(target) {
    if ((page.viewportSize()?.width ?? 0) < 760) await closeMessages(page);
    await target.click();
  },
  type: (target, text) => target.fill(text),
  choose: async (target, option) => void (await target.selectOption(option)),
  async dropFile(place, _opener, { name, mimeType, buffer }) {
    const source = JSON.stringify([buffer.toString("utf8"), name, mimeType]);
    const dataTransfer = await page.evaluateHandle(`(() => {
      const [text, name, type] = ${source};
      const data = new DataTransfer();
      data.items.add(new File([text], name, { type }));
      return data;
    })()`);
    await place.dispatchEvent("dragover", { dataTransfer });
    await place.dispatchEvent("drop", { dataTransfer });
  },
});

const mostTabs = 120;

interface Matching {
  matches(selector: string): boolean;
}

const matches = (target: Locator, selector: string): Promise<boolean> =>
  target.evaluate((element, one) => (element as unknown as Matching).matches(one), selector);

/** Goes on with Tab until the target has the focus. */
async function reach(page: Page, target: Locator): Promise<void> {
  await target.waitFor({ state: "attached" });
  for (let count = 0; count < mostTabs; count++) {
    const hasFocus = await matches(target, ":focus");
    if (hasFocus) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`${target} is not reached by the Tab key`);
}

export function keyboard(page: Page): InputDevice {
  // From now on the browser tells of choosers instead of opening them.
  page.on("filechooser", () => {});
  return {
    async press(target) {
      await reach(page, target);
      const isBox = await matches(target, "[type=checkbox]");
      await page.keyboard.press(isBox ? "Space" : "Enter");
    },
    async type(target, text) {
      await reach(page, target);
      await page.keyboard.press("Control+a");
      await page.keyboard.insertText(text);
    },
    async choose(target, option) {
      await reach(page, target);
      await page.keyboard.type(option);
    },
    async dropFile(_place, opener, file) {
      await reach(page, opener);
      const isInput = await matches(opener, "input");
      const [chooser] = await Promise.all([
        page.waitForEvent("filechooser"),
        page.keyboard.press(isInput ? "Space" : "Enter"),
      ]);
      await chooser.setFiles(file);
    },
  };
}
