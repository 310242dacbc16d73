// Reads and writes tokens, and the times of their last use.

import { RecentMap } from "../../lib/recent-map.ts";
import { firstTokenId, type Token } from "../../model/token.ts";
import type { EngineWrites } from "../core/writes.ts";
import type { TokenRange } from "../store.ts";
import type { Connection, PreparedQuery } from "./connection.ts";

type TokenRow = readonly [
  ...(readonly [id: string, hash: string, name: string, subject: string, scopes: string]),
  ...(readonly [roles: string, createdAt: number, expiresAt: number | null]),
  revokedAt: number | null,
  usedAt: number | null,
];
const columns = "id, hash, name, subject, scopes, roles, created, expires, revoked";
const select = `SELECT ${columns}, (SELECT used FROM token_uses WHERE id = tokens.id) FROM tokens`;

function toToken(row: TokenRow): Token {
  const [id, hash, name, subject, scopes, roles, createdAt, expiresAt, revokedAt, usedAt] = row;
  // No list is spread, which would put members outside of the object, and the id is stored once.
  return {
    id,
    hash,
    name,
    subject: subject === id ? id : subject,
    scopes: listOf(scopes),
    roles: listOf(roles),
    createdAt,
    expiresAt,
    usedAt,
    revokedAt,
  };
}

/** Many tokens have the same scopes or roles, and then the same list. */
const maxLists = 1_000;
const lists = new RecentMap<string, readonly string[]>(maxLists);

function listOf(text: string): readonly string[] {
  const known = lists.get(text);
  if (known !== undefined) return known;
  const list = JSON.parse(text) as readonly string[];
  lists.set(text, list);
  return list;
}

export class TokenReader {
  readonly #byHash: PreparedQuery<TokenRow>;
  readonly #byId: PreparedQuery<TokenRow>;
  readonly #page: PreparedQuery<TokenRow>;
  readonly #all: PreparedQuery<TokenRow>;
  readonly #count: PreparedQuery<readonly [number]>;
  readonly #pageOf: PreparedQuery<TokenRow>;
  readonly #countOf: PreparedQuery<readonly [number]>;

  constructor(connection: Connection) {
    this.#byHash = connection.query(`${select} WHERE hash = ?`);
    this.#byId = connection.query(`${select} WHERE id = ?`);
    // The tokens before the page are counted in the index alone.
    this.#page = connection.query(
      `${select} WHERE id IN (
         SELECT id FROM tokens WHERE id >= '${firstTokenId}' ORDER BY id LIMIT ? OFFSET ?) ORDER BY id`,
    );
    this.#all = connection.query(`${select} ORDER BY id`);
    this.#count = connection.query(`SELECT count(*) FROM tokens WHERE id >= '${firstTokenId}'`);
    this.#pageOf = connection.query(`${select} WHERE subject = ? ORDER BY id LIMIT ? OFFSET ?`);
    this.#countOf = connection.query("SELECT count(*) FROM tokens WHERE subject = ?");
  }

  find(hash: string): Token | undefined {
    const row = this.#byHash.one(hash);
    return row && toToken(row);
  }

  findById(id: string): Token | undefined {
    const row = this.#byId.one(id);
    return row && toToken(row);
  }

  page({ offset, limit, subject }: TokenRange): readonly Token[] {
    const rows =
      subject === undefined
        ? this.#page.all(limit, offset)
        : this.#pageOf.all(subject, limit, offset);
    return rows.map(toToken);
  }

  /** With the codes. */
  all(): readonly Token[] {
    return this.#all.all().map(toToken);
  }

  count(subject?: string): number {
    const row = subject === undefined ? this.#count.one() : this.#countOf.one(subject);
    return row?.[0] ?? 0;
  }
}

export type TokenWrites = Pick<
  EngineWrites,
  "tokens" | "removedTokens" | "codeTimes" | "revokedTokens" | "usedTokens"
>;

export class TokenWriter {
  readonly #insert: PreparedQuery<never>;
  readonly #delete: PreparedQuery<never>;
  readonly #deleteUse: PreparedQuery<never>;
  readonly #deleteExpiredCodes: PreparedQuery<never>;
  readonly #revoke: PreparedQuery<never>;
  readonly #saveUse: PreparedQuery<never>;

  constructor(connection: Connection) {
    this.#insert = connection.query(
      `INSERT INTO tokens (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#delete = connection.query("DELETE FROM tokens WHERE id = ?");
    this.#deleteUse = connection.query("DELETE FROM token_uses WHERE id = ?");
    this.#deleteExpiredCodes = connection.query(
      `DELETE FROM tokens WHERE id < '${firstTokenId}' AND expires <= ?`,
    );
    // The first revocation and the last use count.
    this.#revoke = connection.query(
      "UPDATE tokens SET revoked = coalesce(revoked, ?) WHERE id = ?",
    );
    this.#saveUse = connection.query(
      `INSERT INTO token_uses (id, used) VALUES (?, ?)
       ON CONFLICT (id) DO UPDATE SET used = max(used, excluded.used)`,
    );
  }

  write({ tokens, removedTokens, codeTimes, revokedTokens, usedTokens }: TokenWrites): void {
    for (const token of tokens) this.insert(token);
    for (const id of removedTokens) {
      this.#delete.run(id);
      this.#deleteUse.run(id);
    }
    for (const at of codeTimes) this.#deleteExpiredCodes.run(at);
    for (const { id, at } of revokedTokens) this.#revoke.run(at, id);
    for (const { id, at } of usedTokens) this.#saveUse.run(id, at);
  }

  insert(token: Token): void {
    const { id, hash, name, subject, createdAt, expiresAt, revokedAt, usedAt } = token;
    const lists = [JSON.stringify(token.scopes), JSON.stringify(token.roles)] as const;
    this.#insert.run(id, hash, name, subject, ...lists, createdAt, expiresAt, revokedAt);
    if (usedAt !== null) this.#saveUse.run(id, usedAt);
  }
}
