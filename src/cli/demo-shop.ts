// The demo shop: definitions, products, customers and orders. The same seed gives the same shop.

import { firstNames, kinds, lastNames, materials, places, walls } from "./demo-catalogue.ts";
import { drawPhoto } from "./demo-photo.ts";

export const customerCount = (orders: number): number => Math.max(10, Math.ceil(orders / 20));

const statuses = ["open", "paid", "shipped", "delivered", "returned"] as const;
/** Orders of the last days are still under way. */
const dayMs = 86_400_000;
const daysOfOrders = 730;

const text = { type: "string" } as const;
const money = { type: "number", minimum: 0 } as const;

/** In the order in which they are made, because references need what they refer to. */
export const definitionsOf = (seed: number) =>
  ({
    products: {
      description: `What the demo shop sells (restante demo, seed ${seed})`,
      singular: "product",
      schema: {
        type: "object",
        required: ["name", "sku", "category", "price"],
        properties: {
          name: { ...text, minLength: 1, maxLength: 100 },
          sku: { ...text, pattern: "^[A-Z]+-[0-9]+$", examples: ["MUG-1"] },
          category: { ...text, enum: ["kitchen", "living", "furniture", "storage"] },
          material: text,
          price: { ...money, description: "In euros, with tax." },
          stock: { type: "integer", minimum: 0 },
          description: text,
          isOnSale: { type: "boolean" },
          photo: { type: "object", properties: { type: { enum: ["image/png", "image/jpeg"] } } },
        },
        additionalProperties: false,
      },
      unique: ["sku"],
      indexed: ["category", "price", "stock"],
      searchable: [{ field: "name", weight: 3 }, "description", "material"],
      pictures: { sizes: [{ width: 96, height: 96 }, { width: 400 }] },
    },
    customers: {
      description: `Who buys (restante demo, seed ${seed})`,
      singular: "customer",
      schema: {
        type: "object",
        required: ["name", "email"],
        properties: {
          name: text,
          email: { ...text, format: "email" },
          birthday: { ...text, format: "date" },
          isSubscribed: { type: "boolean" },
          address: { type: "object", properties: { city: text, country: text } },
        },
        additionalProperties: false,
      },
      unique: ["email"],
      indexed: ["address.country"],
      searchable: ["name", "email"],
    },
    orders: {
      description: `What they ordered (restante demo, seed ${seed})`,
      singular: "order",
      schema: {
        type: "object",
        required: ["number", "customer", "status", "placedAt", "lines", "total"],
        properties: {
          number: { type: "integer", minimum: 1 },
          customer: text,
          status: { ...text, enum: statuses },
          placedAt: { ...text, format: "date-time" },
          total: { ...money, description: "In euros, with tax." },
          lines: {
            type: "array",
            minItems: 1,
            items: {
              type: "object",
              required: ["product", "quantity", "price"],
              properties: {
                product: text,
                quantity: { type: "integer", minimum: 1 },
                price: money,
              },
            },
          },
          note: text,
        },
        additionalProperties: false,
      },
      unique: ["number"],
      indexed: ["placedAt", "total", ["status", "-placedAt"]],
      references: {
        customer: { collection: "customers" },
        "lines[].product": { collection: "products" },
      },
    },
  }) as const;

export interface Product {
  readonly id: string;
  readonly fields: { readonly price: number } & Readonly<Record<string, unknown>>;
  readonly photo: () => Buffer;
}

export function productsOf(seed: number): readonly Product[] {
  const random = randomOf(seed);
  return kinds.flatMap((kind) =>
    materials.map((material, n) => {
      const wall = pick(walls, random);
      const name = `${material.name} ${kind.name.toLowerCase()}`;
      const price = Math.round(kind.price * material.factor - 0.5) / 100;
      return {
        id: name.toLowerCase().replaceAll(" ", "-"),
        fields: {
          ...{ name, sku: `${kind.name.toUpperCase()}-${n + 1}`, category: kind.category },
          ...{ material: material.name, price, stock: below(400, random) },
          ...{ description: kind.about, isOnSale: random() < 0.15 },
        },
        photo: () => drawPhoto(kind.shapes, material.colour, wall),
      };
    }),
  );
}

export const customerId = (n: number): string => `c${String(n).padStart(6, "0")}`;
export const orderId = (n: number): string => `o${String(n).padStart(7, "0")}`;

export function* customersOf(seed: number, count: number): Generator<object> {
  const random = randomOf(seed + 1);
  for (let n = 1; n <= count; n++) {
    const [first, last] = [pick(firstNames, random), pick(lastNames, random)];
    const [city, country] = pick(places, random);
    const birthday = new Date(Date.UTC(1945, 0, 1) + below(60 * 365, random) * dayMs);
    yield {
      name: `${first} ${last}`,
      email: `${first}.${last}.${n}@example.org`.toLowerCase().replaceAll("ü", "ue"),
      birthday: birthday.toISOString().slice(0, 10),
      isSubscribed: random() < 0.4,
      address: { city, country },
    };
  }
}

/** The last order is placed at `end`; the shop has grown until then. */
export function* ordersOf(seed: number, count: number, end: number): Generator<object> {
  const random = randomOf(seed + 2);
  const products = productsOf(seed);
  const customers = customerCount(count);
  for (let n = 1; n <= count; n++) {
    // More and more orders a day.
    const daysAgo = daysOfOrders * (1 - Math.sqrt(n / count));
    const lines = Array.from({ length: 1 + below(4, random) }, () => {
      const { id, fields } = pick(products, random);
      return { product: id, quantity: 1 + Math.floor(random() ** 3 * 5), price: fields.price };
    });
    const cents = lines.reduce((sum, { quantity, price }) => sum + quantity * price * 100, 0);
    yield {
      number: n,
      customer: customerId(1 + Math.floor(random() ** 2 * customers)),
      status: statusOf(daysAgo, random()),
      placedAt: new Date(end - Math.round(daysAgo * dayMs)).toISOString(),
      total: Math.round(cents) / 100,
      lines,
      ...(random() < 0.03 && { note: "Please ring twice." }),
    };
  }
}

function statusOf(daysAgo: number, chance: number): (typeof statuses)[number] {
  if (daysAgo < 1) return chance < 0.5 ? "open" : "paid";
  if (daysAgo < 4) return chance < 0.2 ? "paid" : "shipped";
  return chance < 0.04 ? "returned" : "delivered";
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const below = (count: number, random: () => number): number => Math.floor(random() * count);

function pick<T>(list: readonly T[], random: () => number): T {
  const found = list[below(list.length, random)];
  if (found === undefined) throw new Error("the list is empty");
  return found;
}
