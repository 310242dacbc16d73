// The API page in a real browser, and how it reads an OpenAPI document.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  byTag,
  detailOf,
  type OpenApiDocument,
  operationsOf,
} from "../../console/pages/docs/document.ts";
import { missingIn, requestOf } from "../../console/pages/docs/request.ts";
import { exampleOf, typeText } from "../../console/pages/docs/schema.ts";
import { itLong } from "../short-run.ts";
import {
  desktop,
  expectAccessible,
  expectNoSidewaysScroll,
  phone,
  skip,
  useConsole,
} from "./console.ts";

const hostile = '"><script>alert(1)</script>';

describe("an OpenAPI document in the console", () => {
  const node = {
    type: "object",
    required: ["name"],
    properties: {
      name: { type: "string" },
      next: { $ref: "#/components/schemas/Node" },
      list: { type: "array", items: { $ref: "#/components/schemas/Node" } },
    },
  };
  const document: OpenApiDocument = {
    paths: {
      "/nodes/{id}": {
        parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
        put: {
          tags: ["nodes"],
          summary: "Put a node",
          parameters: [
            { $ref: "#/components/parameters/Fields" },
            { name: "If-Match", in: "header", schema: { type: "string" } },
          ],
          requestBody: {
            content: { "application/json": { schema: { $ref: "#/components/schemas/Node" } } },
          },
          responses: { "200": { description: "Done." } },
        },
      },
    },
    components: {
      parameters: { Fields: { name: "fields", in: "query", schema: { type: "string" } } },
      schemas: { Node: node },
    },
  };
  const [head] = operationsOf(document);
  assert.ok(head);
  const operation = detailOf(document, head);

  it("is read with its references", () => {
    assert.deepEqual([...byTag([head]).keys()], ["nodes"]);
    assert.deepEqual(
      operation.parameters.map(({ name }) => name),
      ["id", "fields", "If-Match"],
    );
    const schema = operation.body[0]?.schema ?? {};
    assert.equal(typeText(document, schema), "Node");
    // It refers to itself, and ends nevertheless.
    assert.match(JSON.stringify(exampleOf(document, schema)), /"name":"text"/);
  });

  it("becomes the exact request", () => {
    const values = { "path id": "a/b c", "query fields": "name,&x", "header If-Match": '"1"' };
    const filled = { values, type: "application/json", body: '{"name":"x"}' };
    assert.deepEqual(requestOf(operation, filled), {
      method: "PUT",
      path: "/nodes/a%2Fb%20c?fields=name%2C%26x",
      headers: { "If-Match": '"1"', "Content-Type": "application/json" },
      body: '{"name":"x"}',
    });
    assert.deepEqual(missingIn(operation, { ...filled, values: {} }), ["id"]);
  });
});

describe("the API page", { skip }, () => {
  const test = useConsole(async (app) => {
    await app.request("/-/collections/people", {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        description: hostile,
        schema: {
          type: "object",
          properties: {
            name: { type: "string", description: hostile },
            address: { type: "object", properties: { city: { type: "string" } } },
          },
        },
      }),
    });
    for (let n = 0; n < 100; n++)
      await app.request(`/-/collections/collection-${n}`, {
        method: "PUT",
        headers: { "content-type": "application/json" },
        body: "{}",
      });
  });

  it("creates a resource with “try it”, and shows the answer", async () => {
    const page = await test.open("#/docs");
    await page.getByRole("heading", { name: "API", level: 1 }).waitFor();
    assert.ok((await page.getByRole("link").count()) < 200, "only what is open is rendered");
    await page.getByLabel("Search operations").fill("post people");
    await page.getByRole("link", { name: "POST /people", exact: true }).click();
    await page.getByRole("heading", { name: /Create/, level: 1 }).waitFor();
    await page.getByLabel("Body", { exact: true }).fill(JSON.stringify({ name: hostile }));
    await page.getByRole("button", { name: "Send POST" }).click();
    const answer = page.getByRole("region", { name: "Response" });
    await answer.getByText("201 Created").waitFor();
    await answer.getByText(JSON.stringify(hostile)).waitFor();
    await answer.getByText("Header fields").click();
    await answer.getByText("location: /people/").waitFor();
    assert.equal(await test.app.total("people"), 1);
    await page.getByText("application/json").last().click();
    await expectAccessible(page);
    await page.getByLabel("Body", { exact: true }).fill("{");
    await page.getByRole("button", { name: "Send POST" }).click();
    await answer.getByText("400").first().waitFor();
    await page.context().close();
  });

  itLong("is at /-/docs, and works with the keyboard, on a phone and in the dark", async () => {
    const page = await test.open("", { ...phone, colorScheme: "dark" });
    await page.goto(`${test.app.url}/-/docs`);
    await page.getByLabel("Search operations").focus();
    await expectAccessible(page);
    await expectNoSidewaysScroll(page);
    await page.keyboard.type("can requests be served");
    await page.getByRole("link", { name: "GET /-/ready" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Send GET" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Response" }).getByText('"ready"').waitFor();
    await expectAccessible(page);
    await expectNoSidewaysScroll(page);
    await page.setViewportSize(desktop.viewport);
    await page.getByRole("navigation", { name: "Operations" }).waitFor();
    await page.context().close();
  });
});
