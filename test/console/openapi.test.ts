// What the console knows of collections without the scope `admin`: it reads the OpenAPI document of a real server.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { collectionsIn, type OpenApi } from "../../console/api/openapi.ts";
import { columnsOf } from "../../console/grid/columns.ts";
import { filterFields } from "../../console/grid/operators.ts";
import { startApp, type TestApp } from "../http/app.ts";

let app: TestApp;
before(async () => {
  app = await startApp();
  const define = (name: string, definition: object) =>
    app.request(`/-/collections/${name}`, {
      method: "PUT",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(definition),
    });
  await define("customers", { description: "Who buys." });
  await define("secrets", {});
  await define("orders", {
    schema: {
      type: "object",
      properties: {
        level: { $ref: "#/$defs/level" },
        total: { type: "number", readOnly: true },
        code: { type: "string", writeOnly: true },
        customer: { type: "string" },
        secret: { type: "string" },
        schema: { type: "string" },
        lines: { type: "array", items: { $ref: "#/$defs/line" } },
      },
      required: ["level"],
      $defs: {
        level: { enum: ["gold", "silver"] },
        line: { type: "object", properties: { day: { type: "string", format: "date" } } },
      },
    },
    searchable: ["customer"],
    references: {
      customer: { collection: "customers" },
      secret: { collection: "secrets" },
      schema: { collection: "customers" },
    },
  });
});
after(() => app.stop());

async function seenBy(...scopes: string[]) {
  const response = await app.request("/-/openapi.json", { token: await app.token(...scopes) });
  const found = collectionsIn((await response.json()) as OpenApi);
  return Object.fromEntries(found.map(({ name, definition }) => [name, definition]));
}

describe("collections without the scope admin", () => {
  it("have choices, search, and the references that the caller may follow", async () => {
    const { orders = {}, customers, secrets } = await seenBy("orders:read", "customers:read");
    const columns = columnsOf(orders, []);
    const level = columns.find(({ path }) => path === "level");
    assert.deepEqual([level?.kind, level?.options], ["choice", ["gold", "silver"]]);
    assert.deepEqual(orders.references, {
      customer: { collection: "customers" },
      schema: { collection: "customers" },
    });
    assert.ok((orders.searchable ?? []).length > 0);
    assert.equal((customers?.searchable ?? []).length, 0);
    assert.equal(customers?.description, "Who buys.");
    assert.equal(orders.description, undefined);
    assert.equal(secrets, undefined);
    const fields = filterFields(orders, columns);
    assert.equal(fields.find(({ path }) => path === "lines[].day")?.kind, "date");
    assert.ok(!columns.some(({ path }) => path === "code"));
  });

  it("have what can be sent and what can be read", async () => {
    const { orders } = await seenBy("orders:*");
    assert.deepEqual(Object.keys(orders?.schema?.properties ?? {}).toSorted(), [
      ..."code customer level lines schema secret total".split(" "),
    ]);
    assert.deepEqual(orders?.schema?.required, ["level"]);
    assert.deepEqual(orders?.references, {});
    const readers = await seenBy("orders:read");
    assert.equal(readers.orders?.schema?.required, undefined);
  });
});
