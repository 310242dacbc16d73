// Sends requests: with the token, again after a failure that passes, and with a key where that could write twice.

import { NoAnswer, Problem, readProblem } from "./problem.ts";

export interface ClientOptions {
  /** The secret, or what returns it: it is asked before each request. */
  readonly token?: string | (() => string | undefined | Promise<string | undefined>);
  /** Instead of the global one. */
  readonly fetch?: typeof globalThis.fetch;
  /** How often a request is sent again; 4 by default. */
  readonly retries?: number;
  /** How long it waits before it sends again for the first time, then twice as long each time; 200 ms by default. */
  readonly waitMs?: number;
  /** Header fields for each request. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
}

export interface ApiRequest extends RequestOptions {
  readonly method: string;
  /** From the base URL, such as `/people?limit=5`. */
  readonly path: string;
  /** JSON, unless it is a Blob, a FormData or a text. */
  readonly body?: unknown;
}

interface Sent extends RequestInit {
  readonly headers: Headers;
}

const longestWaitMs = 10_000;
/** A longer timer ends at once. */
const longestTimerMs = 2 ** 31 - 1;
/** Answers after which the same request can succeed. */
const passing = new Set([429, 502, 503, 504]);
const withKey = new Set(["POST", "PATCH"]);

export class Sender {
  readonly base: string;
  readonly #options: ClientOptions;

  constructor(base: string, options: ClientOptions) {
    this.base = base.replace(/\/+$/, "");
    this.#options = options;
  }

  /** Returns the response of a request that succeeded, or 304; throws a `Problem` otherwise. */
  send(request: ApiRequest): Promise<Response> {
    return this.read(request, async (response) => response);
  }

  json<T>(request: ApiRequest): Promise<T> {
    return this.read(request, async (response) => (await response.json()) as T);
  }

  /** Returns what `read` makes of the response. An answer that it cannot read is none: it broke off, or is not ours. */
  async read<T>(request: ApiRequest, read: (response: Response) => Promise<T>): Promise<T> {
    const { retries = 4, waitMs = 200 } = this.#options;
    const sent = await this.#prepare(request);
    for (let attempt = 0; ; attempt++) {
      const answer = await this.#attempt(request, sent, read);
      if (!(answer instanceof Problem)) return answer;
      if (attempt >= retries || !canRepeat(answer, sent)) throw answer;
      await sleep(pauseMs(answer, waitMs * 2 ** attempt), request.signal);
    }
  }

  async #attempt<T>(
    { path, signal }: ApiRequest,
    init: RequestInit,
    read: (response: Response) => Promise<T>,
  ): Promise<T | Problem> {
    const { fetch = globalThis.fetch } = this.#options;
    try {
      const response = await fetch(this.base + path, init);
      const isRead = response.ok || response.status === 304;
      return isRead ? await read(response) : await readProblem(response);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      return new NoAnswer(error);
    }
  }

  /** What is the same in every attempt, the key included. */
  async #prepare({ method, body, headers, signal }: ApiRequest): Promise<Sent> {
    const fields = new Headers(this.#options.headers);
    const secret = await this.token();
    if (secret) fields.set("Authorization", `Bearer ${secret}`);
    const isJson = body !== undefined && !isRaw(body);
    if (isJson) fields.set("Content-Type", "application/json");
    if (withKey.has(method)) fields.set("Idempotency-Key", newKey());
    for (const [name, value] of Object.entries(headers ?? {}))
      if (value === undefined) fields.delete(name);
      else fields.set(name, value);
    return {
      ...{ method, headers: fields },
      // A redirect can make a GET of a POST, which would succeed and write nothing.
      ...(method === "POST" && { redirect: "manual" }),
      ...(body !== undefined && {
        body: isJson ? JSON.stringify(body) : (body as NonNullable<RequestInit["body"]>),
      }),
      ...(signal && { signal }),
    };
  }

  async token(): Promise<string | undefined> {
    const { token } = this.#options;
    return typeof token === "function" ? token() : token;
  }
}

/** `randomUUID` is missing in pages without TLS. */
const newKey = (): string => `"${crypto.getRandomValues(new Uint32Array(4)).join("-")}"`;

/** Without a key, a POST or PATCH is sent again only when the server has not begun with it. */
const canRepeat = ({ status }: Problem, { method = "", headers }: Sent): boolean =>
  status === 429 ||
  ((status === 0 || passing.has(status)) &&
    (!withKey.has(method) || headers.has("Idempotency-Key")));

const isRaw = (body: unknown): boolean =>
  typeof body === "string" ||
  body instanceof Blob ||
  body instanceof FormData ||
  body instanceof URLSearchParams ||
  body instanceof ArrayBuffer ||
  ArrayBuffer.isView(body);

/** As long as the server says, or a little longer each time, and never all clients at once. */
export function pauseMs(problem: Problem, longMs: number): number {
  const wait = Math.min(longMs, longestWaitMs) * (0.5 + Math.random() / 2);
  return Math.min(Math.max(retryAfterMs(problem.headers), wait), longestTimerMs);
}

/** In seconds, or a date by the clock of the server. */
function retryAfterMs(headers: Headers): number {
  const text = headers.get("retry-after") ?? "";
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const now = Date.parse(headers.get("date") ?? "") || Date.now();
  return Date.parse(text) - now || 0;
}

export const sleep = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const end = (settle: () => void) => () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      settle();
    };
    const abort = end(() => reject(signal?.reason));
    const timer = setTimeout(
      end(() => resolve()),
      ms,
    );
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort);
  });
