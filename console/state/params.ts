// One parameter of the open screen's address.

import { goTo, linkTo, route } from "./router.ts";

export const paramOf = (name: string): string => route.value.params.get(name) ?? "";

/** An empty text removes it. The browser's Back does not stop at each change. */
export function setParam(name: string, value: string): void {
  const { path, params } = route.peek();
  const next = new URLSearchParams(params);
  if (value === "") next.delete(name);
  else next.set(name, value);
  goTo(linkTo(path, next), true);
}
