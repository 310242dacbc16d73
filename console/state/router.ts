// The address of a screen: the fragment of the URL, such as `#/c/people?age[gte]=30`. It never holds a credential.

import { computed, signal } from "@preact/signals";
import { queryText } from "../api/query.ts";

export interface Route {
  /** The decoded segments of the path. */
  readonly path: readonly string[];
  readonly params: URLSearchParams;
}

const fragment = signal(location.hash);
addEventListener("hashchange", () => {
  const wanted = location.hash;
  if (isHeld(wanted)) history.replaceState(null, "", fragment.peek());
  else fragment.value = wanted;
});

/** Decides whether a screen may be left. */
type Guard = (next: Route) => boolean;
let guard: Guard | undefined;

/** The address that someone wanted to open while a guard held the screen. */
export const heldAddress = signal<string | undefined>(undefined);

export function setGuard(next: Guard | undefined): void {
  guard = next;
}

function isHeld(hash: string): boolean {
  const isStaying = hash === fragment.peek() || (guard?.(parseRoute(hash)) ?? true);
  heldAddress.value = isStaying ? undefined : hash;
  return !isStaying;
}

export const route = computed<Route>(() => parseRoute(fragment.value));

function parseRoute(hash: string): Route {
  const [path = "", query = ""] = split(hash.replace(/^#\/?/, ""));
  const isDocs = hash === "" && location.pathname.endsWith("/-/docs");
  const segments = path.split("/").filter((segment) => segment !== "");
  return {
    path: isDocs ? ["docs"] : segments.map(decode),
    params: new URLSearchParams(query),
  };
}

function split(text: string): readonly string[] {
  const cut = text.indexOf("?");
  return cut < 0 ? [text] : [text.slice(0, cut), text.slice(cut + 1)];
}

/** A malformed escape in a hand-written address stays as it is. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Returns the `href` of a screen. */
export function linkTo(path: readonly string[], params?: URLSearchParams): string {
  const query = params === undefined ? "" : queryText(params);
  return `#/${path.map(encodeURIComponent).join("/")}${query === "" ? "" : `?${query}`}`;
}

/** Opens a screen. With `isReplaced` the browser's Back skips the current one. */
export function goTo(href: string, isReplaced = false): void {
  if (isHeld(href)) return;
  if (isReplaced) history.replaceState(null, "", href);
  else history.pushState(null, "", href);
  fragment.value = location.hash;
}

/** The segments of the screens of a collection. No collection and no id begins with `-`. */
export const collectionPath = (name: string): readonly string[] => ["c", name];
export const resourcePath = (name: string, id: string): readonly string[] => ["c", name, id];
export const screenPath = (name: string, screen: string): readonly string[] => [
  "c",
  name,
  "-",
  screen,
];
