// Repeats responses to GET while the state they were made from is current, without running the request again.

import type { CollectionAccess } from "../domain/collection-access.ts";
import { isRepeatable } from "../domain/view.ts";
import { fieldName } from "../lib/field-lines.ts";
import { ownText } from "../lib/own-text.ts";
import { RecentMap } from "../lib/recent-map.ts";
import { again, type Reply } from "../lib/reply.ts";
import { anonymous, type Principal } from "../model/principal.ts";
import type { Problem } from "../model/problem.ts";
import type { Scope } from "../model/token.ts";
import { checkHost } from "./request/check-host.ts";
import type { RequestContext, RouteName, Services } from "./request/context.ts";
import { limitAddress, limitToken } from "./request/rate-limit.ts";
import type { CollectionRepeat } from "./response/representation.ts";

/** The limit for all responses, whose bodies the store's own cache holds in part. */
const maxBytes = 40 * 1024 * 1024;
/** The approximate size of a response without its body. */
const overheadBytes = 2_048;
/** One address has few variants: by Accept, by coding, with the ETag or without it, and by the fields that are shown. */
const maxVariants = 4;
const maxRecentFields = 8;
/** Clients that repeat a request send little more than a tag. Longer fields would be kept for nothing. */
const maxFieldBytes = 2_048;

/** Every request header that the response to a GET can depend on, besides Authorization. */
interface RequestFields {
  readonly host: string | null;
  readonly accept: string | null;
  readonly acceptEncoding: string | null;
  readonly ifNoneMatch: string | null;
  /** Their size. */
  readonly bytes: number;
}

/** A reply that is kept, and for whom it was found to be current. */
interface Prepared {
  readonly reply: Reply;
  readonly repeat: CollectionRepeat;
  readonly requestFields: RequestFields;
  /** Whose access was checked last, and at which version of the store. */
  principal: Principal | undefined;
  version: number;
  /** The scopes of that principal, if every caller with the same ones gets the same response. */
  scopes: readonly Scope[] | undefined;
  readonly route: RouteName | undefined;
  readonly path: string;
  /** The next response for the same URL. */
  next: Prepared | undefined;
  readonly collection: string;
  readonly isAdmin: boolean;
}

/** A caller who was identified at this version of the store. */
interface IdentifiedCaller {
  readonly authorization: string;
  readonly principal: Principal;
  readonly version: number;
}

/** What a caller may do with a collection, at this version of the store. */
interface Opened {
  readonly version: number;
  readonly access: CollectionAccess;
}

const requestIdName = fieldName("X-Request-Id");

/** A reply that is repeated has a body that is known. */
const lengthOf = ({ body }: Reply): number =>
  typeof body === "string" || body instanceof Uint8Array ? body.length : 0;

function weigh(first: Prepared, key: string): number {
  let sum = key.length;
  for (let one: Prepared | undefined = first; one; one = one.next)
    sum += overheadBytes + one.requestFields.bytes + lengthOf(one.reply);
  return sum;
}

export class PreparedResponses {
  readonly services: Services;
  /** By URL; responses of one caller by URL and Authorization. */
  readonly #variants = new RecentMap<string, Prepared>(maxBytes, weigh);
  #recentFields: readonly RequestFields[] = [];
  /** Consecutive requests often have the same caller. */
  #lastCaller: IdentifiedCaller | undefined;
  /** The collection that a caller read last. */
  readonly #opened = new WeakMap<Principal, Opened>();

  constructor(services: Services) {
    this.services = services;
  }

  /** Returns the response, or undefined when the request has to be run. A repeated request is counted. */
  find(context: RequestContext): Reply | Problem | undefined {
    const { request, method } = context;
    if (method !== "GET") return undefined;
    const prepared = this.#find(context, request.url) ?? this.#find(context, ownKey(request));
    if (prepared === undefined) return undefined;
    context.path = prepared.path;
    context.route = prepared.route;
    const rejected = checkHost(context, prepared.requestFields.host) ?? countRequest(context);
    if (rejected !== undefined) return rejected;
    const reply = again(prepared.reply);
    reply.fields.add(requestIdName, context.requestId);
    return reply;
  }

  /** Returns the response that this caller would get now. Sets the principal. */
  #find(context: RequestContext, key: string): Prepared | undefined {
    const first = this.#variants.get(key);
    const { headers } = context.request;
    if (first === undefined || hasOtherPreconditions(headers)) return undefined;
    // First, because a commit after it has another number.
    const version = this.services.storeVersion();
    const principal = version === undefined ? undefined : this.#identify(context, version);
    if (version === undefined || principal === undefined) return undefined;
    context.principal = principal;
    let each: Prepared | undefined = first;
    while (each && !(areIn(headers, each.requestFields) && this.#isValid(each, principal, version)))
      each = each.next;
    return each;
  }

  /** Keeps the reply to a request that was run with these services, if it can be repeated. */
  add(context: RequestContext, reply: Reply): void {
    const { request, method, path, route, services } = context;
    // The application has made it, and says here what `Access` is.
    const repeat = reply.repeat as CollectionRepeat | undefined;
    if (repeat === undefined || method !== "GET" || services !== this.services) return;
    const { collection } = context;
    const { headers, url } = request;
    if (hasOtherPreconditions(headers) || this.services.storeVersion() === undefined) return;
    const requestFields = this.#sharedFields(headers);
    if (requestFields.bytes > maxFieldBytes) return;
    // Without spreading, which would put most members outside of the object.
    const added: Prepared = {
      reply: again(reply),
      repeat,
      requestFields,
      // The first repetition checks the state, which may have changed since it was read.
      principal: undefined,
      version: -1,
      scopes: undefined,
      route,
      path,
      next: undefined,
      collection: collection.name,
      isAdmin: collection.isAdmin,
    };
    // A resource is told apart by its mask.
    const isOwn = repeat.dependsOn !== "collection" && repeat.mask === undefined;
    const key = isOwn ? ownKey(request) : url;
    added.next = othersThan(added, this.#variants.get(key), maxVariants - 1);
    this.#variants.set(key, added);
  }

  /** Most clients send the same fields with every request. One object for all stays in the processor's cache. */
  #sharedFields(headers: Headers): RequestFields {
    const known = this.#recentFields.find((fields) => areIn(headers, fields));
    if (known !== undefined) return known;
    const fields = fieldsIn(headers);
    if (fields.bytes > maxFieldBytes) return fields;
    this.#recentFields = [fields, ...this.#recentFields.slice(0, maxRecentFields - 1)];
    return fields;
  }

  #isValid(prepared: Prepared, principal: Principal, version: number): boolean {
    if (version === prepared.version) {
      if (principal === prepared.principal || principal.scopes === prepared.scopes) return true;
    }
    const opened = this.#open(principal, prepared.collection, version);
    if (opened?.isAdmin !== prepared.isAdmin || !prepared.repeat.isCurrentFor(opened)) return false;
    prepared.version = version;
    prepared.principal = principal;
    // A caller with roles has a list of scopes of its own.
    const isShared =
      prepared.repeat.dependsOn === "collection" && opened.view("read").dependsOn === "collection";
    prepared.scopes = isShared ? principal.scopes : undefined;
    return true;
  }

  /** Returns the same object while nothing changes. */
  #open(principal: Principal, name: string, version: number): CollectionAccess | undefined {
    const known = this.#opened.get(principal);
    if (known?.version === version && known.access.name === name) return known.access;
    const access = this.services.access.collection(principal, name);
    if (access instanceof Promise) return undefined;
    if (isRepeatable(access.view("read").dependsOn))
      this.#opened.set(principal, { version, access });
    return access;
  }

  /** Returns undefined when the credentials are not accepted; the request is run to say why. */
  #identify(context: RequestContext, version: number): Principal | undefined {
    const { proxies, tlsOnly, access } = this.services;
    if (!proxies.isEmpty) readForwarded(context);
    const authorization = context.request.headers.get("authorization");
    if (authorization === null) return anonymous;
    if (context.inClearText && tlsOnly) return undefined;
    const last = this.#lastCaller;
    if (last?.authorization === authorization && last.version === version)
      return access.callers.use(last.principal, context.startTime) ? last.principal : undefined;
    // What is spelled in another way is read by `authorize`.
    const isBearer = authorization.startsWith("Bearer ");
    const principal = isBearer ? access.callers.identify(authorization.slice(7)) : undefined;
    if (principal === undefined || principal instanceof Promise) return undefined;
    this.#lastCaller = { authorization, principal, version };
    return principal;
  }
}

/** Reads the client's address, and whether it uses TLS, from the fields that a trusted proxy adds. */
export function readForwarded(context: RequestContext): void {
  const { headers } = context.request;
  const { proxies } = context.services;
  const peer = context.client.peerAddress();
  context.clientAddress = proxies.clientAddress(peer, headers.get("x-forwarded-for"));
  context.inClearText = proxies.isClearText(peer, headers.get("x-forwarded-proto"));
}

function fieldsIn(headers: Headers): RequestFields {
  const names = ["host", "accept", "accept-encoding", "if-none-match"] as const;
  const values = names.map((name) => headers.get(name));
  const [host = null, accept = null, acceptEncoding = null, ifNoneMatch = null] = values.map(
    (value) => value && ownText(value),
  );
  const bytes = values.reduce((sum, value) => sum + (value?.length ?? 0), 0);
  return { host, accept, acceptEncoding, ifNoneMatch, bytes };
}

const areIn = (headers: Headers, fields: RequestFields): boolean =>
  fields.ifNoneMatch === headers.get("if-none-match") &&
  fields.acceptEncoding === headers.get("accept-encoding") &&
  fields.accept === headers.get("accept") &&
  fields.host === headers.get("host");

/** These are rare, so requests with them are run. */
const hasOtherPreconditions = (headers: Headers): boolean =>
  headers.has("if-modified-since") || headers.has("if-match") || headers.has("if-unmodified-since");

/** A URL has no line break. */
const ownKey = ({ url, headers }: Request): string => `${url}\n${headers.get("authorization")}`;

/** Returns the first of up to `limit` responses for other request fields, or shown in another way. */
function othersThan(
  added: Prepared,
  first: Prepared | undefined,
  limit: number,
): Prepared | undefined {
  if (first === undefined || limit === 0) return undefined;
  if (first.requestFields === added.requestFields && first.repeat.mask === added.repeat.mask)
    return othersThan(added, first.next, limit);
  first.next = othersThan(added, first.next, limit - 1);
  return first;
}

/** Counts against the rate limits, in the order of a request that is run. */
function countRequest(context: RequestContext): Problem | undefined {
  const { rateLimitPerAddress, rateLimitPerToken } = context.services;
  if (rateLimitPerAddress === 0 && rateLimitPerToken === 0) return undefined;
  return limitAddress(context) ?? limitToken(context);
}
