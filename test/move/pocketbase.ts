// What a PocketBase has for the tests of examples/move/from-pocketbase.js, and what Restante must have afterwards.

import assert from "node:assert/strict";
import type { TestApp } from "../http/app.ts";
import { blocksOf, type Ended, moveFrom } from "./script.ts";

export const superuser = { identity: "admin@example.org", password: "correct horse" };

const photo = Buffer.from("R0lGODdhAQABAIAAAP///wAAACwAAAAAAQABAAACAkQBADs=", "base64");

/** Makes collections with every type of field, records and files. */
export async function fillPocketBase(origin: string): Promise<void> {
  let authorization = "";
  const post = async (path: string, fields: object | FormData) => {
    const isForm = fields instanceof FormData;
    const answer = await fetch(`${origin}/api/collections${path}`, {
      method: "POST",
      headers: { authorization, ...(!isForm && { "content-type": "application/json" }) },
      body: isForm ? fields : JSON.stringify(fields),
    });
    assert.equal(answer.status, 200, await answer.clone().text());
    return (await answer.json()) as { readonly id: string; readonly token: string };
  };
  authorization = (await post("/_superusers/auth-with-password", superuser)).token;
  const authors = await post("", {
    name: "authors",
    type: "base",
    fields: [
      { name: "name", type: "text", required: true, max: 100 },
      { name: "email", type: "email" },
    ],
    indexes: ["CREATE UNIQUE INDEX `idx_email` ON `authors` (`email`) WHERE `email` != ''"],
  });
  const everyone = '@request.auth.id != ""';
  await post("", {
    name: "posts",
    type: "base",
    fields: [
      { name: "title", type: "text", required: true },
      { name: "body", type: "editor" },
      { name: "views", type: "number", onlyInt: true, min: 0 },
      { name: "isPinned", type: "bool" },
      { name: "link", type: "url" },
      { name: "shownAt", type: "date" },
      { name: "state", type: "select", values: ["draft", "published"], maxSelect: 1 },
      { name: "tags", type: "select", values: ["a", "b", "c"], maxSelect: 3 },
      { name: "author", type: "relation", collectionId: authors.id, maxSelect: 1 },
      { name: "readers", type: "relation", collectionId: authors.id, maxSelect: 9 },
      { name: "photo", type: "file", maxSelect: 1, mimeTypes: ["image/gif"], protected: true },
      { name: "papers", type: "file", maxSelect: 5 },
      { name: "extra", type: "json" },
      { name: "place", type: "geoPoint" },
      { name: "created", type: "autodate", onCreate: true },
    ],
    indexes: ["CREATE INDEX `idx_state` ON `posts` (`state`, `views`)"],
    listRule: "",
    viewRule: "",
    createRule: everyone,
    updateRule: "author.id = @request.auth.id",
    deleteRule: null,
  });
  await post("", {
    ...{ name: "titles", type: "view", viewQuery: "SELECT id, title FROM posts" },
  });
  const people = "/authors/records";
  await post(people, { id: "author000000ann", name: "Ann", email: "ann@example.org" });
  await post(people, { id: "author000000bob", name: "Bob" });
  const form = new FormData();
  const fields = {
    ...{ id: "post00000000001", title: "Hello", body: "<p>Hi</p>", views: "7", isPinned: "true" },
    ...{ link: "https://example.org/", shownAt: "2026-01-05 09:00:00.000Z", state: "published" },
    ...{ author: "author000000ann", extra: '{"a":[1]}', place: '{"lon":7.5,"lat":47}' },
  };
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  for (const tag of ["a", "c"]) form.append("tags", tag);
  for (const id of ["author000000ann", "author000000bob"]) form.append("readers", id);
  form.append("photo", new Blob([photo], { type: "image/gif" }), "dot.gif");
  for (const text of ["one", "two"]) form.append("papers", new Blob([text]), `${text}.txt`);
  await post("/posts/records", form);
  await post("/posts/records", { id: "post00000000002", title: "Empty" });
  const password = "correct horse";
  const user = { id: "user00000000ann", email: "ann@example.org", emailVisibility: true };
  await post("/users/records", { ...user, password, passwordConfirm: password });
}

interface ShownFile {
  readonly type: string;
  readonly size: number;
  readonly url: string;
}

interface Definition {
  readonly references: unknown;
  readonly unique: unknown;
  readonly indexed: unknown;
  readonly schema: {
    readonly required: unknown;
    readonly properties: Readonly<Record<string, { readonly items?: unknown }>>;
  };
}

interface Post extends Readonly<Record<string, unknown>> {
  readonly created: string;
  readonly photo: ShownFile;
  readonly papers: readonly [ShownFile, ShownFile];
}

export const moveFromPocketBase = (origin: string, app: TestApp): Promise<Ended> =>
  moveFrom("from-pocketbase.js", origin, app, {
    POCKETBASE_EMAIL: superuser.identity,
    POCKETBASE_PASSWORD: superuser.password,
  });

/** Compares what Restante has with what `fillPocketBase` made, and the output with the page. */
export async function assertMoved(ended: Ended, app: TestApp): Promise<void> {
  assert.equal(ended.code, 0, ended.stderr);
  assert.equal(ended.stderr, "");
  const [shown = ""] = await blocksOf("from-pocketbase.md", "text");
  for (const line of shown.trim().split("\n")) assert.ok(ended.stdout.includes(`${line}\n`), line);
  assert.match(ended.stdout, /^titles is a view, and is left out$/m);

  const read = async <T = Post>(path: string) => (await (await app.request(path)).json()) as T;
  const {
    createdAt: _,
    updatedAt: __,
    created,
    photo: dot,
    papers,
    ...post
  } = await read("/posts/post00000000001");
  assert.deepEqual(post, {
    ...{ id: "post00000000001", title: "Hello", body: "<p>Hi</p>", views: 7, isPinned: true },
    ...{ link: "https://example.org/", shownAt: "2026-01-05T09:00:00.000Z", state: "published" },
    ...{ tags: ["a", "c"], author: "author000000ann" },
    readers: ["author000000ann", "author000000bob"],
    extra: { a: [1] },
    place: { lon: 7.5, lat: 47 },
  });
  assert.match(created, /^\d{4}-\d\d-\d\dT.*Z$/);
  assert.deepEqual([dot.type, dot.size], ["image/gif", photo.length]);
  const bytes = await (await app.request(dot.url)).arrayBuffer();
  assert.deepEqual(Buffer.from(bytes), photo);
  assert.equal(await (await app.request(papers[1].url)).text(), "two");

  const empty = await read("/posts/post00000000002");
  assert.deepEqual([empty.title, empty.views, empty.photo], ["Empty", 0, undefined]);
  const user = await read("/users/user00000000ann");
  assert.deepEqual([user.email, "password" in user], ["ann@example.org", false]);

  const posts = await read<Definition>("/-/collections/posts/definition");
  assert.deepEqual(posts.references, {
    author: { collection: "authors", onDelete: "unset" },
    "readers[]": { collection: "authors", onDelete: "unset" },
  });
  assert.deepEqual([posts.unique, posts.indexed], [[], [["state", "views"]]]);
  assert.deepEqual(posts.schema.required, ["title"]);
  assert.deepEqual(posts.schema.properties.views, { type: "integer", minimum: 0 });
  assert.deepEqual(posts.schema.properties.tags?.items, { type: "string", enum: ["a", "b", "c"] });
  const authors = await read<Definition>("/-/collections/authors/definition");
  assert.deepEqual(authors.unique, ["email"]);
}
