// Work that goes on: from one resource to the next, indexes that are being built, and a certificate that expires.
// @tier all

import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { newSecret } from "../../src/model/secret.ts";
import { certificateFolder, makeCertificate } from "../certificates.ts";
import { holdBuilds, releaseBuilds } from "../held-builds.ts";
import { start } from "../process.ts";
import { itLong } from "../short-run.ts";
import { expectAccessible, phone, skip, useConsole, writeJson } from "./console.ts";

const data = mkdtempSync(join(tmpdir(), "restante-"));
after(() => rm(data, { recursive: true }));

const hold = (): void => holdBuilds(data);
const release = (): void => releaseBuilds(data);

describe("work that goes on in the console", { skip }, () => {
  const test = useConsole(
    async (app) => {
      const names = ["ada", "bob", "cyd"];
      for (const name of names)
        await app.request(`/people/${name}`, {
          method: "PUT",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ name, age: 1 }),
        });
      const lines = Array.from({ length: 1_200 }, (_, n) => `{"n":${n},"kind":"k${n % 7}"}\n`);
      await app.request("/orders", {
        method: "POST",
        headers: { "content-type": "application/x-ndjson", prefer: "return=minimal" },
        body: lines.join(""),
      });
      await (await app.request("/orders?kind=k3")).text();
    },
    { data },
  );
  const panel = (page: Page) => page.locator(".resource");
  const heading = (page: Page, name: string) => panel(page).getByRole("heading", { name });
  const age = (page: Page) => panel(page).getByRole("textbox", { name: "age" });
  const ages = async (): Promise<unknown> => {
    const list = (await (await test.app.request("/people?fields=age")).json()) as {
      data: readonly { age: number }[];
    };
    return list.data.map((one) => one.age);
  };

  it("goes to the next and the previous resource, by mouse", async () => {
    const page = await test.open("#/c/people/ada");
    const button = (name: string) => panel(page).getByRole("button", { name, exact: true });
    await button("Next resource").waitFor();
    assert.equal(await button("Previous resource").isDisabled(), true);
    await button("Next resource").click();
    await heading(page, "bob").waitFor();
    await button("Previous resource").click();
    await heading(page, "ada").waitFor();
    await age(page).fill("2");
    await button("Next resource").click();
    await page.getByRole("dialog").getByRole("button", { name: "Stay" }).click();
    await button("Save and next").click();
    await heading(page, "bob").waitFor();
    assert.deepEqual(await ages(), [2, 1, 1]);
    await page.context().close();
  });

  itLong("saves one after the other by the keyboard alone, sorted and on a phone", async () => {
    const page = await test.open("#/c/people/cyd?sort=-name", { ...phone, colorScheme: "dark" });
    await heading(page, "cyd").waitFor();
    await panel(page).getByRole("button", { name: "Next resource" }).waitFor();
    for (const next of ["bob", "ada"]) {
      await age(page).fill("7");
      await page.keyboard.press("Control+Enter");
      await heading(page, next).waitFor();
    }
    assert.deepEqual(await ages(), [2, 7, 7]);
    await expectAccessible(page);
    await panel(page).getByRole("tab", { name: "Form" }).focus();
    // The panel knows the resource before and after when the page of the list is there.
    const canGo = (name: string) => panel(page).getByRole("button", { name, disabled: false });
    await canGo("Previous resource").waitFor();
    await page.keyboard.press("k");
    await heading(page, "bob").waitFor();
    await canGo("Next resource").waitFor();
    await page.keyboard.press("j");
    await heading(page, "ada").waitFor();
    await page.context().close();
  });

  itLong("shows how far an index is, in the designer", async () => {
    const page = await test.open("#/c/orders/-/definition");
    await page.getByText("As JSON").click();
    await writeJson(page, "The definition as JSON", '{"indexed":["n"]}');
    hold();
    await page.keyboard.press("Control+s");
    await page.getByRole("progressbar", { name: "Indexes" }).waitFor();
    await page.getByText(/^Indexes are built: \d+ %/).waitFor();
    await expectAccessible(page);
    release();
    await page.getByRole("progressbar", { name: "Indexes" }).waitFor({ state: "detached" });
    await page.context().close();
  });

  it("shows how far the index of a slow query is, added while someone else saves", async () => {
    const page = await test.open("#/queries", { colorScheme: "dark" });
    const button = page.getByRole("button", { name: "Add the index on kind" });
    await button.waitFor();
    let isFirst = true;
    // Someone else is faster, once.
    await page.route("**/-/collections/orders/definition", async (route) => {
      if (route.request().method() === "PUT" && isFirst) {
        isFirst = false;
        await test.app.request("/-/collections/orders", {
          method: "PUT",
          headers: { "content-type": "application/json" },
          body: '{"description":"theirs","indexed":["n"]}',
        });
        hold();
      }
      await route.continue();
    });
    await button.click();
    await page.getByRole("progressbar", { name: "Building the index" }).waitFor();
    await expectAccessible(page);
    release();
    await page.getByText("The index on kind is there.").waitFor();
    const defined = await test.app.request("/-/collections/orders/definition");
    assert.deepEqual(await defined.json(), { description: "theirs", indexed: ["n", "kind"] });
    await page.context().close();
  });

  it("shows when the certificate expires, and that it is soon", async () => {
    const token = newSecret();
    const to = new Date(Date.now() + 3 * 86_400_000);
    const { cert, key, remove } = certificateFolder(makeCertificate({ to }));
    const flags = ["--data", join(data, "tls"), "--tls-cert", cert, "--tls-key", key];
    const environment = { RESTANTE_ADMIN_TOKEN: token };
    const server = await start(flags, { cwd: data, environment });
    const address = `${server.url}/-/console#/server`;
    const page = await test.open(address, { token, ignoreHTTPSErrors: true });
    await page
      .locator(".light.bad")
      .getByText(/^expires/)
      .waitFor();
    const shown = await page.locator(".light.bad time").getAttribute("datetime");
    assert.equal(shown?.slice(0, 16), to.toISOString().slice(0, 16));
    await expectAccessible(page);
    await page.context().close();
    server.signal("SIGTERM");
    await server.ended;
    remove();
  });
});
