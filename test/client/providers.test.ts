// The data providers: the programs of their pages compile and run, and they stay small.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { startShop, type TestShop } from "./shop.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const tool = (name: string) => join(root, "node_modules/.bin", name);
const source = (name: string) => join(root, "client", name, "index.ts");

let folder: string;
let shop: TestShop;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-providers-"));
  shop = await startShop();
});
after(async () => {
  await shop.app.stop();
  await rm(folder, { recursive: true });
});

async function programOf(name: string): Promise<string> {
  const page = await readFile(join(root, "docs", `${name}.md`), "utf8");
  const blocks = [...page.matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(([, code = ""]) => code);
  assert.ok(blocks.length >= 3);
  const program = blocks
    .join("\n")
    .replaceAll('"restante-client"', JSON.stringify(source("")))
    .replaceAll(`"restante-client/${name}"`, JSON.stringify(source(name)))
    .replaceAll('"http://localhost:8080"', JSON.stringify(shop.app.url));
  return `const token = ${JSON.stringify(shop.app.admin)};\n${program}\nexport { token };\n`;
}

for (const name of ["react-admin", "refine"]) {
  describe(`docs/${name}.md`, () => {
    it("compiles and runs", async () => {
      const file = join(folder, `${name}.ts`);
      await writeFile(file, await programOf(name));
      const flags = [
        ...[
          "--noEmit",
          "--ignoreConfig",
          "--strict",
          "--exactOptionalPropertyTypes",
          "--skipLibCheck",
        ],
        ...["--singleThreaded"],
        ...["--target", "esnext", "--module", "esnext", "--moduleResolution", "bundler"],
        ...["--lib", "esnext,dom,dom.iterable", "--types", "", "--allowImportingTsExtensions"],
      ];
      const { stdout } = spawnSync(tool("tsc"), [...flags, file], { encoding: "utf8" });
      assert.equal(stdout, "");
      await import(pathToFileURL(file).href);
    });
  });

  describe(`the size of restante-client/${name}`, () => {
    it("is at most 4.3 KB with brotli, without the client", () => {
      const flags = ["--minify", "--target=browser", "--external", source("")];
      const { status, stdout, stderr } = spawnSync(tool("bun"), ["build", source(name), ...flags]);
      assert.equal(status, 0, String(stderr));
      assert.match(String(stdout), /from"\.\.\/index\.ts"/, "the client is left out");
      const bytes = brotliCompressSync(stdout).length;
      assert.ok(bytes <= 4_300, `${bytes} bytes`);
    });
  });
}
