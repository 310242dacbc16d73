// Projects that use both packed packages: installed by npm, pnpm and Bun, with React 18 and 19, bundled by Vite and esbuild.
// @runtimes only node

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { version } from "../../src/lib/program.ts";
import { packInto } from "../npm-package.ts";
import { tool } from "./programs.ts";

const folder = mkdtempSync(join(tmpdir(), "restante-consumers-"));
after(() => rmSync(folder, { recursive: true }));

const [server, client] = (["restante", "restante-client"] as const).map((name) =>
  packInto(folder, name),
);

function run(cwd: string, program: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: "utf8" });
  assert.equal(status, 0, `${program} ${args.join(" ")}: ${stdout}${stderr}`);
  return stdout;
}

/** Makes a project and installs it. */
function project(name: string, dependencies: object, install: readonly [string, ...string[]]) {
  const path = join(folder, name);
  mkdirSync(path);
  const file = { private: true, type: "module", dependencies };
  writeFileSync(join(path, "package.json"), JSON.stringify(file));
  const [program, ...args] = install;
  run(path, program, ...args);
  return path;
}

const installers: Readonly<Record<string, readonly [string, ...string[]]>> = {
  npm: ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"],
  pnpm: ["npx", "--yes", "pnpm@10.20.0", "install"],
  bun: [tool("bun"), "install"],
};

/** Renders a list on the server's side, which needs the React of the project and one copy of it. */
const page = `
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createElement, version } from "react";
import { renderToString } from "react-dom/server";
import { Client } from "restante-client";
import { useList } from "restante-client/react";
import { dataProvider } from "restante-client/refine";

const books = new Client("http://localhost:8080").collection("books");
const List = () => createElement("p", null, useList(books).isPending ? "Loading" : "Done");
const list = createElement(QueryClientProvider, { client: new QueryClient() }, createElement(List));
console.log(version.split(".")[0], renderToString(list));
`;

/** React's modules for Node call it. */
const banner =
  "--banner:js=import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

const bundlers: Readonly<Record<string, readonly string[]>> = {
  vite: ["build", "--ssr", "page.js", "--logLevel", "error"],
  esbuild: ["page.js", "--bundle", "--format=esm", "--platform=node", "--outdir=dist", banner],
};

describe("the client alone", () => {
  for (const [name, install] of Object.entries(installers))
    it(`installs no other package with ${name}`, () => {
      const path = project(`${name}-alone`, { "restante-client": `file:${client}` }, install);
      const there = readdirSync(join(path, "node_modules")).filter(
        (entry) => !entry.startsWith("."),
      );
      assert.deepEqual(there, ["restante-client"]);
    });
});

for (const [name, install] of Object.entries(installers))
  for (const react of name === "npm" ? [18, 19] : [19])
    describe(`both packages, installed by ${name} with React ${react}`, () => {
      const dependencies = {
        restante: `file:${server}`,
        "restante-client": `file:${client}`,
        react: `^${react}.0.0`,
        "react-dom": `^${react}.0.0`,
        "@tanstack/react-query": "5.107.1",
        vite: "8.3.8",
        esbuild: "0.28.2",
      };
      let path = "";
      it("installs, and the server runs", () => {
        path = project(`${name}-${react}`, dependencies, install);
        const program = "node_modules/restante/bin/restante.js";
        assert.equal(run(path, "node", program, "--version"), `${version}\n`);
      });

      for (const [bundler, args] of Object.entries(bundlers))
        it(`renders what ${bundler} has bundled, without what it does not use`, () => {
          rmSync(join(path, "dist"), { recursive: true, force: true });
          writeFileSync(join(path, "page.js"), page);
          run(path, `node_modules/.bin/${bundler}`, ...args);
          assert.equal(run(path, "node", "dist/page.js"), `${react} <p>Loading</p>\n`);
          const bundle = readFileSync(join(path, "dist/page.js"), "utf8");
          assert.doesNotMatch(bundle, /getApiUrl/, "the provider for Refine is unused");
        });
    });
