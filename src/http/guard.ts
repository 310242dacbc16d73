// Who may pass a door: the bearer token is read, judged and checked before anything else is looked at.

import { mayAdminister, mayDo } from "../domain/access.ts";
import { Problem } from "../model/problem.ts";
import { type Soon, then } from "../model/soon.ts";
import type { Token, Verb } from "../model/token.ts";
import type { Exchange } from "./exchange.ts";
import { challenge, Refusal } from "./problem.ts";
import { credentialIn } from "./query.ts";

/**
 * `anyone` needs no token, `token` a living one; a verb needs its scope on the collection in the
 * path, `put` that of creating or of updating, because only the state decides which it will be.
 */
export type Who = "anyone" | "token" | "admin" | "put" | Verb;

/** Lets the caller in, or says why not. */
export function guard(exchange: Exchange, who: Who): Soon<Problem | undefined> {
  const refused = refuseCredential(exchange);
  if (refused !== undefined || who === "anyone") return refused;
  if (exchange.inClearText && exchange.house.tlsOnly) return clearText;
  const secret = readBearer(exchange.request.headers.get("authorization"));
  if (secret instanceof Problem) return secret;
  return then(exchange.house.access.identify(secret), (token) => {
    if (token === undefined) return invalidToken;
    exchange.caller = token;
    return judge(token, who, exchange.param("collection"));
  });
}

function judge(token: Token, who: Exclude<Who, "anyone">, collection: string) {
  switch (who) {
    case "token":
      return undefined;
    case "admin":
      return mayAdminister(token);
    case "put":
      return mayDo(token, collection, "create") && mayDo(token, collection, "update");
    default:
      return mayDo(token, collection, who);
  }
}

const clearText = new Problem(
  "tls-required",
  "Use https. A token that has travelled in clear text must be renewed.",
);

const missingToken = new Refusal(
  "unauthenticated",
  "Send a token: `Authorization: Bearer rst_…`.",
  { "www-authenticate": challenge() },
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
const twoCredentials = /^bearer .*,|, *[!#$%&'*+.^_`|~0-9A-Za-z-]+ +[^ =,]/i;
const quoted = /"[^"]*"/g;
const bearer = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

function readBearer(authorization: string | null): string | Problem {
  if (authorization === null) return missingToken;
  const [, secret] = bearer.exec(authorization) ?? [];
  if (secret !== undefined) return secret;
  if (twoCredentials.test(authorization.replace(quoted, ""))) return twoTokens;
  return anotherScheme.test(authorization) ? missingToken : invalidToken;
}

/** A credential in the URL never authenticates: it is logged, cached and visible there. */
export function refuseCredential(exchange: Exchange): Problem | undefined {
  const name = credentialIn(exchange.query);
  if (name === undefined) return undefined;
  const advice =
    "URLs are logged, cached and visible; use the Authorization header, and renew the credential.";
  return exchange.request.headers.get("authorization") === null
    ? new Refusal(
        "unauthenticated",
        `The parameter ${name} is not accepted as a credential. ${advice}`,
        {
          "www-authenticate": challenge(),
        },
      )
    : new Refusal("credential-in-url", `The parameter ${name} looks like a credential. ${advice}`, {
        "www-authenticate": challenge(', error="invalid_request"'),
      });
}
