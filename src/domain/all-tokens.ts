// Reads all tokens, for what looks at each of them.

import { nextTurn } from "../lib/turns.ts";
import type { Token } from "../model/token.ts";
import type { Store } from "../store/store.ts";

/** How many are read in one turn of the event loop, because there can be very many. */
export const tokensRead = 1_000;

export async function* allTokens(store: Store): AsyncGenerator<readonly Token[]> {
  for (let offset = 0; ; offset += tokensRead) {
    const tokens = await store.tokens({ offset, limit: tokensRead });
    yield tokens;
    if (tokens.length < tokensRead) return;
    await nextTurn();
  }
}
