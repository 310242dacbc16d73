// The API below a path (--api-path, and --public without it): every address that it shows begins with the path.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { Client as RestanteClient } from "../../client/index.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { type Answer, answerOf, assertProblem } from "./expect.ts";
import { file, form } from "./multipart.ts";
import { partial, UploadClient } from "./upload-client.ts";

const actions = fileURLToPath(new URL("actions", import.meta.url));

for (const { title, settings, base } of [
  { title: "beside a website", settings: {}, base: "/api" },
  { title: "with a path", settings: { apiPath: "/v1/data" }, base: "/v1/data" },
  {
    title: "with a public URL that has a prefix",
    settings: { baseUrl: "https://example.org/shop" },
    base: "https://example.org/shop/api",
  },
])
  describe(`the addresses of the API ${title}`, () => {
    const path = new URL(base, "http://localhost").pathname.replace("/shop", "");
    let folder: string;
    let app: TestApp;
    let client: Client;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), "restante-site-"));
      await writeFile(join(folder, "index.html"), "home");
      await writeFile(join(folder, "people"), "not the API");
      app = await startApp({ public: folder, actions, ...settings });
      client = new Client(app);
      await app.post("people", { name: "Charles" });
      const defined = await client.put("/-/collections/docs", {
        signedUrls: true,
        schema: { properties: { author: { type: "string" } } },
        references: { author: { collection: "people" } },
      });
      assert.ok(defined.status < 300, defined.body);
    });
    after(async () => {
      await app.stop();
      await rm(folder, { recursive: true, force: true });
    });

    /** Sends a request to an address as the API has shown it. */
    const follow = (
      address: string,
      init: RequestInit = {},
      token: string | null = app.admin,
    ): Promise<Answer> => {
      assert.ok(address.startsWith(`${base}/`), address);
      const url = `${app.url}${path}${address.slice(base.length)}`;
      const headers = { ...(token && { authorization: `Bearer ${token}` }), ...init.headers };
      return answerOf(fetch(url, { redirect: "manual", ...init, headers }));
    };
    const linksIn = ({ headers }: Answer) =>
      [...(headers.get("link") ?? "").matchAll(/<([^>]*)>; rel="(\w+)/g)].map(
        ([, url = ""]) => url,
      );

    it("are those of Location and Content-Location", async () => {
      const created = await client.post("/people", { name: "Ada" });
      assert.equal(created.status, 201);
      const location = created.headers.get("location") ?? "";
      assert.equal(created.headers.get("content-location"), location);
      const found = await follow(location);
      assert.equal(JSON.parse(found.body).name, "Ada");
      const tag = { "if-none-match": found.headers.get("etag") ?? "" };
      assert.equal((await follow(location, { headers: tag })).status, 304);
      // A prepared response is the same.
      assert.equal((await follow(location)).body, found.body);
      const token = await client.post("/-/tokens", { name: "t", scopes: ["people:read"] });
      assert.equal((await follow(token.headers.get("location") ?? "")).status, 200);
      const slashed = await follow(`${base}/people/?limit=1`);
      assert.deepEqual(
        [slashed.status, slashed.headers.get("location")],
        [308, `${base}/people?limit=1`],
      );
    });

    it("are those of pages, feeds and the start", async () => {
      for (let n = 0; n < 3; n++) await app.post("rows", { n });
      for (const query of ["limit=1", "cursor=&limit=1&sort=-createdAt", "limit=1&page=2"]) {
        const links = linksIn(await follow(`${base}/rows?${query}`));
        assert.ok(links.length > 1, query);
        for (const link of links) assert.equal((await follow(link)).status, 200, link);
      }
      const feed = await follow(`${base}/rows?since=`);
      for (const link of linksIn(feed)) assert.equal((await follow(link)).status, 200, link);
      const home = await follow(`${base}/`);
      assert.equal(home.status, 200);
      for (const link of [...linksIn(home), ...Object.values<string>(JSON.parse(home.body).links)])
        assert.equal((await follow(link)).status, 200, link);
      assert.equal((await answerOf(fetch(app.url + path))).body, home.body);
      const catalog = JSON.parse((await follow(`${base}/.well-known/api-catalog`)).body);
      assert.equal(catalog.linkset[0].anchor, `${base}/`);
    });

    it("are those of files, signed URLs and uploads", async () => {
      const sent = form([file("photo", "a.txt", "some text", "text/plain")]);
      const made = JSON.parse(
        (await answerOf(app.request("/docs", { method: "POST", ...sent }))).body,
      );
      assert.equal((await follow(made.photo.url)).body, "some text");
      for (const signable of [made.photo.url, made.photo.url.slice(base.length)]) {
        const { body } = await client.post("/-/signed-urls", { path: signable });
        const signed = await follow(JSON.parse(body).url, {}, null);
        assert.deepEqual([signed.status, signed.body], [200, "some text"], body);
      }
      const author = JSON.parse(
        (await answerOf(app.request("/people", { method: "POST", ...sent }))).body,
      );
      await client.patch(`/docs/${made.id}`, { author: author.id });
      const expanded = JSON.parse((await follow(`${base}/docs?expand=author`)).body);
      const [shown] = Object.values<{ photo: { url: string } }>(expanded.data[0]._expanded);
      assert.equal((await follow(shown?.photo.url ?? "")).body, "some text");
      const uploads = new UploadClient(app);
      const bytes = Buffer.from("in two parts");
      const upload = await uploads.begin(
        "/scans",
        { "content-type": "image/png" },
        bytes.subarray(0, 3),
      );
      const rest = bytes.subarray(3);
      const headers = { ...partial, "upload-offset": "3", "upload-complete": "?1" };
      const done = await follow(upload, { method: "PATCH", headers, body: rest });
      assert.equal(done.status, 201, done.body);
      const scan = JSON.parse((await follow(done.headers.get("location") ?? "")).body);
      assert.equal(Object.values<{ size?: number }>(scan).find((each) => each?.size)?.size, 12);
    });

    it("are those of actions, problems and batches", async () => {
      const seen = await client.post("/-/actions/answer", {
        how: "see-other",
        location: "/people",
      });
      assert.deepEqual([seen.status, seen.headers.get("location")], [303, `${base}/people`]);
      const missing = await follow(`${base}/people/nobody`);
      const { type, instance } = assertProblem(missing, "not-found", base);
      assert.equal(instance, `${base}/people/nobody`);
      assert.equal((await follow(type)).status, 200);
      const batch = await client.post("/-/batch", {
        operations: [{ method: "POST", path: "/people", body: { name: "Alan" } }],
      });
      const [result] = JSON.parse(batch.body).results;
      assert.equal(JSON.parse((await follow(result.location)).body).name, "Alan");
    });

    it("are those of the OpenAPI document", async () => {
      const { servers, paths } = JSON.parse((await follow(`${base}/-/openapi.json`)).body);
      assert.deepEqual(servers, [{ url: base }]);
      assert.ok("/people" in paths || "/{collection}" in paths);
    });

    it("are all that the API has: what is outside of them is the website", async () => {
      assert.equal((await answerOf(fetch(app.url))).body, "home");
      assert.equal((await answerOf(fetch(`${app.url}/people`))).body, "not the API");
      for (const outside of ["/-/health", "/-/openapi.json", `${path}x`, `${path}-/-/health`])
        assert.equal((await fetch(app.url + outside)).status, 404, outside);
      const posted = await fetch(`${app.url}/people`, { method: "POST", body: "{}" });
      assert.equal(posted.status, 405);
      const preflight = await fetch(`${app.url}${path}/people`, { method: "OPTIONS" });
      assert.equal(preflight.status, 204);
    });

    it("have no console, because the website has the same origin", async () => {
      for (const page of ["/-/console", "/-/docs", "/-/console/index.html"]) {
        const { status, body } = await follow(`${base}${page}`);
        assert.equal(status, 404, page);
        assert.match(body, /--console-port/);
      }
      assert.equal((await follow(`${base}/`, { headers: { accept: "text/html" } })).status, 406);
    });

    it("are those that the client uses", async () => {
      const own = new RestanteClient(`${app.url}${path}`, { token: app.admin });
      const people = own.collection("people");
      const { id } = await people.create({ name: "Barbara" });
      assert.equal((await people.get(String(id))).name, "Barbara");
      const picture = new Blob(["picture"], { type: "image/png" });
      await people.file(String(id), "photo").put(picture, base === path ? { partBytes: 3 } : {});
      const listed = await people.list({ where: { name: "Barbara" } });
      assert.equal(listed.data.length, 1);
      const [renamed] = await own.batch([people.in.update(String(id), { name: "Liskov" })]);
      assert.ok(renamed);
    });
  });

describe("the API below a path, without a website", () => {
  it("answers there alone", async () => {
    const app = await startApp({ apiPath: "/api" });
    const problem = assertProblem(await answerOf(fetch(`${app.url}/people`)), "not-found", "/api");
    assert.match(problem.detail, /The API begins at \/api\./);
    assert.equal((await app.request("/-/health")).status, 200);
    const html = { accept: "text/html" };
    const home = await app.request("/", { headers: html });
    assert.deepEqual([home.status, home.headers.get("location")], [302, "/api/-/console"]);
    await app.stop();
  });
});
