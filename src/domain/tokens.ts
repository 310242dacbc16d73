// Creates, lists and revokes tokens, and makes one for a code that signs the console in.

import { createHash } from "node:crypto";
import { ErrorReport } from "../lib/json/error-report.ts";
import { newId } from "../model/id.ts";
import { callerTokenOf, type Principal } from "../model/principal.ts";
import { type FieldError, Problem } from "../model/problem.ts";
import { accessDocumentOf, accessName, withRoleScopes } from "../model/schemas/access.ts";
import { type CheckedTokenRequest, readTokenRequest } from "../model/schemas/token.ts";
import { hashSecret, isSecret, newSecret } from "../model/secret.ts";
import {
  allowsIssuing,
  codeIdOf,
  isAdmin,
  isAlive,
  issueScope,
  type Token,
} from "../model/token.ts";
import type { Store, TokenRange } from "../store/store.ts";
import { requireAdmin, requireIssuer } from "./access.ts";
import { allTokens, tokensRead } from "./all-tokens.ts";
import { insufficientScope, tokenEnded } from "./problems.ts";
import { TokenUses } from "./token-uses.ts";

/** An Idempotency-Key, and the id of the token that it came with. */
export interface TokenKey {
  readonly owner: string;
  readonly key: string;
}

export interface TokenList {
  readonly tokens: readonly Token[];
  readonly total: number;
}

export interface IssuedToken {
  /** Shown once: only its hash is stored. */
  readonly secret: string;
  readonly token: Token;
}

const dayMs = 24 * 60 * 60_000;
/** The longest life of a token that no administrator creates. */
const longestIssuedMs = 90 * dayMs;
/** How long an expired token stays in the list, to tell what it was. */
const keptExpiredMs = 30 * dayMs;
const codeLifetimeMs = 15 * 60_000;
const signInMs = 12 * 60 * 60_000;

export class Tokens {
  readonly #store: Store;
  readonly #clock: () => number;
  readonly #uses: TokenUses;

  constructor(store: Store, clock: () => number, uses: TokenUses = new TokenUses(store)) {
    this.#store = store;
    this.#clock = clock;
    this.#uses = uses;
  }

  /** Returns a part of the tokens, or of those of one subject, in the order of their ids, and how many there are. */
  async list(principal: Principal, range: TokenRange): Promise<TokenList | Problem> {
    const forbidden = requireAdmin(principal);
    if (forbidden !== undefined) return forbidden;
    const total = await this.#store.countTokens(range.subject);
    const tokens = await this.#store.tokens(range);
    return { tokens: tokens.map((each) => this.#uses.latest(each)), total };
  }

  async find(principal: Principal, id: string): Promise<Token | Problem> {
    const forbidden = requireAdmin(principal);
    if (forbidden !== undefined) return forbidden;
    const token = await this.#store.findToken(id);
    return token === undefined ? tokenNotFound : this.#uses.latest(token);
  }

  /**
   * Creates a token from a request that is not yet validated. With a key, the id is derived from the
   * key, so that a repeated request finds the first token on any node. Its secret cannot be shown again.
   */
  async create(
    principal: Principal,
    given: unknown,
    key?: TokenKey,
  ): Promise<IssuedToken | Problem> {
    const forbidden = requireIssuer(principal);
    if (forbidden !== undefined) return forbidden;
    const now = this.#clock();
    const secret = newSecret();
    const request = readTokenRequest(given, now);
    if (!("name" in request)) return invalidRequest(request);
    const refused = isAdmin(principal) ? undefined : await this.#refuse(principal, request, now);
    if (refused !== undefined) return refused;
    const id = key === undefined ? newId() : derivedId("token", key.owner, key.key);
    const token = tokenOf(id, secret, request, now);
    const callerToken = callerTokenOf(principal);
    const [outcome] = await this.#store.commit([{ kind: "create-token", token, callerToken }]);
    if (outcome?.kind === "revoked") return tokenEnded;
    return outcome?.kind === "taken"
      ? repetitionProblem(await this.#store.findToken(id), token)
      : { secret, token };
  }

  /** Checks the request of one who may issue tokens of some roles, for a while, and no others. */
  async #refuse(
    principal: Principal,
    { scopes, subject, roles, expiresAt }: CheckedTokenRequest,
    now: number,
  ): Promise<Problem | undefined> {
    const foreign = roles.find((role) => !allowsIssuing(principal, role));
    if (foreign !== undefined) return insufficientScope(issueScope(foreign));
    const document = accessDocumentOf(await this.#store.rules(accessName));
    if (isAdmin(withRoleScopes({ scopes, roles }, document))) return insufficientScope("admin");
    const report = new ErrorReport();
    if (scopes.length > 0)
      report.add(["scopes"], "must be empty: only an administrator gives scopes");
    if (subject !== undefined)
      report.add(["subject"], "must be left out: only an administrator chooses the subject");
    if (expiresAt === null || expiresAt > now + longestIssuedMs)
      report.add(
        ["expiresAt"],
        "must be at most 90 days from now: only an administrator gives more",
      );
    for (const [index, role] of roles.entries())
      if (!Object.hasOwn(document.roles, role))
        report.add(["roles", index], "must be a role that the access document names");
    return report.errors.length > 0 ? invalidRequest(report.errors) : undefined;
  }

  /** Removes the tokens that expired long ago, and returns how many. Commits nothing when there are none. */
  async removeExpired(): Promise<number> {
    const latest = this.#clock() - keptExpiredMs;
    const ids: string[] = [];
    for await (const tokens of allTokens(this.#store))
      for (const { id, expiresAt } of tokens)
        if (expiresAt !== null && expiresAt <= latest) ids.push(id);
    for (let first = 0; first < ids.length; first += tokensRead)
      await this.#store.commit(
        ids.slice(first, first + tokensRead).map((id) => ({ kind: "remove-token", id })),
      );
    return ids.length;
  }

  /** Takes effect at once in every process. Revoking a token twice is not an error. */
  async revoke(principal: Principal, id: string): Promise<Problem | undefined> {
    const forbidden = requireAdmin(principal);
    if (forbidden !== undefined) return forbidden;
    const revocation = { kind: "revoke-token", id, at: this.#clock() } as const;
    const callerToken = callerTokenOf(principal);
    const [outcome] = await this.#store.commit([{ ...revocation, callerToken }]);
    if (outcome?.kind === "revoked") return tokenEnded;
    return outcome?.kind === "missing" ? tokenNotFound : undefined;
  }

  /** Makes a code that signs the console in once. Nothing else accepts it, and no list shows it. */
  async createCode(principal: Principal): Promise<string | Problem> {
    const forbidden = requireAdmin(principal);
    if (forbidden !== undefined) return forbidden;
    const code = newSecret("rsc");
    const now = this.#clock();
    const request = {
      name: "sign-in code",
      scopes: [],
      roles: [],
      expiresAt: now + codeLifetimeMs,
    };
    const token = tokenOf(codeIdOf(hashSecret(code)), code, request, now);
    await this.#store.commit([{ kind: "create-token", token }]);
    return code;
  }

  /** Puts an administrator's token in the place of a code, in one commit. Undefined: the code is not valid. */
  async exchangeCode(code: string): Promise<IssuedToken | undefined> {
    const codeId = codeIdOf(hashSecret(code));
    const stored = isSecret(code, "rsc") ? await this.#store.findToken(codeId) : undefined;
    const now = this.#clock();
    if (stored === undefined || !isAlive(stored, now)) return undefined;
    const secret = newSecret();
    const expiresAt = now + signInMs;
    const request = { name: "console sign-in", scopes: ["admin"], roles: [], expiresAt };
    // The same id for the same code, so that only one of several nodes creates it.
    const token = tokenOf(derivedId("code", codeId), secret, request, now);
    const [outcome] = await this.#store.commit([{ kind: "create-token", token, code: codeId }]);
    return outcome?.kind === "done" ? { secret, token } : undefined;
  }

  /** Creates the first admin token of an empty store, for the server itself. Returns whether it did. */
  async createFirstAdmin(principal: Principal, secret: string): Promise<boolean | Problem> {
    const forbidden = requireAdmin(principal);
    if (forbidden !== undefined) return forbidden;
    if ((await this.#store.countTokens()) > 0) return false;
    const request = { name: "first admin", scopes: ["admin"], roles: [], expiresAt: null };
    const token = tokenOf(firstId, secret, request, this.#clock());
    const [outcome] = await this.#store.commit([{ kind: "create-token", token }]);
    return outcome?.kind === "done";
  }
}

/** A UUID of version 8 (RFC 9562 §5.8), the same for the same parts. */
function derivedId(...parts: readonly string[]): string {
  const bytes = createHash("sha256").update(JSON.stringify(parts)).digest();
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString("hex", 0, 16);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

const invalidRequest = (errors: readonly FieldError[]): Problem =>
  new Problem("invalid-body", "The token request is not valid; `errors` lists each error.", {
    errors,
  });

function repetitionProblem(first: Token | undefined, { id, ...repeated }: Token): Problem {
  const contentOf = ({ name, subject, scopes, roles, expiresAt }: Omit<Token, "id">) =>
    JSON.stringify([name, subject, [...scopes].sort(), [...roles].sort(), expiresAt]);
  return first === undefined || contentOf(first) !== contentOf(repeated)
    ? new Problem(
        "key-reused",
        "This Idempotency-Key was already used for a different request. Nothing was changed.",
      )
    : new Problem(
        "conflict",
        `The token ${id} was created with this Idempotency-Key, and its secret is shown only once. If you do not have the secret, revoke the token and create another with a new key.`,
      );
}

/** A fixed id, so that only one of several nodes that start on an empty store creates it. */
const firstId = "00000000-0000-7000-8000-000000000000";

function tokenOf(id: string, secret: string, request: CheckedTokenRequest, now: number): Token {
  return {
    id,
    hash: hashSecret(secret),
    name: request.name,
    subject: request.subject ?? id,
    scopes: [...new Set(request.scopes)],
    roles: [...new Set(request.roles)],
    createdAt: now,
    expiresAt: request.expiresAt,
    usedAt: null,
    revokedAt: null,
  };
}

const tokenNotFound = new Problem("not-found", "There is no token with this id.");
