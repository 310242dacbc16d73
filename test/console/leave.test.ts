// Deletions that are held back in the console: what is said of them, and that they are sent when the page is left.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import { itLong } from "../short-run.ts";
import { skip, useConsole } from "./console.ts";

/** One more than what is sent when the page is left. */
const many = 201;
const people = ["ada", "bob", "cyd", "dan", "eve", "fay", "gus"];
const linesOf = (list: readonly object[]): string =>
  list.map((one) => JSON.stringify(one)).join("\n");

describe("a deletion that is held back", { skip }, () => {
  const test = useConsole(async (app) => {
    const send = (path: string, body: string) =>
      app.request(path, {
        method: "POST",
        headers: { "Content-Type": "application/x-ndjson" },
        body,
      });
    await send("/logs", linesOf(Array.from({ length: many }, (_, number) => ({ number }))));
    for (const id of people) {
      const headers = { "Content-Type": "application/json" };
      await app.request(`/people/${id}`, { method: "PUT", headers, body: `{"name":"${id}"}` });
    }
    for (const name of ["note", "page"]) {
      const disposition = `attachment; filename=${name}`;
      const headers = { "Content-Type": "text/plain", "Content-Disposition": disposition };
      await app.request(`/people/gus/${name}`, { method: "PUT", headers, body: "some text" });
    }
  });

  const remove = async (page: Page, id: string): Promise<void> => {
    await page.evaluate(`location.hash = "#/c/people/${id}"`);
    await page.locator(".resource").getByRole("heading", { name: id }).waitFor();
    await page.getByRole("button", { name: "More for this resource" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await page.getByText(`${id} will be deleted.`).waitFor();
  };
  const removeFile = async (page: Page, name: string): Promise<void> => {
    await page.evaluate('location.hash = "#/c/people/gus/files"');
    await page.getByRole("button", { name: `Remove ${name}` }).click();
    await page.getByText(`${name} will be removed.`).waitFor();
  };
  const removeSelected = async (page: Page, ...names: readonly string[]): Promise<void> => {
    await page.evaluate('location.hash = "#/c/people"');
    for (const name of names) await page.getByRole("checkbox", { name: `Select ${name}` }).click();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByText(`${names.length} resources will be deleted.`).waitFor();
  };
  const left = async (): Promise<readonly string[]> => {
    const { data } = (await (await test.app.request("/people?sort=name")).json()) as {
      data: readonly { name: string }[];
    };
    return data.map(({ name }) => name);
  };
  /** Reads until it is so: nothing tells what a closed page has sent. */
  const until = async (isSo: () => Promise<boolean>): Promise<void> => {
    while (!(await isSo()));
  };
  const files = async (): Promise<readonly string[]> => {
    const gus = (await (await test.app.request("/people/gus")).json()) as object;
    return ["note", "page"].filter((name) => Object.hasOwn(gus, name));
  };

  it("is sent when the tab is closed, and so are all others", async () => {
    const page = await test.open("#/c/people");
    await remove(page, "ada");
    await removeFile(page, "note");
    await removeSelected(page, "bob", "cyd");
    assert.deepEqual([await left(), await files()], [people, ["note", "page"]]);
    await page.close();
    await until(async () => (await left()).length === 4);
    await until(async () => (await files()).length === 1);
    assert.deepEqual([await left(), await files()], [["dan", "eve", "fay", "gus"], ["page"]]);
  });

  it("is sent once, also by a page that comes back, which says what came of it", async () => {
    const page = await test.open("#/c/people");
    const sent: string[] = [];
    page.on("request", (request) => {
      if (request.method() === "DELETE") sent.push(new URL(request.url()).pathname);
    });
    await remove(page, "dan");
    await removeSelected(page, "eve", "fay");
    // Someone else is faster: what nobody has seen is not deleted.
    await test.app.request("/people/fay", {
      ...{ method: "PATCH", headers: { "Content-Type": "application/merge-patch+json" } },
      body: '{"age":3}',
    });
    const leave = "dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))";
    await page.evaluate(leave);
    assert.equal(await page.getByRole("button", { name: "Undo" }).count(), 0);
    await page.getByText("Deleted dan.").waitFor();
    await page.getByText("Deleted 1 of 2 resources.").waitFor();
    await page.getByRole("dialog", { name: "1 resource could not be changed" }).waitFor();
    await page.evaluate(leave);
    assert.deepEqual(sent.sort(), ["/people/dan", "/people/eve", "/people/fay"]);
    assert.deepEqual(await left(), ["fay", "gus"]);
    await page.context().close();
  });

  it("is sent when somebody signs out", async () => {
    const page = await test.open("#/c/people");
    await remove(page, "fay");
    await page.getByRole("button", { name: "Sign out" }).click();
    await until(async () => (await left()).length === 1);
    await page.context().close();
  });

  itLong("is kept when it is too long to be sent then, and the browser asks before", async () => {
    const page = await test.open("#/c/logs");
    await page.getByRole("gridcell", { name: "0", exact: true }).waitFor();
    await page.getByRole("grid").focus();
    await page.keyboard.press("Control+a");
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByText(`${many} resources will be deleted.`).waitFor();
    const isAsked = await page.evaluate(
      "!dispatchEvent(new Event('beforeunload', { cancelable: true }))",
    );
    assert.equal(isAsked, true);
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))");
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByRole("button", { name: "Undo" }).waitFor({ state: "detached" });
    assert.equal(await test.app.total("logs"), many);
    await page.context().close();
  });
});
