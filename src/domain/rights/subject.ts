// Finds what a subject may do with its tokens, for those who ask on its behalf.

import { nextTurn } from "../../lib/turns.ts";
import { anonymous, type Principal } from "../../model/principal.ts";
import { accessDocumentOf, accessName, withRoleScopes } from "../../model/schemas/access.ts";
import { isAlive, type Token } from "../../model/token.ts";
import type { Store } from "../../store/store.ts";

export interface AskedSubject {
  readonly subject?: string | undefined;
  readonly roles?: readonly string[] | undefined;
  readonly scopes?: readonly string[] | undefined;
}

/** Returns the principal of a subject. Without roles and scopes, those of its valid tokens count. */
export async function principalOfSubject(
  store: Store,
  now: number,
  { subject, roles, scopes }: AskedSubject,
): Promise<Principal> {
  const isGiven = roles !== undefined || scopes !== undefined;
  if (subject === undefined && !isGiven) return anonymous;
  const held = isGiven
    ? { roles: roles ?? [], scopes: scopes ?? [] }
    : joined(await tokensOf(store, subject, now));
  const document = accessDocumentOf(await store.rules(accessName));
  return { kind: "token", subject, credential: undefined, ...withRoleScopes(held, document) };
}

const tokensRead = 1_000;

/** Reads all tokens, in turns of the event loop, because there can be very many. */
async function tokensOf(
  store: Store,
  subject: string | undefined,
  now: number,
): Promise<readonly Token[]> {
  const found: Token[] = [];
  for (let offset = 0; ; offset += tokensRead) {
    const tokens = await store.tokens({ offset, limit: tokensRead });
    found.push(...tokens.filter((token) => token.subject === subject && isAlive(token, now)));
    if (tokens.length < tokensRead) return found;
    await nextTurn();
  }
}

const joined = (tokens: readonly Token[]): Pick<Token, "roles" | "scopes"> => ({
  roles: [...new Set(tokens.flatMap(({ roles }) => roles))],
  scopes: [...new Set(tokens.flatMap(({ scopes }) => scopes))],
});
