// The types of local copies, their size, and docs/sync.md, which compiles and runs.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { bundleOf, examplesOf, makePrograms, root, startShop } from "./programs.ts";

const programs = makePrograms();

const wrong = [
  'sync.copy("nothing");',
  'sync.copy("orders", { where: { extra: 1 } });',
  'sync.copy("orders", { where: { total: "1" } });',
  'sync.copy("orders", { matches: ({ extra }) => true });',
  'sync.copy("orders").get("1")?.extra;',
  'await sync.create("orders", { customer: "c" });',
  'await sync.create("orders", { customer: "c", total: 1, extra: 1 });',
  'await sync.update("orders", "1", { total: null });',
  'await sync.update("orders", "1", { extra: 1 });',
  'await sync.replace("orders", "1", {});',
  'await sync.together((write) => write.create("customers", {}));',
  "const [one] = sync.conflicts; if (one?.collection === 'orders') await sync.resolve(one, { extra: 1 });",
  "const [one] = sync.conflicts; if (one?.collection === 'orders') one.base?.extra;",
];

describe("docs/sync.md", () => {
  it("compiles and runs, and what is wrong does not compile", async () => {
    const app = await startShop();
    try {
      const examples = await examplesOf("sync.md", "ts");
      const [hook = ""] = await examplesOf("sync.md", "tsx");
      const program = [
        ...['import { useSyncExternalStore } from "react";', `const token = "${app.admin}";`],
        examples.join("\n").replace("http://localhost:8080", app.url),
        `export function useOrders() { ${hook}; return orders[0]?.total; }`,
        "export async function never() {",
        ...wrong.map((line) => `// @ts-expect-error\n{ ${line} }`),
        "}",
      ];
      assert.equal(await programs.compile("docs.ts", program.join("\n")), "");
      const { status, stdout, stderr } = await programs.run("docs.ts");
      assert.equal(status, 0, stderr);
      assert.match(stdout, /^0 idle$/m);
      assert.match(stdout, /^412\n15 20 \{\s+total: 21,?\s+\}/m);
      const page = await (await app.request("/orders?fields=total&sort=total")).text();
      assert.deepEqual(
        [...page.matchAll(/"total":(\d+)\.?\}/g)].map(([, total]) => total),
        ["8", "26"],
      );
    } finally {
      await app.stop();
    }
  });
});

describe("the size of local copies", () => {
  it("is at most 6 KB with brotli beyond the client, and they have no dependencies", async () => {
    const client = join(root, "client/index.ts");
    const both = join(programs.folder, "both.ts");
    const names = [client, join(root, "client/sync/index.ts")];
    await writeFile(both, names.map((name) => `export * from ${JSON.stringify(name)};`).join("\n"));
    const { bytes, text } = bundleOf(both);
    assert.doesNotMatch(text, /\brequire\(|\bfrom"[^.]/);
    const more = bytes - bundleOf(client).bytes;
    assert.ok(more > 1_000 && more <= 6_000, `${more} bytes`);
  });
});
