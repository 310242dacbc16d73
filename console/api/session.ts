// Holds the bearer token: in memory, and in the session storage of this tab if the person wants it.

import { signal } from "@preact/signals";

const key = "restante.token";

/** Undefined before someone has signed in; empty for a visit without a token. */
export const token = signal<string | undefined>(sessionStorage.getItem(key) ?? undefined);

export function signIn(secret: string, isKept: boolean): void {
  if (isKept && secret !== "") sessionStorage.setItem(key, secret);
  token.value = secret;
}

export function signOut(): void {
  sessionStorage.removeItem(key);
  token.value = undefined;
}
