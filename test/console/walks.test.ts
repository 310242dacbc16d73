// Walks through the flows of the console, with the mouse and with the keyboard alone, each screen in light and dark.
// @tier all

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import { isLong } from "../seeds.ts";
import {
  desktop,
  expectAccessible,
  expectNoSidewaysScroll,
  phone,
  skip,
  useConsole,
} from "./console.ts";
import { type InputDevice, keyboard, mouse } from "./input-device.ts";

/** A short run has each device and each size once, a long run all of them. */
const walks = [
  { device: mouse, deviceName: "mouse", size: desktop, on: "desktop" },
  { device: keyboard, deviceName: "keyboard", size: phone, on: "phone" },
  ...(isLong
    ? [
        { device: mouse, deviceName: "mouse", size: phone, on: "phone" },
        { device: keyboard, deviceName: "keyboard", size: desktop, on: "desktop" },
      ]
    : []),
] as const;

const files = {
  csv: "Name,Age,Notes\nCyd,20,x\nDan,old,y\n",
  ndjson: '{"name":"Eve","age":30}\n{"name":"Fay","age":"old"}\n',
  json: '[{"name":"Gil","age":40},{"name":"Hal","age":"old"}]',
};

describe("walks through the console", { skip }, () => {
  const test = useConsole(async (app) => {
    const put = (path: string, body: object) =>
      app.request(path, {
        method: "PUT",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    const schema = { properties: { name: { type: "string" }, age: { type: "integer" } } };
    for (let n = 0; n < walks.length; n++) {
      await put(`/-/collections/people${n}`, { schema });
      await put(`/people${n}/ada`, { name: "Ada", age: 36 });
      await put(`/books${n}/one`, { title: "One", pages: 10 });
    }
    const lines = Array.from({ length: 1_200 }, (_, n) => `{"f${n % 4}":${n}}\n`).join("");
    await app.request("/orders", {
      method: "POST",
      headers: { "content-type": "application/x-ndjson", prefer: "return=minimal" },
      body: lines,
    });
    for (let n = 0; n < walks.length; n++) await (await app.request(`/orders?f${n}=1`)).text();
  });

  /** The screen as it is now, in both schemes. */
  async function look(page: Page): Promise<void> {
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))");
      await expectAccessible(page);
    }
    await expectNoSidewaysScroll(page);
  }
  const button = (page: Page, name: string | RegExp) =>
    page.getByRole("button", { name, exact: typeof name === "string" });
  const go = async (page: Page, address: string): Promise<void> => {
    await page.evaluate(`location.hash = ${JSON.stringify(address)}`);
  };

  for (const [n, { device, deviceName, size, on }] of walks.entries()) {
    const start = async (address: string): Promise<{ page: Page; me: InputDevice }> => {
      const page = await test.open(address, size);
      return { page, me: device(page) };
    };
    const people = `people${n}`;

    it(`changes a resource with the ${deviceName} on a ${on}`, async () => {
      const { page, me } = await start(`#/c/${people}/-/new`);
      const panel = page.locator(".resource");
      await panel.getByRole("textbox", { name: "name" }).waitFor();
      await look(page);
      await me.type(panel.getByRole("textbox", { name: "name" }), "Bob");
      await me.press(panel.getByRole("button", { name: "Create", exact: true }));
      await panel.getByRole("heading", { name: "Bob" }).waitFor();
      const id = page.url().split("/").at(-1);
      await test.app.request(`/${people}/${id}`, {
        method: "PATCH",
        headers: { "content-type": "application/merge-patch+json" },
        body: '{"name":"Their Bob"}',
      });
      await me.type(panel.getByRole("textbox", { name: "name" }), "My Bob");
      await me.press(panel.getByRole("button", { name: "Save", exact: true }));
      const dialog = page.getByRole("dialog");
      await dialog.getByText("both changed").waitFor();
      await look(page);
      await me.press(dialog.getByRole("button", { name: "Save the chosen version" }));
      await page.getByText("Saved.", { exact: true }).waitFor();
      await panel.getByRole("heading", { name: "My Bob" }).waitFor();
      await me.press(panel.getByRole("button", { name: "More for this resource" }));
      await page.getByRole("menuitem", { name: "Delete" }).waitFor();
      await look(page);
      if (deviceName === "mouse") await page.getByRole("menuitem", { name: "Delete" }).click();
      else {
        await page.keyboard.press("ArrowUp");
        await page.keyboard.press("Enter");
      }
      await page.getByText("My Bob will be deleted.").waitFor();
      const held = page.locator(".notice").filter({ hasText: "My Bob will be deleted." });
      await me.press(held.getByRole("button", { name: "Undo" }));
      await panel.getByRole("heading", { name: "My Bob" }).waitFor();
      await go(page, `#/c/${people}/${id}/files`);
      await me.dropFile(
        panel.locator(".file-drop"),
        panel.getByRole("button", { name: "Choose files" }),
        {
          ...{ name: "note.txt", mimeType: "text/plain", buffer: Buffer.from("a note") },
        },
      );
      await panel.locator(".file").getByTitle("note.txt").waitFor();
      await look(page);
      await page.context().close();
    });

    it(`imports files with the ${deviceName} on a ${on}`, async () => {
      const { page, me } = await start(`#/c/${people}/-/import`);
      for (const [format, text] of Object.entries(files)) {
        const file = {
          name: `people.${format}`,
          mimeType: "text/plain",
          buffer: Buffer.from(text),
        };
        await me.dropFile(page.locator(".drop"), page.locator(".drop input"), file);
        await button(page, "Try without writing").waitFor();
        if (format === "csv") await me.press(page.getByLabel("Import Notes"));
        await me.press(button(page, "Try without writing"));
        await page
          .getByText("2 records: 1 would be created, 0 would be replaced, 1 rejected.")
          .waitFor();
        if (format === "csv") await look(page);
        await me.press(button(page, "Import"));
        await page.getByText("2 records: 1 created, 0 replaced, 1 rejected.").waitFor();
        await me.press(button(page, "Choose another file"));
        await page.locator(".drop").waitFor();
      }
      await page.context().close();
    });

    it(`designs, tries rules and operates with the ${deviceName} on a ${on}`, async () => {
      const { page, me } = await start(`#/c/books${n}/-/definition`);
      await me.press(button(page, /^Suggest a schema/));
      await me.press(page.getByLabel("pages is required"));
      await me.press(button(page, "Check what would no longer fit"));
      await page.getByText("All resources fit this definition.").waitFor();
      await look(page);
      await me.press(button(page, "Save"));
      await page.getByText(`Saved the definition of books${n}.`).waitFor();
      await go(page, `#/c/books${n}/-/rules`);
      await me.type(page.getByLabel("Subject"), "ann");
      await me.choose(page.getByLabel("Wants to"), "delete");
      await me.type(page.getByLabel("Resource"), "one");
      await me.press(button(page, "Try"));
      await page.getByRole("heading", { name: "Not allowed" }).waitFor();
      await look(page);
      await go(page, "#/tokens");
      await me.press(button(page, "New token"));
      const dialog = page.getByRole("dialog");
      await me.type(dialog.getByLabel("Name"), `walker ${n}`);
      await me.press(dialog.getByRole("checkbox", { name: "metrics" }));
      await look(page);
      await me.press(button(page, "Create the token"));
      await page.getByLabel("Secret").waitFor();
      await me.press(button(page, "Done"));
      await me.press(page.getByRole("row", { name: `walker ${n}` }).getByRole("button"));
      await me.press(button(page, `Revoke “walker ${n}”`));
      await page.getByText(`Revoked “walker ${n}”.`).waitFor();
      await go(page, "#/queries");
      await me.press(button(page, `Add the index on f${n}`));
      await page.getByText(`The index on f${n} is there.`).waitFor();
      await look(page);
      const orders = await test.app.request("/-/collections/orders/definition");
      const { indexed } = (await orders.json()) as { indexed: readonly string[] };
      assert.ok(indexed.includes(`f${n}`));
      await page.context().close();
    });
  }
});
