// Compiles and runs programs that use the client, with the types of a shop.

import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompressSync } from "node:zlib";
import { collectionComponents } from "../../src/model/collection-components.ts";
import { reservedNames, writeTypes } from "../../src/model/typescript.ts";
import { startApp, type TestApp } from "../http/app.ts";

export const root = fileURLToPath(new URL("../..", import.meta.url));
export const tool = (name: string) => join(root, "node_modules/.bin", name);

/** Where the packages are whose names the programs import. */
const sources = {
  "restante-client": join(root, "client/index.ts"),
  "restante-client/sync": join(root, "client/sync/index.ts"),
  "restante-client/react": join(root, "client/react/index.ts"),
};

const object = (required: readonly string[], properties: object) => ({
  ...{ type: "object", required, properties, additionalProperties: false },
});
const text = { type: "string" };
const number = { type: "number", minimum: 0 };

export const definitions = {
  customers: { schema: object(["name"], { name: text, country: text }) },
  products: {
    schema: object(["name", "price"], {
      ...{
        name: { ...text, minLength: 1 },
        price: number,
        stock: number,
        photo: { type: "object" },
      },
      tags: { type: "array", items: text },
    }),
  },
  orders: {
    schema: object(["customer", "total"], {
      ...{
        customer: text,
        total: number,
        status: { enum: ["open", "paid"] },
        isGift: { type: "boolean" },
      },
      address: object([], { city: text }),
      lines: { type: "array", items: object(["product"], { product: text, count: number }) },
    }),
    references: { customer: { collection: "customers" } },
  },
};

const collections = Object.entries(definitions).map(([name, { schema }]) => ({
  ...{ name, schema, singular: name.slice(0, -1) },
}));
const references = new Map([["orders", definitions.orders.references]]);

interface ProgramResult {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Programs {
  readonly folder: string;
  write(name: string, program: string): Promise<void>;
  /** Writes it. Returns the errors of the compiler; empty when there are none. */
  compile(name: string, program: string): Promise<string>;
  /** Runs a program that was compiled. */
  run(name: string): Promise<ProgramResult>;
}

/** Makes a folder for the programs of a file, with the types of the shop. */
export function makePrograms(): Programs {
  let folder = "";
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "restante-client-"));
    const types = writeTypes(collectionComponents(collections, reservedNames), references);
    await writeFile(join(folder, "collections.ts"), types);
    await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  });
  after(() => rm(folder, { recursive: true }));
  const write = (name: string, program: string) =>
    writeFile(join(folder, name), withSources(program));
  return {
    get folder() {
      return folder;
    },
    write,
    async compile(name, program) {
      await write(name, program);
      return compileFile(join(folder, name));
    },
    run: (name) => runFile(join(folder, name)),
  };
}

const withSources = (program: string): string =>
  Object.entries(sources).reduce(
    (text, [name, path]) => text.replaceAll(`"${name}"`, JSON.stringify(path)),
    program,
  );

function compileFile(path: string): Promise<string> {
  const flags = [
    ...["--noEmit", "--ignoreConfig", "--strict", "--exactOptionalPropertyTypes", "--skipLibCheck"],
    ...["--target", "esnext", "--module", "esnext", "--moduleResolution", "bundler"],
    ...["--lib", "esnext,dom,dom.iterable", "--types", "", "--allowImportingTsExtensions"],
    ...["--jsx", "react-jsx", "--singleThreaded"],
  ];
  return promisify(execFile)(tool("tsc"), [...flags, path]).then(
    () => "",
    ({ stdout }: { stdout: string }) => stdout,
  );
}

const runFile = (path: string): Promise<ProgramResult> =>
  promisify(execFile)(tool("bun"), [path]).then(
    ({ stdout, stderr }) => ({ status: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      ...{ status: code, stdout, stderr },
    }),
  );

/** What a browser loads for a module, and its size with brotli. */
export function bundleOf(path: string, ...flags: string[]): { text: string; bytes: number } {
  const args = ["build", path, "--minify", "--target=browser", ...flags];
  const { status, stdout, stderr } = spawnSync(tool("bun"), args, { maxBuffer: 1e7 });
  if (status !== 0) throw new Error(String(stderr));
  return { text: String(stdout), bytes: brotliCompressSync(stdout).length };
}

/** The examples of a page, one after the other. */
export async function examplesOf(page: string, language: string): Promise<readonly string[]> {
  const text = await readFile(join(root, "docs", page), "utf8");
  const [open, close] = [`\`\`\`${language}\n`, "```"];
  return text
    .split(open)
    .slice(1)
    .map((part) => part.slice(0, part.indexOf(`\n${close}`) + 1));
}

/** A server with the collections of the shop. */
export async function startShop(): Promise<TestApp> {
  const app = await startApp();
  for (const [name, definition] of Object.entries(definitions))
    await app.request(`/-/collections/${name}`, {
      ...{ method: "PUT", headers: { "content-type": "application/json" } },
      body: JSON.stringify(definition),
    });
  return app;
}
