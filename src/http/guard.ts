// Who may pass a door: the bearer token is read, judged and checked before anything else is looked at.

import { mayAdminister, mayDo, mayRun, nobody } from "../domain/access.ts";
import { Problem } from "../model/problem.ts";
import { type Soon, then } from "../model/soon.ts";
import { allows, holdsSecret, type Token, type Verb } from "../model/token.ts";
import type { Exchange } from "./exchange.ts";
import { challenge, Refusal } from "./problem.ts";
import { credentialIn } from "./query.ts";
import { refuseToken, refuseWrongToken } from "./rate.ts";

/** What is done to a collection. `put` creates or updates: only the state decides which it will be. */
type Deed = "put" | Verb;

/**
 * `anyone` needs no token, `token` a living one; a deed needs its scope on the collection in the
 * path, unless the collection opens it to everyone; `action` needs that of the action in the path.
 */
export type Who = "anyone" | "token" | "admin" | "action" | Deed;

const isDeed = (who: Who): who is Deed =>
  who !== "anyone" && who !== "token" && who !== "admin" && who !== "action";

/** Lets the caller in, or says why not. */
export function guard(exchange: Exchange, who: Who): Soon<Problem | undefined> {
  const refused = refuseCredential(exchange);
  if (refused !== undefined || who === "anyone") return refused;
  if (exchange.inClearText && exchange.house.tlsOnly) return clearText;
  const authorization = exchange.request.headers.get("authorization");
  if (authorization === null) return isDeed(who) ? judgeByRules(exchange, who) : nobody;
  const secret = readBearer(authorization);
  const { access } = exchange.house;
  if (secret === invalidToken) return refuseWrongToken(exchange) ?? secret;
  if (secret instanceof Problem) return secret;
  return then(access.identify(secret), (token) => {
    if (token === undefined) return refuseWrongToken(exchange) ?? invalidToken;
    exchange.caller = token;
    return refuseToken(exchange) ?? judge(exchange, token, who);
  });
}

function judge(
  exchange: Exchange,
  token: Token,
  who: Exclude<Who, "anyone">,
): Soon<Problem | undefined> {
  if (who === "token") return undefined;
  if (who === "admin") return mayAdminister(token);
  if (who === "action") return mayRun(token, exchange.param("name"));
  const name = exchange.param("collection");
  const isAllowed =
    who === "put"
      ? allows(token, name, "create") || allows(token, name, "update")
      : allows(token, name, who);
  // The scopes are at hand; the rules are looked at only where those do not suffice.
  return isAllowed ? undefined : judgeByRules(exchange, who);
}

/** A collection may open single verbs to everyone. */
function judgeByRules(exchange: Exchange, who: Deed): Soon<Problem | undefined> {
  const name = exchange.param("collection");
  return then(exchange.house.resources.rules(name), (rules) => {
    const refusal = (verb: Verb) => mayDo(exchange.caller, name, verb, rules);
    return who === "put" ? refusal("create") && refusal("update") : refusal(who);
  });
}

const clearText = new Problem(
  "tls-required",
  "Use https. A token that has travelled in clear text must be renewed.",
);

/** All failures look alike: a caller learns nothing about which tokens exist. */
const invalidToken = new Refusal(
  "unauthenticated",
  "The token is malformed, unknown, expired or revoked.",
  { "www-authenticate": challenge(', error="invalid_token"') },
);

const twoTokens = new Refusal("malformed-request", "Send one Authorization field with one token.", {
  "www-authenticate": challenge(', error="invalid_request"'),
});

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
  return anotherScheme.test(authorization) ? nobody : invalidToken;
}

/** A credential in the URL never authenticates: it is logged, cached and visible there. */
export function refuseCredential(exchange: Exchange): Problem | undefined {
  const name = credentialIn(exchange.query);
  const place = holdsSecret(exchange.path) ? "path" : name && `parameter ${name}`;
  if (place === undefined) return undefined;
  const advice =
    "URLs are logged, cached and visible; use the Authorization header, and renew the credential.";
  return exchange.request.headers.get("authorization") === null
    ? new Refusal("unauthenticated", `The ${place} is not accepted as a credential. ${advice}`, {
        "www-authenticate": challenge(),
      })
    : new Refusal("credential-in-url", `The ${place} looks like a credential. ${advice}`, {
        "www-authenticate": challenge(', error="invalid_request"'),
      });
}
