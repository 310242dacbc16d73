// Reads and writes tokens. When a token was last used is in a table of its own.

import { firstTokenId, type Token } from "../../model/token.ts";
import type { TokenTime } from "../core/writes.ts";
import type { TokenRange } from "../store.ts";
import { column, rows, type Sql, type Statement } from "./connection.ts";

type TokenRow = readonly [
  id: string,
  hash: string,
  name: string,
  subject: string,
  scopes: string,
  roles: string,
  createdAt: number,
  expiresAt: number | null,
  revokedAt: number | null,
  usedAt: number | null,
];

function toToken(row: TokenRow): Token {
  const [id, hash, name, subject, scopes, roles, createdAt, expiresAt, revokedAt, usedAt] = row;
  const lists = { scopes: JSON.parse(scopes), roles: JSON.parse(roles) };
  return { id, hash, name, subject, ...lists, createdAt, expiresAt, usedAt, revokedAt };
}

const tokenColumns = (sql: Sql): Statement => sql`
  tokens.id, hash, name, subject, scopes, roles, created, expires, revoked, used
  FROM tokens LEFT JOIN LATERAL (
    SELECT used FROM token_uses WHERE token_uses.id = tokens.id LIMIT 1
  ) AS token_use ON true`;

/** Returns the tokens with these hashes, in the same order. */
export async function findTokens(
  sql: Sql,
  hashes: readonly string[],
): Promise<readonly (Token | undefined)[]> {
  const found = await rows<TokenRow>(sql`
    SELECT ${tokenColumns(sql)} WHERE hash = ANY (${hashes}::text[])`);
  const byHash = new Map(found.map((row) => [row[1], toToken(row)]));
  return hashes.map((hash) => byHash.get(hash));
}

export async function findToken(sql: Sql, id: string): Promise<Token | undefined> {
  const [row] = await rows<TokenRow>(sql`SELECT ${tokenColumns(sql)} WHERE tokens.id = ${id}`);
  return row && toToken(row);
}

/** The tokens before a page are counted in the index alone. Without a range the codes are there, too. */
export async function listTokens(sql: Sql, range?: TokenRange): Promise<readonly Token[]> {
  const page =
    range === undefined
      ? sql``
      : sql`WHERE tokens.id IN (
          SELECT id FROM tokens ${ofSubject(sql, range.subject)}
          ORDER BY id LIMIT ${range.limit}::bigint OFFSET ${range.offset}::bigint)`;
  const found = await rows<TokenRow>(sql`SELECT ${tokenColumns(sql)} ${page} ORDER BY tokens.id`);
  return found.map(toToken);
}

export async function countTokens(sql: Sql, subject?: string): Promise<number> {
  const [row] = await rows<readonly [number]>(
    sql`SELECT count(*) FROM tokens ${ofSubject(sql, subject)}`,
  );
  return row?.[0] ?? 0;
}

const ofSubject = (sql: Sql, subject: string | undefined): Statement =>
  subject === undefined
    ? sql`WHERE id >= ${firstTokenId}`
    : sql`WHERE id >= ${firstTokenId} AND subject = ${subject}`;

/**
 * Selects those of callers that are not revoked. The rows have to be locked, so that a revocation waits for
 * the commits that were compared with the token before.
 */
export const currentTokens = (sql: Sql, ids: readonly string[]): Statement => sql`
  SELECT id FROM tokens WHERE id = ANY (${[...ids]}::text[]) AND revoked IS NULL ORDER BY id`;

/** When another node has created the same token in the meantime, the conflict restarts the whole batch. */
export const insertTokens = (sql: Sql, tokens: readonly Token[]): Statement => sql`
  INSERT INTO tokens (id, hash, name, subject, scopes, roles, created, expires, revoked)
  SELECT * FROM unnest(
    ${column(tokens, "id")}::text[], ${column(tokens, "hash")}::text[],
    ${column(tokens, "name")}::text[], ${column(tokens, "subject")}::text[],
    ${tokens.map(({ scopes }) => JSON.stringify(scopes))}::text[],
    ${tokens.map(({ roles }) => JSON.stringify(roles))}::text[],
    ${column(tokens, "createdAt")}::bigint[], ${column(tokens, "expiresAt")}::bigint[],
    ${column(tokens, "revokedAt")}::bigint[]
  )`;

/** Deletes the codes that had expired at one of the times. */
export const deleteCodes = (sql: Sql, times: readonly number[]): Statement => sql`
  DELETE FROM tokens WHERE id < ${firstTokenId} AND expires <= ANY (${[...times]}::bigint[])`;

export const deleteTokens = (sql: Sql, ids: readonly string[]): readonly Statement[] => [
  sql`DELETE FROM tokens WHERE id = ANY (${[...ids]}::text[])`,
  sql`DELETE FROM token_uses WHERE id = ANY (${[...ids]}::text[])`,
];

/** The first revocation counts. */
export const revokeTokens = (sql: Sql, revoked: readonly TokenTime[]): Statement => sql`
  UPDATE tokens SET revoked = coalesce(tokens.revoked, next.at)
  FROM unnest(${column(revoked, "id")}::text[], ${column(revoked, "at")}::bigint[])
    AS next (id, at)
  WHERE tokens.id = next.id AND tokens.id = ANY (${column(revoked, "id")}::text[])`;

/** The last use counts. */
export const useTokens = (sql: Sql, used: readonly TokenTime[]): Statement => sql`
  INSERT INTO token_uses (id, used)
  SELECT * FROM unnest(${column(used, "id")}::text[], ${column(used, "at")}::bigint[])
  ORDER BY 1
  ON CONFLICT (id) DO UPDATE SET used = greatest(token_uses.used, excluded.used)`;
