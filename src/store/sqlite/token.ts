// Reads and writes tokens.

import type { Token } from "../../model/token.ts";
import type { Change } from "../store.ts";
import type { Connection, Query } from "./connection.ts";

type TokenRow = readonly [
  id: string,
  hash: string,
  name: string,
  scopes: string,
  createdAt: number,
  expiresAt: number | null,
  usedAt: number | null,
  revokedAt: number | null,
  subject: string | null,
];
const columns = "id, hash, name, scopes, created, expires, used, revoked, subject";

function toToken(row: TokenRow): Token {
  const [id, hash, name, scopes, createdAt, expiresAt, usedAt, revokedAt, subject] = row;
  const times = { createdAt, expiresAt, usedAt, revokedAt };
  return { id, hash, name, subject: subject ?? id, scopes: JSON.parse(scopes), ...times };
}

export class TokenReader {
  readonly #byHash: Query<TokenRow>;
  readonly #all: Query<TokenRow>;

  constructor(connection: Connection) {
    this.#byHash = connection.query(`SELECT ${columns} FROM tokens WHERE hash = ?`);
    this.#all = connection.query(`SELECT ${columns} FROM tokens ORDER BY created, id`);
  }

  find(hash: string): Token | undefined {
    const row = this.#byHash.one(hash);
    return row && toToken(row);
  }

  all(): readonly Token[] {
    return this.#all.all().map(toToken);
  }
}

export type TokenChange = Extract<Change, { kind: `${string}-token` }>;

export class TokenWriter {
  readonly #insert: Query<never>;
  readonly #revoke: Query<never>;
  readonly #touch: Query<never>;

  constructor(connection: Connection) {
    this.#insert = connection.query(
      `INSERT INTO tokens (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    );
    this.#revoke = connection.query(
      "UPDATE tokens SET revoked = coalesce(revoked, ?) WHERE id = ?",
    );
    this.#touch = connection.query(
      "UPDATE tokens SET used = max(coalesce(used, 0), ?) WHERE id = ?",
    );
  }

  apply(change: TokenChange): "done" | "taken" | "missing" {
    switch (change.kind) {
      case "create-token":
        return this.#save(change.token) ? "done" : "taken";
      case "revoke-token":
        return this.#revoke.run(change.at, change.id) ? "done" : "missing";
      case "touch-token":
        return this.#touch.run(change.at, change.id) ? "done" : "missing";
    }
  }

  #save(token: Token): number {
    const { id, hash, name, scopes, createdAt, expiresAt, usedAt, revokedAt, subject } = token;
    const times = [createdAt, expiresAt, usedAt, revokedAt] as const;
    return this.#insert.run(id, hash, name, JSON.stringify(scopes), ...times, subject);
  }
}
