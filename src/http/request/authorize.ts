// Authenticates the bearer token of a request, and asks the domain whether its caller may use the route.

import {
  requireActionScope,
  requireAdmin,
  requireIssuer,
  requireMetrics,
  requireToken,
} from "../../domain/access.ts";
import { unauthenticated } from "../../domain/problems.ts";
import { requireSignedUrls, signerLostAccess, wrongSignature } from "../../domain/signed-urls.ts";
import { type MaybePromise, then } from "../../lib/maybe-promise.ts";
import { Problem } from "../../model/problem.ts";
import { holdsSecret } from "../../model/secret.ts";
import { challenge, HttpProblem } from "../headers/http-problem.ts";
import { isCsv, isNdjson } from "../headers/media-type.ts";
import type { RequestContext } from "./context.ts";
import type { Permission } from "./permission.ts";
import { limitToken, limitWrongTokens } from "./rate-limit.ts";
import { findCredential } from "./request-target.ts";
import { signatureName, splitSignature, withQuery } from "./signature.ts";

/** Returns a problem when the caller may not use the route; sets `permission`, `principal` and `collection`. */
export function authorize(
  context: RequestContext,
  permission: Permission,
): MaybePromise<Problem | undefined> {
  context.permission = permission;
  const rejected = rejectCredentialInUrl(context);
  if (rejected !== undefined || permission === "anyone") return rejected;
  if (permission === "read" && isSigned(context)) return authorizeSigned(context);
  const authorization = context.request.headers.get("authorization");
  if (permission === "optional-token" && authorization === null) return undefined;
  if (context.inClearText && context.services.tlsOnly) return tlsRequired;
  if (authorization === null) return checkPermission(context, permission);
  const secret = readBearer(authorization);
  if (secret === invalidToken) return limitWrongTokens(context) ?? secret;
  if (secret instanceof Problem) return secret;
  return then(context.services.access.callers.identify(secret), (principal) => {
    if (principal === undefined) return limitWrongTokens(context) ?? invalidToken;
    context.principal = principal;
    const isLimited = context.services.rateLimitPerToken > 0;
    return (isLimited && limitToken(context)) || checkPermission(context, permission);
  });
}

/** Does so again after the body was waited for: sets `principal` and `collection` as they are now. */
export function authorizeAgain(context: RequestContext): MaybePromise<Problem | undefined> {
  const { permission } = context;
  if (permission === "anyone") return undefined;
  return then(context.services.access.callers.renew(context.principal), (current) => {
    if (current instanceof Problem) return current;
    context.principal = current;
    const needsNone = permission === "optional-token" && current.kind === "anonymous";
    return needsNone ? undefined : checkPermission(context, permission);
  });
}

/** Only files have signed URLs. */
const isSigned = ({ params, query, searchParams }: RequestContext): boolean =>
  query !== "" &&
  params.name !== undefined &&
  searchParams.some(([name]) => name === signatureName);

/** The request goes on as one of the signer, without the signature in its query. */
function authorizeSigned(context: RequestContext): MaybePromise<Problem | undefined> {
  const { services, request, path, query } = context;
  if (request.headers.has("authorization")) return twoCredentials;
  if (context.inClearText && services.tlsOnly) return tlsRequired;
  const { parameters, signature } = splitSignature(query) ?? {};
  if (parameters === undefined || signature === undefined) return wrongSignature;
  return then(services.signedUrls.open(withQuery(path, parameters), signature), (signed) => {
    if (signed instanceof Problem) return signed;
    context.principal = signed.signer;
    context.signed = signed;
    context.query = parameters;
    return then(checkPermission(context, "read"), (rejected) =>
      (rejected ?? requireSignedUrls(context.collection)) === undefined
        ? undefined
        : signerLostAccess,
    );
  });
}

/** Asks the domain before anything else of the request is read. */
function checkPermission(
  context: RequestContext,
  permission: Exclude<Permission, "anyone">,
): MaybePromise<Problem | undefined> {
  const { principal, services } = context;
  if (permission === "token" || permission === "optional-token") return requireToken(principal);
  if (permission === "admin") return requireAdmin(principal);
  if (permission === "metrics") return requireMetrics(principal);
  if (permission === "issue") return requireIssuer(principal);
  if (permission === "action") return requireActionScope(principal, context.param("name"));
  const asked = permission === "create" && isUpsert(context) ? "put" : permission;
  const { collection = "", id } = context.params;
  return then(services.access.open(principal, collection, asked, id), (opened) => {
    if (opened instanceof Problem) return opened;
    context.collection = opened;
    return undefined;
  });
}

/** Whether each line creates or replaces a resource, which is decided line by line. */
function isUpsert({ query, searchParams, request: { headers } }: RequestContext): boolean {
  const hasKey = query !== "" && searchParams.some(([name]) => name === "key");
  return hasKey && (isNdjson(headers) || isCsv(headers));
}

const twoCredentials = new Problem(
  "malformed-request",
  "The URL is signed. Send it without Authorization, or send the token with the URL of the file.",
);

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

const queryAdvice = " To filter by a field of this name, send the filter with QUERY.";

/** Rejects a credential in the URL, where it would be logged, cached and visible. */
export function rejectCredentialInUrl(context: RequestContext): Problem | undefined {
  const name = context.query === "" ? undefined : findCredential(context.searchParams);
  const location = holdsSecret(context.path) ? "path" : name && `parameter ${name}`;
  if (location === undefined) return undefined;
  const isFilter = !holdsSecret(context.path) && !holdsSecret(context.query);
  const advice = `URLs are logged, cached and visible. Use the Authorization header, and replace the credential.${isFilter ? queryAdvice : ""}`;
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
