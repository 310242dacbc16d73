// A shop: orders that refer to a customer and to the products of five lines each.

import { define, fill, type Headers, readIds } from "./fill.ts";

export interface ShopSize {
  readonly orders: number;
  /** Also how many customers there are. */
  readonly products: number;
}

export const linesOfOrder = 5;

export const orderDefinition = {
  schema: {
    type: "object",
    properties: {
      number: { type: "integer" },
      status: { type: "string" },
      customer: { type: "string" },
      lines: {
        type: "array",
        items: {
          type: "object",
          properties: {
            product: { type: "string" },
            quantity: { type: "integer" },
            price: { type: "number" },
          },
        },
      },
    },
  },
  references: {
    customer: { collection: "customers" },
    "lines[].product": { collection: "products" },
  },
};

export async function fillShop(
  origin: string,
  headers: Headers,
  { orders, products: count }: ShopSize,
): Promise<void> {
  const customer = (number: number) => ({ name: `Customer ${number}`, city: `City ${number}` });
  const product = (number: number) => ({ sku: `A-${number}`, name: `Product ${number}` });
  await define(origin, headers, "customers", {});
  await define(origin, headers, "products", {});
  await fill(origin, headers, { collection: "customers", count, recordOf: customer });
  await fill(origin, headers, { collection: "products", count, recordOf: product });
  const customers = await readIds(origin, headers, "customers", count);
  const products = await readIds(origin, headers, "products", count);
  await define(origin, headers, "orders", orderDefinition);
  const line = (number: number) => ({
    product: products[number % products.length],
    quantity: 1 + (number % 9),
    price: (number % 10_000) / 100,
  });
  const order = (number: number) => ({
    number,
    status: ["open", "paid", "sent"][number % 3],
    customer: customers[(number * 7) % customers.length],
    lines: Array.from({ length: linesOfOrder }, (_, at) => line(number * 31 + at * 17)),
  });
  await fill(origin, headers, { collection: "orders", count: orders, recordOf: order });
}
