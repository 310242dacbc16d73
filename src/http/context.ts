// One request on its way through the house, and what the house lends to every request.

import type { Access } from "../domain/access.ts";
import type { Actions } from "../domain/actions.ts";
import type { Batches } from "../domain/batches.ts";
import type { BulkCreate } from "../domain/bulk-create.ts";
import type { Collections } from "../domain/collections.ts";
import type { Lists } from "../domain/lists.ts";
import type { Resources } from "../domain/resources.ts";
import type { Tokens } from "../domain/tokens.ts";
import type { Uploads } from "../domain/uploads.ts";
import { type MemoryBudget, Reservation } from "../lib/memory-budget.ts";
import type { Token } from "../model/token.ts";
import type { Proxies } from "./headers/forwarded.ts";
import type { AllowedHosts } from "./headers/host.ts";
import type { Quota, RateLimits } from "./rate-limits.ts";

/** What is the same for all requests, made once. */
export interface Services {
  readonly access: Access;
  readonly resources: Resources;
  readonly lists: Lists;
  readonly tokens: Tokens;
  readonly collections: Collections;
  readonly batches: Batches;
  readonly uploads: Uploads;
  readonly bulkCreate: BulkCreate;
  readonly actions: Actions;
  /** Why writes cannot be taken right now, if so. */
  readonly unready: () => string | undefined | Promise<string | undefined>;
  /** The public base URL without a trailing slash; empty makes links absolute paths. */
  readonly base: string;
  /** On every answer; copied, never changed. */
  readonly commonHeaders: Headers;
  /** The same, for JSON that another Accept or Accept-Encoding might have been answered otherwise. */
  readonly jsonHeaders: Headers;
  readonly corsOrigins: "*" | ReadonlySet<string>;
  readonly proxies: Proxies;
  readonly allowedHosts: AllowedHosts;
  readonly rateLimits: RateLimits;
  /** For the bytes of all requests and answers in flight. */
  readonly memory: MemoryBudget;
  readonly tlsOnly: boolean;
  readonly maxBodyBytes: number;
  /** Of a body with files. */
  readonly maxUploadBytes: number;
  readonly version: string;
  readonly logRequest: ((context: RequestContext, status: number) => void) | undefined;
  readonly logRefusal: (requestId: string, status: number, detail: string, cause?: unknown) => void;
  readonly logFailure: (context: RequestContext, thrown: unknown) => void;
}

export class RequestContext {
  readonly services: Services;
  readonly request: Request;
  readonly requestId: string;
  readonly startedAt: number;
  /** Empty until the target is read. */
  path = "";
  query = "";
  params: Readonly<Record<string, string>> = noParams;
  /** The caller; undefined on the doors that are open to everyone. */
  caller: Token | undefined = undefined;
  /** The client's address as far as it is known; for the log. */
  clientAddress: string | undefined = undefined;
  /** Of whoever is at the other end of the connection; empty when that is not known. */
  peerAddress: () => string = noAddress;
  /** Tells the runtime that the body is still arriving, however slowly. */
  extendTimeout: () => void = noop;
  /** What the request was counted against, where there are rate limits. */
  quotas: readonly Quota[] = noQuotas;
  /** Whether it is known that the request was not encrypted on its way. */
  inClearText = false;

  #memory: Reservation | undefined;
  /** Set where a request is still read while it is answered: then its memory is released later. */
  isReadWhileAnswered = false;

  constructor(services: Services, request: Request, requestId: string) {
    this.services = services;
    this.request = request;
    this.requestId = requestId;
    this.startedAt = services.logRequest === undefined ? 0 : performance.now();
  }

  /** What the request holds in memory until it is answered. */
  get memory(): Reservation {
    this.#memory ??= new Reservation(this.services.memory);
    return this.#memory;
  }

  releaseMemory(): void {
    if (!this.isReadWhileAnswered) this.#memory?.release();
  }

  param(name: string): string {
    return this.params[name] ?? "";
  }

  /** The caller, on doors that nobody passes without one. */
  get token(): Token {
    if (this.caller === undefined) throw new Error("this door should have asked for a token");
    return this.caller;
  }
}

const noAddress = (): string => "";
const noop = (): void => undefined;
const noQuotas: readonly Quota[] = Object.freeze([]);
const noParams: Readonly<Record<string, string>> = Object.freeze({});

/** Unique across restarts by the random start, and cheap by the counter. */
export function requestIdGenerator(): () => string {
  const start = crypto.randomUUID().slice(0, 8);
  let count = 0;
  return () => `${start}-${(++count).toString(36)}`;
}
