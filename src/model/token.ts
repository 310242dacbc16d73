// Access tokens: the stored record, and what the scopes allow.

/**
 * The stored record of a token. The secret is returned once and never stored. A code that signs the console
 * in is stored as one, too; its secret is of another kind, so that it authenticates no request.
 */
export interface Token {
  readonly id: string;
  /** SHA-256 of the secret, in hex. A 256-bit random secret needs no slow hash. */
  readonly hash: string;
  readonly name: string;
  /** The owner of what the token creates. By default the id of the token. */
  readonly subject: string;
  readonly scopes: readonly Scope[];
  /** Names of roles. Those in the access document give further scopes. */
  readonly roles: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly usedAt: number | null;
  readonly revokedAt: number | null;
}

/** A subject has 1 to 128 printable ASCII characters. */
export const subjectPattern = /^[ -~]{1,128}$/;

export const subjectMessage = "must have 1 to 128 printable ASCII characters";

export const verbs = ["read", "create", "update", "delete"] as const;
export type Verb = (typeof verbs)[number];

/**
 * `admin`, `metrics`, `{collection|*}:{verb|*}`, `action:{name|*}` or `issue:{role|*}`. No action has the
 * name of a verb. What begins with `issue` is never the scope of a collection.
 */
export type Scope = string;

export const scopePattern =
  /^(?:admin|metrics|action:(?:\*|[a-z0-9][a-z0-9-]{0,62})|issue:[a-z][a-z0-9_-]{0,62}|(?:\*|[a-z0-9][a-z0-9_-]{0,62}):(?:\*|read|create|update|delete))$/;

/** Allows every action. It does not allow every verb on a collection named `action`. */
const everyAction = "action:*";

const issuing = "issue";
/** Allows issuing tokens of every role. `*:*` does not. */
const everyRole = `${issuing}:*`;

/** A token, or a principal that came by one. */
interface Scoped {
  readonly scopes: readonly Scope[];
}

export const isAdmin = ({ scopes }: Scoped): boolean => scopes.includes("admin");

export const readsMetrics = (scoped: Scoped): boolean =>
  isAdmin(scoped) || scoped.scopes.includes("metrics");

/** Whether the scopes allow the verb on the collection. */
export function allows({ scopes }: Scoped, collection: string, verb: Verb): boolean {
  for (const scope of scopes) {
    if (scope === "admin") return true;
    const colon = scope.indexOf(":");
    const scopeCollection = scope.slice(0, colon);
    const scopeVerb = scope.slice(colon + 1);
    const isMatch =
      scopeCollection === "*" || (scopeCollection === collection && collection !== issuing);
    if (isMatch && (scopeVerb === verb || (scopeVerb === "*" && scope !== everyAction)))
      return true;
  }
  return false;
}

/** Whether the scopes allow the action. `*:*` covers collections only. */
export const allowsAction = ({ scopes }: Scoped, name: string): boolean =>
  scopes.some((scope) => scope === "admin" || scope === everyAction || scope === actionScope(name));

/** Whether the scopes allow whatever this one allows. */
export function allowsScope(scoped: Scoped, scope: Scope): boolean {
  if (scoped.scopes.includes(scope) || isAdmin(scoped)) return true;
  const colon = scope.indexOf(":");
  const [collection, verb] = [scope.slice(0, colon), scope.slice(colon + 1)];
  if (collection === issuing) return allowsIssuing(scoped, verb);
  if (isVerb(verb)) return allows(scoped, collection, verb);
  return collection === "action" && allowsAction(scoped, verb);
}

const isVerb = (name: string): name is Verb => (verbs as readonly string[]).includes(name);

export const actionScope = (name: string): Scope => `action:${name}`;

export const issueScope = (role: string): Scope => `${issuing}:${role}`;

/** Whether the scopes allow issuing tokens of the role, without those of administrators. */
export const allowsIssuing = ({ scopes }: Scoped, role: string): boolean =>
  scopes.includes(everyRole) || scopes.includes(issueScope(role));

/** Whether the scopes allow issuing some tokens. */
export const isIssuer = (scoped: Scoped): boolean =>
  isAdmin(scoped) || scoped.scopes.some((scope) => scope.startsWith(issueScope("")));

export const isAlive = (token: Token, now: number): boolean =>
  token.revokedAt === null && (token.expiresAt === null || token.expiresAt > now);

/** The id of a code, from its hash. */
export const codeIdOf = (hash: string): string => `-${hash}`;

/** The ids of codes sort before all those of tokens, so that lists and counts begin behind them. */
export const firstTokenId = "0";

export const isCode = ({ id }: Pick<Token, "id">): boolean => id < firstTokenId;
