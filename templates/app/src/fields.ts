// The fields of the form: from a product, and to what is sent.

import type { Patch } from "restante-client";
import type { Product, ProductDraft } from "./collections.ts";

/** As a person types them. */
export interface Fields {
  readonly name: string;
  readonly sku: string;
  readonly price: string;
  readonly stock: string;
  readonly description: string;
}

export const labels: Readonly<Record<keyof Fields, string>> = {
  name: "Name",
  sku: "SKU",
  price: "Price",
  stock: "Stock",
  description: "Description",
};

export const names = Object.keys(labels) as readonly (keyof Fields)[];

export const fieldsOf = (product?: Product): Fields => ({
  name: product?.name ?? "",
  sku: product?.sku ?? "",
  price: `${product?.price ?? ""}`,
  stock: `${product?.stock ?? ""}`,
  description: product?.description ?? "",
});

/** The server says what is missing or wrong, so a text that is no number is sent as it is. */
function sentOf(name: keyof Fields, text: string): string | number | null {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  const number = Number(trimmed.replace(",", "."));
  const isNumber = (name === "price" || name === "stock") && !Number.isNaN(number);
  return isNumber ? number : trimmed;
}

/** What has changed since the product was read; null removes a member. */
export function patchOf(before: Fields, after: Fields): Patch<ProductDraft> {
  const changed = names.filter((name) => before[name] !== after[name]);
  return Object.fromEntries(changed.map((name) => [name, sentOf(name, after[name])]));
}

/** Empty fields are left out. */
export function draftOf(fields: Fields): ProductDraft {
  const values = names.map((name) => [name, sentOf(name, fields[name])] as const);
  return Object.fromEntries(
    values.filter(([, value]) => value !== null),
  ) as unknown as ProductDraft;
}
