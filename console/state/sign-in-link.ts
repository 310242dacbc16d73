// Signs in with the code of a link, `#code=rsc_…`. The code leaves the address before anything else happens.

import { signal } from "@preact/signals";
import { urlOf } from "../api/client.ts";
import { comebacks } from "../api/connection.ts";
import { Problem } from "../api/problem.ts";
import { signIn, token } from "../api/session.ts";
import { tellFailure } from "./notices.ts";

/** While a code is exchanged, and when that failed before someone has signed in. */
export const linkState = signal<"busy" | Problem | undefined>(undefined);

const start = "#code=";

function useLink(): void {
  const { hash, pathname, search } = location;
  if (!hash.startsWith(start)) return;
  history.replaceState(null, "", pathname + search);
  void exchange(hash.slice(start.length));
}

/** A code is used up by the first answer, so nothing is sent again. */
async function exchange(code: string): Promise<void> {
  linkState.value = "busy";
  const failure = await signInWith(code).catch(() => unanswered);
  linkState.value = failure;
  if (failure !== undefined && token.peek() !== undefined) tellFailure(failure);
}

async function signInWith(code: string): Promise<Problem | undefined> {
  const response = await fetch(urlOf("/-/console/tokens"), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ code }),
  });
  const answer = await response.json();
  if (!response.ok) return new Problem(response.status, answer, response.headers);
  signIn(answer.token, true);
  // What another token has read is read again.
  comebacks.value += 1;
  return undefined;
}

const unanswered = new Problem(0, {
  title: "The server does not answer",
  detail: "The server does not answer. Check that it runs, and open the link again.",
});

useLink();
// Before the router hears of it. A link that is opened in this tab loads no page.
addEventListener("hashchange", useLink);
