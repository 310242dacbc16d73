// Who may pass a door: the bearer token is read, judged and checked before anything else is looked at.

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
import { refuseToken, refuseWrongToken } from "./rate-limit.ts";
import { credentialIn } from "./search-params.ts";

/** What is done to a collection. `put` creates or updates: only the state decides which it will be. */
type CollectionPermission = "put" | Verb;

/**
 * `anyone` needs no token, `token` a living one; a deed needs its scope on the collection in the
 * path, unless the collection opens it to everyone; `action` needs that of the action in the path.
 */
export type Permission = "anyone" | "token" | "admin" | "action" | CollectionPermission;

const isCollectionPermission = (who: Permission): who is CollectionPermission =>
  who !== "anyone" && who !== "token" && who !== "admin" && who !== "action";

/** Lets the caller in, or says why not. */
export function authorize(
  context: RequestContext,
  who: Permission,
): MaybePromise<Problem | undefined> {
  const refused = rejectCredentialInUrl(context);
  if (refused !== undefined || who === "anyone") return refused;
  if (context.inClearText && context.services.tlsOnly) return clearText;
  const authorization = context.request.headers.get("authorization");
  if (authorization === null)
    return isCollectionPermission(who) ? checkCollectionAccess(context, who) : unauthenticated;
  const secret = readBearer(authorization);
  const { access } = context.services;
  if (secret === invalidToken) return refuseWrongToken(context) ?? secret;
  if (secret instanceof Problem) return secret;
  return then(access.identify(secret), (token) => {
    if (token === undefined) return refuseWrongToken(context) ?? invalidToken;
    context.caller = token;
    return refuseToken(context) ?? checkScopes(context, token, who);
  });
}

function checkScopes(
  context: RequestContext,
  token: Token,
  who: Exclude<Permission, "anyone">,
): MaybePromise<Problem | undefined> {
  if (who === "token") return undefined;
  if (who === "admin") return requireAdmin(token);
  if (who === "action") return requireActionScope(token, context.param("name"));
  const name = context.param("collection");
  const isAllowed =
    who === "put"
      ? allows(token, name, "create") || allows(token, name, "update")
      : allows(token, name, who);
  // The scopes are at hand; the rules are looked at only where those do not suffice.
  return isAllowed ? undefined : checkCollectionAccess(context, who);
}

/** A collection may open single verbs to everyone. */
function checkCollectionAccess(
  context: RequestContext,
  who: CollectionPermission,
): MaybePromise<Problem | undefined> {
  const name = context.param("collection");
  return then(context.services.resources.rules(name), (rules) => {
    const refusal = (verb: Verb) => requirePermission(context.caller, name, verb, rules);
    return who === "put" ? refusal("create") && refusal("update") : refusal(who);
  });
}

const clearText = new Problem(
  "tls-required",
  "Use https. A token that has travelled in clear text must be renewed.",
);

/** All failures look alike: a caller learns nothing about which tokens exist. */
const invalidToken = new HttpProblem(
  "unauthenticated",
  "The token is malformed, unknown, expired or revoked.",
  { "www-authenticate": challenge(', error="invalid_token"') },
);

const twoTokens = new HttpProblem(
  "malformed-request",
  "Send one Authorization field with one token.",
  {
    "www-authenticate": challenge(', error="invalid_request"'),
  },
);

const anotherScheme = /^(?!bearer(?: |$))[!#$%&'*+.^_`|~0-9A-Za-z-]+(?: |$)/i;
/** Two lines arrive joined by a comma. Other schemes have commas of their own, between `name=value`. */
const nextCredentials = /, *[!#$%&'*+.^_`|~0-9A-Za-z-]+ +[^ =,]/;
const bearerList = /^bearer [^,]*,/i;
const quoted = /"[^"]*"/g;
const bearer = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

function readBearer(authorization: string): string | Problem {
  const [, secret] = bearer.exec(authorization) ?? [];
  if (secret !== undefined) return secret;
  const unquoted = authorization.replace(quoted, "");
  if (bearerList.test(unquoted) || nextCredentials.test(unquoted)) return twoTokens;
  return anotherScheme.test(authorization) ? unauthenticated : invalidToken;
}

/** A credential in the URL never authenticates: it is logged, cached and visible there. */
export function rejectCredentialInUrl(context: RequestContext): Problem | undefined {
  const name = credentialIn(context.query);
  const place = holdsSecret(context.path) ? "path" : name && `parameter ${name}`;
  if (place === undefined) return undefined;
  const advice =
    "URLs are logged, cached and visible; use the Authorization header, and renew the credential.";
  return context.request.headers.get("authorization") === null
    ? new HttpProblem(
        "unauthenticated",
        `The ${place} is not accepted as a credential. ${advice}`,
        {
          "www-authenticate": challenge(),
        },
      )
    : new HttpProblem("credential-in-url", `The ${place} looks like a credential. ${advice}`, {
        "www-authenticate": challenge(', error="invalid_request"'),
      });
}
