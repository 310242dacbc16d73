// Defines the context of one request, and the services that all requests share.

import { randomBytes } from "node:crypto";
import type { Access } from "../../domain/access.ts";
import type { AccessDocuments } from "../../domain/access-documents.ts";
import type { Actions } from "../../domain/actions.ts";
import type { Backups } from "../../domain/backups.ts";
import type { CollectionAccess } from "../../domain/collection-access.ts";
import type { Collections } from "../../domain/collections.ts";
import type { Expander } from "../../domain/expand.ts";
import type { Feeds } from "../../domain/feeds.ts";
import type { Lists, ReadOptions } from "../../domain/lists.ts";
import type { Pictures } from "../../domain/pictures.ts";
import type { Resources } from "../../domain/resources.ts";
import type { ResumableUploads } from "../../domain/resumable-uploads.ts";
import type { Rights } from "../../domain/rights/rights.ts";
import type { Settings } from "../../domain/settings.ts";
import type { Signed, SignedUrls } from "../../domain/signed-urls.ts";
import type { QueryRun, SlowQueries, SlowQuery } from "../../domain/slow-queries.ts";
import type { Status } from "../../domain/status.ts";
import type { Tokens } from "../../domain/tokens.ts";
import type { Uploads } from "../../domain/uploads.ts";
import type { Writes } from "../../domain/write/writes.ts";
import { type Client, noClient } from "../../lib/client.ts";
import { networkOf } from "../../lib/ip-address.ts";
import type { MaybePromise } from "../../lib/maybe-promise.ts";
import { type MemoryBudget, Reservation } from "../../lib/memory-budget.ts";
import type { MetricFamily } from "../../lib/metrics.ts";
import type { Reply, SharedFields } from "../../lib/reply.ts";
import type { Trace, Traces } from "../../lib/traces.ts";
import { anonymous, type Principal } from "../../model/principal.ts";
import type { Problem, ProblemKind } from "../../model/problem.ts";
import type { Proxies } from "../headers/forwarded.ts";
import type { AllowedHosts } from "../headers/host.ts";
import type { Permission } from "./permission.ts";
import { readSearchParams, type SearchParams } from "./request-target.ts";
import type { Quota, RateLimitBuckets } from "./token-buckets.ts";

/** The services and settings that all requests share. */
export interface Services {
  readonly access: Access;
  readonly accessDocuments: AccessDocuments;
  readonly resources: Resources;
  readonly lists: Lists;
  readonly expander: Expander;
  readonly slowQueries: SlowQueries;
  readonly backups: Backups;
  readonly status: Status;
  readonly settings: Settings;
  readonly feeds: Feeds;
  readonly rights: Rights;
  readonly tokens: Tokens;
  readonly collections: Collections;
  readonly writes: Writes;
  readonly uploads: Uploads;
  readonly signedUrls: SignedUrls;
  readonly resumableUploads: ResumableUploads;
  readonly pictures: Pictures;
  readonly actions: Actions;
  /** Returns why writes are not possible now, or undefined. */
  readonly unready: () => string | undefined | Promise<string | undefined>;
  /** Returns why files cannot be read and saved now, or undefined. */
  readonly filesUnready: () => string | undefined | Promise<string | undefined>;
  /** The public base URL without a trailing slash; empty makes links absolute paths. */
  readonly base: string;
  /** The public URL of what the paths of requests are below: the same, but that of the website for its requests. */
  readonly pathBase: string;
  /** The path that requests to the API are below; empty when the API has the whole server. */
  readonly apiPath: string;
  /** The services of the requests that are not below it. */
  readonly outside: Services | undefined;
  /** Set in those: answers the requests. */
  readonly website: ((context: RequestContext) => Promise<Reply | Problem>) | undefined;
  /** On every reply. */
  readonly commonFields: SharedFields;
  /** The same for negotiated JSON, with Vary. */
  readonly jsonFields: SharedFields;
  /** The same for problems. */
  readonly problemFields: SharedFields;
  readonly corsOrigins: "*" | ReadonlySet<string>;
  readonly proxies: Proxies;
  readonly allowedHosts: AllowedHosts;
  readonly rateLimits: RateLimitBuckets;
  /** Requests a minute; 0 for no limit. */
  readonly rateLimitPerAddress: number;
  readonly rateLimitPerToken: number;
  /** Counts the bytes of all requests and responses in flight. */
  readonly memory: MemoryBudget;
  readonly tlsOnly: boolean;
  /** The version of the store, as long as it is known without a read. */
  readonly storeVersion: () => number | undefined;
  readonly maxBodyBytes: number;
  /** How long an Idempotency-Key is stored. */
  readonly keyLifetimeMs: number;
  /** The limit of a body with files. */
  readonly maxUploadBytes: number;
  /** The limit of all unfinished uploads. */
  readonly maxUnfinishedBytes: number;
  /** Handles a request that has arrived in several ones. */
  readonly perform: (context: RequestContext) => MaybePromise<Reply | Problem>;
  readonly version: string;
  /** The files of the console by name: undefined when it is switched off, none when it is not built. */
  readonly consoleFiles: ReadonlyMap<string, string> | undefined;
  /** Undefined when no collector is configured. */
  readonly traces: Traces | undefined;
  readonly measureRequest: (context: RequestContext, status: number, ms: number) => void;
  /** How many requests this process has answered. */
  readonly answered: () => number;
  /** The metrics of all processes. */
  readonly metrics: () => MaybePromise<readonly MetricFamily[]>;
  readonly logRequest: ((context: RequestContext, status: number, ms: number) => void) | undefined;
  readonly logRefusal: (requestId: string, status: number, detail: string, cause?: unknown) => void;
  readonly logFailure: (context: RequestContext, thrown: unknown) => void;
  readonly logSlowQuery: (
    context: RequestContext,
    slow: SlowQuery,
    run: Pick<QueryRun, "milliseconds" | "checked" | "isStopped">,
  ) => void;
}

/** What requests use that begin now. A reload replaces the services; a request reads them once. */
export interface CurrentServices {
  readonly services: Services;
}

/** The method and path of a route, by which requests are measured. The same object for the same route. */
export interface RouteName {
  readonly method: string;
  readonly path: string;
}

/** How a command imports lines. */
export interface LineOptions {
  /** Returns the id of a new resource, so that a line that is imported again creates nothing. */
  readonly idOf?: ((line: number) => string) | undefined;
  /** Whether a line is left out. */
  readonly isSkipped?: ((line: number) => boolean) | undefined;
}

export class RequestContext {
  services: Services;
  readonly request: Request;
  /** A runtime reads it again for each use of `request.method`. */
  readonly method: string;
  readonly requestId: string;
  readonly startedAt = performance.now();
  /** The same in milliseconds since 1970. */
  readonly startTime = Date.now();
  /** Below the path of the API, for requests to it. Empty until the request target is read. */
  path = "";
  #query = "";
  #searchParams: SearchParams | undefined;
  params: Readonly<Record<string, string>> = noParams;
  /** Undefined when none was found. */
  route: RouteName | undefined = undefined;
  /** The kind of the problem that the response is. */
  problem: ProblemKind | undefined = undefined;
  /** What the route asks of the caller. */
  permission: Permission = "anyone";
  principal: Principal = anonymous;
  /** Set when another request began this one, with the Idempotency-Key of its caller. */
  keyOwner: string | null | undefined;
  /** Set when the request has no token but a signature in its URL. */
  signed: Signed | undefined = undefined;
  #collection: CollectionAccess | undefined;
  /** The client's address behind trusted proxies. */
  clientAddress: string | undefined = undefined;
  client: Client = noClient;
  /** The rate limits that the request was counted against. */
  quotas: readonly Quota[] = noQuotas;
  /** Set when the request is traced. */
  trace: Trace | undefined = undefined;
  /** Whether the request is known to have come without TLS. */
  inClearText = false;

  /** How the lines of an import become resources; only commands set it. */
  lineOptions: LineOptions | undefined = undefined;

  #memory: Reservation | undefined;
  /** Whether the body is still read while the response is sent; then its memory is released later. */
  isReadWhileAnswered = false;

  constructor(services: Services, request: Request, requestId: string) {
    this.services = services;
    this.request = request;
    this.method = request.method;
    this.requestId = requestId;
  }

  /** Measures a step, if the request is traced. */
  measure<Result>(name: string, work: () => Result): Result {
    return this.trace === undefined ? work() : this.trace.measure(name, work);
  }

  /** The memory of this request, released with its response. */
  get memory(): Reservation {
    this.#memory ??= new Reservation(this.services.memory);
    return this.#memory;
  }

  releaseMemory(): void {
    if (!this.isReadWhileAnswered) this.#memory?.release();
  }

  get query(): string {
    return this.#query;
  }

  set query(query: string) {
    this.#query = query;
    this.#searchParams = undefined;
  }

  /** The parameters of the query string, parsed on first use. */
  get searchParams(): SearchParams {
    this.#searchParams ??= readSearchParams(this.query);
    return this.#searchParams;
  }

  /** Whose query it is. Callers without a token are told apart by network. */
  get caller(): string {
    return this.principal.subject ?? networkOf(this.clientAddress ?? this.client.peerAddress());
  }

  /** Aborted when the client has left. A runtime creates it when it is first used. */
  get signal(): AbortSignal {
    return this.request.signal;
  }

  /** A read that is not long uses none of them. */
  get readOptions(): ReadOptions {
    return this;
  }

  /** A parameter of the path. */
  param(name: string): string {
    return this.params[name] ?? "";
  }

  /** The URL of the collection in the path. */
  get collectionUrl(): string {
    return `${this.services.base}/${this.params.collection}`;
  }

  /** The caller's access to the collection in the path, on routes whose permission is about it. */
  get collection(): CollectionAccess {
    if (this.#collection === undefined) throw new Error("this route must name a verb");
    return this.#collection;
  }

  set collection(access: CollectionAccess) {
    this.#collection = access;
  }
}

const noQuotas: readonly Quota[] = Object.freeze([]);
const noParams: Readonly<Record<string, string>> = Object.freeze({});

const ofProcess = randomBytes(4).toString("hex").slice(0, 5);
const idDigits = 11;
const idsAtOnce = 256;

/**
 * Makes random request ids, which tell nobody how many requests there are; the first digits are those of the
 * process. The others are made for many at once.
 */
export function requestIdGenerator(): () => string {
  let digits = "";
  let start = 0;
  return () => {
    if (start === digits.length) {
      digits = randomBytes((idsAtOnce * idDigits) / 2).toString("hex");
      start = 0;
    }
    start += idDigits;
    return ofProcess + digits.slice(start - idDigits, start);
  };
}
