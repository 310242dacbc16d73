// The filters, order and columns that someone left a collection with. They are kept until another token is used.

import { signal } from "@preact/signals";
import { token } from "../api/session.ts";
import { collectionPath, linkTo } from "./router.ts";

const views = signal<ReadonlyMap<string, URLSearchParams>>(new Map());
token.subscribe(() => {
  views.value = new Map();
});

export function rememberView(name: string, params: URLSearchParams): void {
  views.value = new Map(views.peek()).set(name, params);
}

/** Leads back to the collection as it was left. */
export const collectionLink = (name: string): string =>
  linkTo(collectionPath(name), views.value.get(name));
