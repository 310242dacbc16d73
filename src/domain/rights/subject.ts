// Finds what a subject may do with its tokens, for those who ask on its behalf.

import { anonymous, type Principal } from "../../model/principal.ts";
import { accessDocumentOf, accessName, withRoleScopes } from "../../model/schemas/access.ts";
import { isAlive, type Token } from "../../model/token.ts";
import type { Store } from "../../store/store.ts";
import { allTokens } from "../all-tokens.ts";

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

async function tokensOf(
  store: Store,
  subject: string | undefined,
  now: number,
): Promise<readonly Token[]> {
  const found: Token[] = [];
  for await (const tokens of allTokens(store))
    found.push(...tokens.filter((token) => token.subject === subject && isAlive(token, now)));
  return found;
}

const joined = (tokens: readonly Token[]): Pick<Token, "roles" | "scopes"> => ({
  roles: [...new Set(tokens.flatMap(({ roles }) => roles))],
  scopes: [...new Set(tokens.flatMap(({ scopes }) => scopes))],
});
