// Uploads in the console over a connection that fails: a server that is killed, a connection that is cut, a cancel, and files that are not accepted.
// @tier all

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { newSecret } from "../../src/model/secret.ts";
import { type ServerProcess, start } from "../process.ts";
import { desktop, expectAccessible, phone, skip, useBrowser } from "./console.ts";
import { TestProxy } from "./test-proxy.ts";

const admin = newSecret();
const megabyte = 1_000_000;
const film = Buffer.alloc(10 * megabyte, "the bytes of a film, ");
const digest = createHash("sha256").update(film).digest("hex");
const definition = {
  schema: {
    properties: {
      pictures: { type: "array", items: { properties: { type: { enum: ["image/png"] } } } },
    },
  },
};

describe("uploads over a connection that fails", { skip }, () => {
  const openPage = useBrowser();
  let cwd: string;
  let server: ServerProcess;
  let proxy: TestProxy;
  let url: string;

  const serve = () =>
    start(["--data", "data", "--max-file-bytes", String(film.length)], {
      cwd,
      environment: { RESTANTE_ADMIN_TOKEN: admin },
    });
  const request = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(server.url + path, {
      ...init,
      headers: { authorization: `Bearer ${admin}`, "content-type": "application/json" },
    });

  before(async () => {
    cwd = await mkdtemp(join(tmpdir(), "restante-uploads-"));
    server = await serve();
    proxy = new TestProxy(server.port);
    url = await proxy.open();
    const put = (path: string, body: object) =>
      request(path, { method: "PUT", body: JSON.stringify(body) });
    await put("/-/collections/films", definition);
    for (const id of ["killed", "cut", "cancelled", "several"]) await put(`/films/${id}`, {});
  });
  after(async () => {
    proxy?.close();
    server?.signal("SIGKILL");
    await server?.ended;
    await rm(cwd, { recursive: true });
  });

  const openFiles = async (id: string, options = {}): Promise<Page> => {
    const address = `${url}/-/console#/c/films/${id}/files`;
    const page = await openPage(address, { token: admin, ...options });
    await page.getByLabel("Field", { exact: true }).selectOption("Another field…");
    return page;
  };
  const choose = (page: Page, ...files: { name: string; mimeType: string; buffer: Buffer }[]) =>
    page.locator(".file-drop input[type=file]").setInputFiles(files);
  const fileCard = (page: Page, name: string) => page.locator(".file").getByTitle(name);
  const bar = (page: Page) => page.getByRole("progressbar", { name: "Upload of film.mp4" });
  const whole = { name: "film.mp4", mimeType: "video/mp4", buffer: film };
  const stored = async (id: string): Promise<unknown> => {
    const { files } = (await (await request(`/films/${id}`)).json()) as {
      files?: readonly { name: string; sha256: string }[];
    };
    return files?.map(({ name, sha256 }) => [name, sha256]);
  };

  it("go on where they were when the server was killed and is started again", async () => {
    const page = await openFiles("killed");
    const held = proxy.holdAfter(9 * megabyte);
    await choose(page, whole);
    await held;
    server.signal("SIGKILL");
    await server.ended;
    await page.getByText("The server does not answer. What you see may be old").waitFor();
    await bar(page).waitFor();
    await expectAccessible(page);
    proxy.cut();
    const before = proxy.sent;
    server = await serve();
    proxy.port = server.port;
    await fileCard(page, "film.mp4").waitFor();
    assert.deepEqual(await stored("killed"), [["film.mp4", digest]]);
    assert.ok(proxy.sent - before < 3 * megabyte, "what has arrived is not sent again");
    await page.context().close();
  });

  it("go on after cuts of the connection, also at the very beginning", async () => {
    const page = await openFiles("cut", { ...phone, colorScheme: "dark" });
    await page.locator(".file-drop").waitFor();
    for (const bytes of [1, 2 * megabyte, 5 * megabyte]) {
      const held = proxy.holdAfter(bytes);
      if (bytes === 1) await choose(page, whole);
      await held;
      proxy.cut();
    }
    await fileCard(page, "film.mp4").waitFor();
    assert.deepEqual(await stored("cut"), [["film.mp4", digest]]);
    await page.context().close();
  });

  it("are cancelled by a button, also on the server", async () => {
    const page = await openFiles("cancelled");
    const held = proxy.holdAfter(3 * megabyte);
    await choose(page, whole);
    await held;
    const deleted = page.waitForResponse((response) => response.request().method() === "DELETE");
    await page.getByRole("button", { name: "Cancel the upload of film.mp4" }).press("Enter");
    proxy.release();
    assert.equal((await deleted).status(), 204);
    await bar(page).waitFor({ state: "detached" });
    assert.deepEqual(await stored("cancelled"), undefined);
    await choose(page, { ...whole, name: "short.mp4", buffer: film.subarray(0, 1_000) });
    await fileCard(page, "short.mp4").waitFor();
    await page.context().close();
  });

  it("of several files go on when some are not accepted", async () => {
    const page = await openFiles("several", desktop);
    await page.getByLabel("Field", { exact: true }).selectOption("pictures");
    const large = Buffer.alloc(film.length + 1);
    await choose(
      page,
      { name: "one.png", mimeType: "image/png", buffer: Buffer.from("one") },
      { name: "large.png", mimeType: "image/png", buffer: large },
      { name: "note.txt", mimeType: "text/plain", buffer: Buffer.from("no picture") },
      { name: "last.png", mimeType: "image/png", buffer: Buffer.from("last") },
    );
    await fileCard(page, "last.png").waitFor();
    await fileCard(page, "one.png").waitFor();
    const failed = page.getByRole("list", { name: "Uploads" }).getByRole("listitem");
    await failed.filter({ hasText: "large.png" }).getByRole("alert").waitFor();
    await failed.filter({ hasText: "note.txt" }).getByRole("alert").waitFor();
    await expectAccessible(page);
    // The definition takes texts from now on.
    await request("/-/collections/films", { method: "PUT", body: "{}" });
    await page.getByRole("button", { name: "Upload note.txt again" }).press("Enter");
    await fileCard(page, "note.txt").waitFor();
    await page.getByRole("button", { name: "Close the upload of large.png" }).click();
    await page.getByRole("progressbar").or(page.getByRole("alert")).waitFor({ state: "detached" });
    const { pictures } = (await (await request("/films/several")).json()) as {
      pictures: readonly { name: string }[];
    };
    assert.deepEqual(
      pictures.map(({ name }) => name),
      ["one.png", "last.png", "note.txt"],
    );
    await page.context().close();
  });
});
