// Conditions on texts that JSON escapes: they are found like any other text, whichever way the resources are read.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startApp, type TestApp } from "./app.ts";
import { idsOf, QueryClient } from "./query-client.ts";

for (const store of [undefined, "postgres"])
  describe(`texts with escapes on ${store ?? "the embedded engine"}`, () => {
    const parts = ["\u0001", "\u0000", '"', "\\", "\n"];
    let app: TestApp;
    let asker: QueryClient;
    before(async () => {
      app = await startApp(store === undefined ? {} : { store });
      asker = new QueryClient(app);
      await asker.define("escaped", {});
      const rows = parts.map((part, index) => [`r${index}`, { t: `a${part}B`, n: 1 }]);
      await asker.fill("escaped", Object.fromEntries([...rows, ["plain", { t: "aB", n: 1 }]]));
    });
    after(() => app.stop());

    for (const operator of ["contains", "icontains", "like"])
      it(`match ${operator}, in any order`, async () => {
        for (const [index, part] of parts.entries())
          for (const sort of [[], ["t"], ["t", "n"]]) {
            const operand = operator === "like" ? `*${part}*` : `${part}b`;
            const text = operator === "contains" ? part : operand;
            const asked = { where: { t: { [operator]: text } }, ...(sort.length > 0 && { sort }) };
            const found = await asker.queryList("escaped", asked);
            assert.deepEqual(idsOf(found), [`r${index}`], JSON.stringify(asked));
          }
      });
  });
