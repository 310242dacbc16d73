// The published types of the client: a program with the packed package compiles, the types of the package included.
// @runtimes only node
// @tier all

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { packInto } from "../npm-package.ts";
import { root, tool } from "./programs.ts";

const program = `
import { QueryClient, useQuery } from "@tanstack/react-query";
import { Client, type Page } from "restante/client";
import { memory } from "restante/client/sync";
import { listKey, listOptions, resourceKey, resourceOptions, useList, useMutation } from "restante/react";
import * as reactAdmin from "restante/react-admin";
import * as refine from "restante/refine";

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

describe("the types of the packed package", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "restante-types-"));
    const modules = join(folder, "node_modules");
    await mkdir(join(modules, "restante"), { recursive: true });
    const packed = packInto(folder);
    const args = ["-xzf", packed, "--strip-components=1", "-C", join(modules, "restante")];
    assert.equal(spawnSync("tar", args).status, 0);
    for (const name of ["@tanstack", "@types", "react", "csstype"])
      await symlink(join(root, "node_modules", name), join(modules, name));
  });
  after(() => rm(folder, { recursive: true }));

  it("compile without skipLibCheck, and say what hooks return", async () => {
    await writeFile(join(folder, "program.ts"), program);
    const flags = [
      ...["--noEmit", "--ignoreConfig", "--strict", "--exactOptionalPropertyTypes"],
      ...["--skipLibCheck", "false", "--target", "esnext", "--module", "esnext"],
      ...["--moduleResolution", "bundler", "--lib", "esnext,dom,dom.iterable", "--types", ""],
    ];
    const { stdout } = spawnSync(tool("tsc"), [...flags, "program.ts"], {
      ...{ cwd: folder, encoding: "utf8" },
    });
    assert.equal(stdout, "");
  });
});
