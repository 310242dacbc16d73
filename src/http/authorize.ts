// Authenticates the bearer token of a request and checks the permission of its route.

import {
  requireActionScope,
  requireAdmin,
  requirePermission,
  unauthenticated,
} from "../domain/access.ts";
import { type MaybePromise, then } from "../lib/maybe-promise.ts";
import { Problem } from "../model/problem.ts";
import { allows, holdsSecret, type Token, type Verb } from "../model/token.ts";
import type { RequestContext } from "./context.ts";
import { challenge, HttpProblem } from "./problem.ts";
import { limitToken, limitWrongTokens } from "./rate-limit.ts";
import { findCredential } from "./search-params.ts";

/** What a route does to a collection. `put` creates or updates, depending on the current state. */
type CollectionPermission = "put" | Verb;

/**
 * `anyone` needs no token and `token` a valid one; with `optional-token` a token that is sent must be
 * valid. A verb needs its scope on the collection in the
 * path, unless the collection is public for it; `action` needs the scope of the action in the path.
 */
export type Permission =
  | "anyone"
  | "optional-token"
  | "token"
  | "admin"
  | "action"
  | CollectionPermission;

const isCollectionPermission = (permission: Permission): permission is CollectionPermission =>
  permission !== "anyone" &&
  permission !== "optional-token" &&
  permission !== "token" &&
  permission !== "admin" &&
  permission !== "action";

/** Returns a problem when the caller may not use the route; sets `context.caller`. */
export function authorize(
  context: RequestContext,
  permission: Permission,
): MaybePromise<Problem | undefined> {
  const rejected = rejectCredentialInUrl(context);
  if (rejected !== undefined || permission === "anyone") return rejected;
  const authorization = context.request.headers.get("authorization");
  if (permission === "optional-token" && authorization === null) return undefined;
  if (context.inClearText && context.services.tlsOnly) return tlsRequired;
  if (authorization === null)
    return isCollectionPermission(permission)
      ? checkCollectionAccess(context, permission)
      : unauthenticated;
  const secret = readBearer(authorization);
  const { access } = context.services;
  if (secret === invalidToken) return limitWrongTokens(context) ?? secret;
  if (secret instanceof Problem) return secret;
  return then(access.identify(secret), (token) => {
    if (token === undefined) return limitWrongTokens(context) ?? invalidToken;
    context.caller = token;
    return limitToken(context) ?? checkScopes(context, token, permission);
  });
}

function checkScopes(
  context: RequestContext,
  token: Token,
  permission: Exclude<Permission, "anyone">,
): MaybePromise<Problem | undefined> {
  if (permission === "token" || permission === "optional-token") return undefined;
  if (permission === "admin") return requireAdmin(token);
  if (permission === "action") return requireActionScope(token, context.param("name"));
  const name = context.param("collection");
  const isAllowed =
    permission === "put"
      ? allows(token, name, "create") || allows(token, name, "update")
      : allows(token, name, permission);
  // The scopes are already loaded; the rules are read only when the scopes are not enough.
  return isAllowed ? undefined : checkCollectionAccess(context, permission);
}

/** Checks whether the collection is public for the verb. */
function checkCollectionAccess(
  context: RequestContext,
  permission: CollectionPermission,
): MaybePromise<Problem | undefined> {
  const name = context.param("collection");
  return then(context.services.resources.rules(name), (rules) => {
    const check = (verb: Verb) => requirePermission(context.caller, name, verb, rules);
    return permission === "put" ? check("create") && check("update") : check(permission);
  });
}

const tlsRequired = new Problem(
  "tls-required",
  "Use https. Replace the token: it was sent without encryption.",
);

/** All failures look alike, so that a caller learns nothing about existing tokens. */
const invalidToken = new HttpProblem(
  "unauthenticated",
  "The token is malformed, unknown, expired or revoked.",
  { "www-authenticate": challenge(', error="invalid_token"') },
);

const multipleTokens = new HttpProblem(
  "malformed-request",
  "Send one Authorization field with one token.",
  {
    "www-authenticate": challenge(', error="invalid_request"'),
  },
);

const otherScheme = /^(?!bearer(?: |$))[!#$%&'*+.^_`|~0-9A-Za-z-]+(?: |$)/i;
/** Two header lines arrive joined by a comma. Other schemes have commas between `name=value` pairs. */
const nextCredentials = /, *[!#$%&'*+.^_`|~0-9A-Za-z-]+ +[^ =,]/;
const bearerList = /^bearer [^,]*,/i;
const quoted = /"[^"]*"/g;
const bearer = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

function readBearer(authorization: string): string | Problem {
  const [, secret] = bearer.exec(authorization) ?? [];
  if (secret !== undefined) return secret;
  const unquoted = authorization.replace(quoted, "");
  if (bearerList.test(unquoted) || nextCredentials.test(unquoted)) return multipleTokens;
  return otherScheme.test(authorization) ? unauthenticated : invalidToken;
}

/** Rejects a credential in the URL, where it would be logged, cached and visible. */
export function rejectCredentialInUrl(context: RequestContext): Problem | undefined {
  const name = findCredential(context.query);
  const location = holdsSecret(context.path) ? "path" : name && `parameter ${name}`;
  if (location === undefined) return undefined;
  const advice =
    "URLs are logged, cached and visible. Use the Authorization header, and replace the credential.";
  return context.request.headers.get("authorization") === null
    ? new HttpProblem(
        "unauthenticated",
        `The ${location} is not accepted as a credential. ${advice}`,
        {
          "www-authenticate": challenge(),
        },
      )
    : new HttpProblem("credential-in-url", `The ${location} looks like a credential. ${advice}`, {
        "www-authenticate": challenge(', error="invalid_request"'),
      });
}
