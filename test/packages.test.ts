// What others install: the two packages agree, and strict programs compile with the packed ones, their types included.
// @runtimes only node

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { packInto } from "./npm-package.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string) => JSON.parse(readFileSync(join(root, path), "utf8"));
const [server, client, lock] = ["package.json", "client/package.json", "package-lock.json"].map(
  read,
);

describe("the packages", () => {
  it("have one version, also where others name it", () => {
    const { version } = server;
    assert.deepEqual(
      [client.version, lock.version, lock.packages.client.version],
      [version, version, version],
    );
    const [ownFile, clientFile] = ["restante", "restante-client"].map(
      (name) => `file:./${name}-${version}.tgz`,
    );
    const app = read("templates/app/package.json").dependencies;
    assert.deepEqual([app.restante, app["restante-client"]], [ownFile, clientFile]);
    for (const name of ["react-admin", "refine"])
      assert.equal(
        read(`examples/${name}/package.json`).dependencies["restante-client"],
        clientFile,
      );
    const pages = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md"))
      .map((name) => readFileSync(join(root, "docs", name), "utf8"));
    const readme = readFileSync(join(root, "templates/app/README.md"), "utf8");
    const named = [...pages, readme].join().matchAll(/\brestante-(?:client-)?(\d[\d.]*)\.tgz/g);
    assert.deepEqual([...new Set([...named].map(([, found]) => found))], [version]);
  });

  it("name the same repository, or none", () => {
    assert.equal(client.repository?.url, server.repository?.url);
  });

  it("have the scripts that the workflows run", () => {
    const folder = join(root, ".github/workflows");
    const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
    const named = [...texts.join("\n").matchAll(/\bnpm run ([\w:-]+)/g)].map(([, name]) => name);
    assert.ok(named.includes("release"));
    assert.deepEqual(
      named.filter((name) => !(`${name}` in server.scripts)),
      [],
    );
  });

  it("of the client needs nothing, and is for every runtime", () => {
    assert.deepEqual(
      [client.dependencies, client.engines, client.sideEffects],
      [undefined, undefined, false],
    );
    const optional = Object.keys(client.peerDependenciesMeta);
    assert.deepEqual(Object.keys(client.peerDependencies), optional);
  });

  it("of the server brings no React", () => {
    assert.equal(server.peerDependencies, undefined);
    assert.deepEqual(Object.keys(server.exports), ["."]);
  });
});

const browserProgram = `
import { QueryClient, useQuery } from "@tanstack/react-query";
import { Client, type Page } from "restante-client";
import { memory } from "restante-client/sync";
import { listKey, listOptions, resourceKey, resourceOptions, useList, useMutation } from "restante-client/react";
import * as reactAdmin from "restante-client/react-admin";
import * as refine from "restante-client/refine";

interface Book { readonly id: string; readonly title: string }
interface Shop { readonly books: { readonly resource: Book; readonly draft: Omit<Book, "id"> } }

const books = new Client<Shop>("https://example.org").collection("books");
const queries = new QueryClient();

/** What is known is not \`unknown\`, nor anything. */
type IsExactly<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const exactly = <A, B>(isSo: IsExactly<A, B>): void => void isSo;

const list = queries.getQueryData(listKey(books));
exactly<typeof list, Page<Book> | undefined>(true);
const book = queries.getQueryData(resourceKey(books, "1"));
exactly<typeof book, Book | undefined>(true);
export async function read() {
  const page = await queries.fetchQuery(listOptions(books, { sort: "title" }));
  exactly<typeof page, Page<Book>>(true);
  const one = await queries.fetchQuery(resourceOptions(books, "1"));
  exactly<typeof one, Book>(true);
}
export function useBooks() {
  const { data } = useList(books);
  exactly<typeof data, Page<Book> | undefined>(true);
  const { data: one } = useQuery(resourceOptions(books, "1"));
  exactly<typeof one, Book | undefined>(true);
  return useMutation(books, "create");
}
export const others = [memory, reactAdmin, refine];
`;

const serverProgram = `
import { defineAction, restante, type Restante } from "restante";

const app: Restante = await restante({ port: 0 });
export const status: number = (await app.fetch(new Request("http://x/"))).status;
// @ts-expect-error: a port is a number
await restante({ port: "x" });
export default defineAction({ description: "Greets.", input: {}, run: (): object => ({ hello: 1 }) });
`;

const common = ["--noEmit", "--ignoreConfig", "--strict", "--exactOptionalPropertyTypes"];
const checked = [...common, "--skipLibCheck", "false", "--target", "esnext"];

describe("strict programs compile without skipLibCheck", () => {
  const folder = mkdtempSync(join(tmpdir(), "restante-types-"));
  const modules = join(folder, "node_modules");
  before(() => {
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    mkdirSync(modules);
    for (const name of ["restante", "restante-client"] as const) {
      mkdirSync(join(modules, name));
      const args = [
        "-xzf",
        packInto(folder, name),
        "--strip-components=1",
        "-C",
        join(modules, name),
      ];
      assert.equal(spawnSync("tar", args).status, 0);
    }
    for (const name of ["@tanstack", "@types", "react", "csstype", "undici-types"])
      symlinkSync(join(root, "node_modules", name), join(modules, name));
  });
  after(() => rmSync(folder, { recursive: true }));

  function compile(name: string, program: string, ...flags: readonly string[]): void {
    writeFileSync(join(folder, name), program);
    const { stdout } = spawnSync(
      join(root, "node_modules/.bin/tsc"),
      [...checked, ...flags, name],
      {
        ...{ cwd: folder, encoding: "utf8" },
      },
    );
    assert.equal(stdout, "");
  }

  it("with the client, in a browser, and hooks say what they return", () => {
    const bundler = ["--module", "esnext", "--moduleResolution", "bundler"];
    compile(
      "browser.ts",
      browserProgram,
      ...bundler,
      "--lib",
      "esnext,dom,dom.iterable",
      "--types",
      "",
    );
  });

  it("with the client, in Node, where imports need extensions", () => {
    const node = ["--module", "nodenext", "--lib", "esnext", "--types", "node,react"];
    compile("client.ts", browserProgram, ...node);
  });

  it("with the server", () => {
    compile(
      "server.ts",
      serverProgram,
      "--module",
      "nodenext",
      "--lib",
      "esnext",
      "--types",
      "node",
    );
  });
});
