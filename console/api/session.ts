// Holds the bearer token: in memory, and in the session storage of this tab if the person wants it.

import { signal } from "@preact/signals";

const key = "restante.token";

/** Undefined before someone has signed in; empty for a visit without a token. */
export const token = signal<string | undefined>(sessionStorage.getItem(key) ?? undefined);

/** `asked`: the server no longer takes the token, and a dialog asks for another one. `refused`: the person closed it. */
export const session = signal<"valid" | "asked" | "refused">("valid");

export function signIn(secret: string, isKept: boolean): void {
  if (isKept && secret !== "") sessionStorage.setItem(key, secret);
  token.value = secret;
  session.value = "valid";
}

export function signOut(): void {
  sessionStorage.removeItem(key);
  token.value = undefined;
  session.value = "valid";
}

/** Asks for another token over the open page. Returns whether there is one. */
export function renewToken(refused: string): Promise<boolean> {
  if (token.peek() !== refused) return Promise.resolve(Boolean(token.peek()));
  if (session.peek() === "refused") return Promise.resolve(false);
  sessionStorage.removeItem(key);
  session.value = "asked";
  return new Promise((resolve) => {
    const stop = session.subscribe((state) => {
      if (state === "asked") return;
      queueMicrotask(() => stop());
      resolve(state === "valid" && Boolean(token.peek()));
    });
  });
}
