// Reads tokens from the database.

import type { Token } from "../../model/token.ts";
import { rows, type Sql } from "./connection.ts";

type TokenRow = readonly [
  id: string,
  hash: string,
  name: string,
  scopes: string,
  createdAt: number,
  expiresAt: number | null,
  usedAt: number | null,
  revokedAt: number | null,
  subject: string,
];

function toToken(row: TokenRow): Token {
  const [id, hash, name, scopes, createdAt, expiresAt, usedAt, revokedAt, subject] = row;
  const times = { createdAt, expiresAt, usedAt, revokedAt };
  return { id, hash, name, subject, scopes: JSON.parse(scopes), ...times };
}

/** Returns the tokens with these hashes, in the same order. */
export async function findTokens(
  sql: Sql,
  hashes: readonly string[],
): Promise<readonly (Token | undefined)[]> {
  const found = await rows<TokenRow>(sql`
    SELECT id, hash, name, scopes, created, expires, used, revoked, coalesce(subject, id)
    FROM tokens WHERE hash = ANY (${hashes}::text[])`);
  const byHash = new Map(found.map((row) => [row[1], toToken(row)]));
  return hashes.map((hash) => byHash.get(hash));
}

export async function listTokens(sql: Sql): Promise<readonly Token[]> {
  const found = await rows<TokenRow>(sql`
    SELECT id, hash, name, scopes, created, expires, used, revoked, coalesce(subject, id)
    FROM tokens ORDER BY created, id`);
  return found.map(toToken);
}
