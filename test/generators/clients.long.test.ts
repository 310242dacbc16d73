// Clients that generators of other languages make from the document: they compile, and a small program works.
// @runtimes only node

import assert from "node:assert/strict";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { expectedSteps, hardCollections, skipOnBun, startShop, uploadCover } from "./shop.ts";
import { generators, missing, runCommand } from "./tools.ts";

const here = fileURLToPath(new URL(".", import.meta.url));

const expected = [...expectedSteps, "file a cover"];

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-clients-"));
});
after(() => rm(folder, { recursive: true }));

describe("a client made from the document by", () => {
  for (const { name, needs, prepare, build, run } of generators) {
    const absent = missing(needs);
    const lacks = absent.length > 0 && `${absent.join(" and ")} must be installed`;
    it(name, { skip: skipOnBun || lacks }, async () => {
      const work = join(folder, name);
      await cp(join(here, "samples", name), work, { recursive: true });
      await prepare();
      const app = await startShop(hardCollections);
      try {
        const withCover = await uploadCover(app);
        const document = join(work, "openapi.json");
        await writeFile(document, await (await app.request("/-/openapi.json")).text());
        for (const step of build(document)) await runCommand(step, work);
        const output = await runCommand(run([app.url, app.admin, withCover]), work);
        // Maven resets the colours of a terminal even where there is none.
        assert.deepEqual(stripVTControlCharacters(output).trimEnd().split("\n"), expected);
      } finally {
        await app.stop();
      }
    });
  }
});
