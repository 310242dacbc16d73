// Tokens: read in SQL, and remembered for a moment.

import type { Soon } from "../../model/soon.ts";
import type { Token } from "../../model/token.ts";
import { rows, type Sql } from "./connection.ts";
import { Gathering } from "./gather.ts";
import type { Pool } from "./pool.ts";

type TokenRow = readonly [
  id: string,
  hash: string,
  name: string,
  scopes: string,
  createdAt: number,
  expiresAt: number | null,
  usedAt: number | null,
  revokedAt: number | null,
];

function toToken(row: TokenRow): Token {
  const [id, hash, name, scopes, createdAt, expiresAt, usedAt, revokedAt] = row;
  return { id, hash, name, scopes: JSON.parse(scopes), createdAt, expiresAt, usedAt, revokedAt };
}

async function findTokens(
  sql: Sql,
  hashes: readonly string[],
): Promise<readonly (Token | undefined)[]> {
  const found = await rows<TokenRow>(sql`
    SELECT id, hash, name, scopes, created, expires, used, revoked
    FROM tokens WHERE hash = ANY (${hashes}::text[])`);
  const byHash = new Map(found.map((row) => [row[1], toToken(row)]));
  return hashes.map((hash) => byHash.get(hash));
}

async function listTokens(sql: Sql): Promise<readonly Token[]> {
  const found = await rows<TokenRow>(sql`
    SELECT id, hash, name, scopes, created, expires, used, revoked
    FROM tokens ORDER BY created, id`);
  return found.map(toToken);
}

interface Memory {
  readonly token: Token;
  readonly readAt: number;
}

/** Beyond this, what is known is dropped and learnt anew: memory must have an end. */
const maxRemembered = 10_000;

/**
 * A request carries a token, so that each would cost a look-up. What is remembered is too old after a
 * moment in any case, and dropped at once when a node tells that it has revoked one.
 */
export class TokenReader {
  readonly #pool: Pool;
  readonly #maxAgeMs: number;
  readonly #asked: Gathering<string, Token | undefined>;
  #remembered = new Map<string, Memory>();

  constructor(pool: Pool, maxAgeMs: number) {
    this.#pool = pool;
    this.#maxAgeMs = maxAgeMs;
    this.#asked = new Gathering((hashes) => this.#ask(hashes), pool.size);
  }

  find(hash: string): Soon<Token | undefined> {
    const memory = this.#remembered.get(hash);
    const isFresh = memory && performance.now() - memory.readAt < this.#maxAgeMs;
    return isFresh ? memory.token : this.#asked.get(hash);
  }

  list(): Promise<readonly Token[]> {
    return this.#pool.read(listTokens);
  }

  /** What is on its way was asked before, and will not be remembered either. */
  forget(): void {
    this.#remembered = new Map();
  }

  async #ask(hashes: readonly string[]): Promise<readonly (Token | undefined)[]> {
    const remembered = this.#remembered;
    const readAt = performance.now();
    const tokens = await this.#pool.read((sql) => findTokens(sql, hashes));
    if (remembered.size + tokens.length > maxRemembered) remembered.clear();
    // An unknown one is not remembered: a token must work from the moment it was made.
    for (const token of tokens) if (token) remembered.set(token.hash, { token, readAt });
    return tokens;
  }
}
