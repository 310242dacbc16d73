// An action that does more than its caller may: a visitor places an order, and the stock of each product goes down.

import process from "node:process";
// In your own project, import from "restante".
import { defineAction, problem } from "../../src/index.ts";

const text = { type: "string", minLength: 1, maxLength: 200 } as const;

export default defineAction({
  description: "Places an order, and takes its products from the stock.",
  input: {
    type: "object",
    properties: {
      // The same key again places no second order.
      key: { type: "string", pattern: "^[A-Za-z0-9-]{16,64}$" },
      customer: text,
      lines: {
        type: "array",
        items: {
          type: "object",
          properties: { product: text, count: { type: "integer", minimum: 1 } },
          required: ["product", "count"],
          additionalProperties: false,
        },
        minItems: 1,
        maxItems: 50,
      },
    },
    required: ["key", "customer", "lines"],
    additionalProperties: false,
  },
  output: { type: "object", properties: { order: text }, required: ["order"] },
  async run({ input: { key, customer, lines }, signal }) {
    const order = { method: "POST", path: "/orders", body: { customer, lines } };
    const sales = lines.map(({ product, count }) => ({
      ...{ method: "PATCH", path: `/products/${encodeURIComponent(product)}` },
      contentType: "application/vnd.restante.operations+json",
      body: { increment: { stock: -count } },
    }));
    const answer = await send([order, ...sales], key, signal);
    const body = await answer.text();
    if (answer.status === 404) throw problem("not-found", "There is no such product.");
    if (answer.status === 409)
      throw problem("conflict", "There is less than that of a product. Nothing was ordered.");
    if (answer.status === 422) throw problem("conflict", "This key is that of another order.");
    if (!answer.ok) throw new Error(`the order was refused: ${body}`);
    return { order: JSON.parse(body).results[0].body.id };
  },
});

/** With a token of its own, which has the scopes orders:create, orders:read, products:read and products:update. */
function send(operations: readonly object[], key: string, signal: AbortSignal): Promise<Response> {
  const { SHOP_URL = "http://localhost:8080", SHOP_TOKEN = "" } = process.env;
  return fetch(`${SHOP_URL}/-/batch`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${SHOP_TOKEN}`,
      "Content-Type": "application/json",
      "Idempotency-Key": `"${key}"`,
    },
    body: JSON.stringify({ operations }),
    signal,
  });
}
