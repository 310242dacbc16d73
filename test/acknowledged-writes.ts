// Clients that write, retry and read through many processes, and check that nothing acknowledged is lost.

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, answerOf, assertProblem, readLinks } from "./http/expect.ts";

/** Sends one request. */
export type SendRequest = (path: string, init?: RequestInit) => Promise<Answer>;

/** Each request has its own connection, so that any process behind the port may get it. */
export function requestSender(url: string, token: string): SendRequest {
  return (path, { headers, ...init } = {}) => {
    const fields = { authorization: `Bearer ${token}`, connection: "close" };
    return answerOf(fetch(url + path, { ...init, headers: { ...headers, ...fields } }));
  };
}

export const json = (method: string, body: unknown, headers = {}): RequestInit => ({
  method,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});

/** Identifies the process that responded by the prefix of its request ids. */
export const processOf = ({ headers }: Answer): string =>
  headers.get("x-request-id")?.slice(0, 5) ?? "";

const pauseMs = 25;
/** A server answers or closes the connection long before, on any machine, or it is stuck. */
const hangMs = 300_000;
const limit = 7;

interface Page {
  readonly data: readonly unknown[];
  readonly page: number;
  readonly pages: number;
  readonly total: number;
}

export class AcknowledgedWrites {
  /** The acknowledged body at each Location. */
  readonly acknowledged = new Map<string, string>();
  /** How often a server closed the connection or could not be reached, returned 503, or replayed a response. */
  readonly counts = { closed: 0, wait: 0, replayed: 0 };
  /** The processes that have responded. */
  readonly processes = new Set<string>();
  readonly #collection: string;
  readonly #asks: readonly SendRequest[];
  #begun = 0;
  #turn = 0;

  /** Requests go to the servers in turn. The test's own time limit ends a wait in vain. */
  constructor(collection: string, asks: readonly SendRequest[]) {
    this.#collection = collection;
    this.#asks = asks;
  }

  /** Clients POST until so many more are acknowledged, and retry on errors. */
  postMany(clients: number, count: number): Promise<void> {
    const enough = this.acknowledged.size + count;
    return this.#postUntil(clients, () => this.acknowledged.size >= enough);
  }

  /**
   * Clients POST before, during and after what happens, and retry on errors. They stop when `count` more
   * are acknowledged after it, however long it takes.
   */
  async postWhile(clients: number, count: number, happen: () => Promise<void>): Promise<void> {
    let isOver = false;
    const posted = this.#postUntil(clients, () => isOver);
    const happened = async () => {
      await this.grow(count);
      await happen();
      await this.grow(count);
    };
    // When a client fails, nobody waits for what it would have written.
    await Promise.race([happened(), posted]).finally(() => {
      isOver = true;
    });
    await posted;
  }

  /** Resolves when so many more are acknowledged. */
  grow(count: number): Promise<void> {
    const enough = this.acknowledged.size + count;
    return this.#until(() => this.acknowledged.size >= enough);
  }

  /** Resolves when a client got 503. */
  untilToldToWait(): Promise<void> {
    return this.#until(() => this.counts.wait > 0);
  }

  async #postUntil(clients: number, isOver: () => boolean): Promise<void> {
    const client = async () => {
      while (!isOver()) await this.#create();
    };
    await Promise.all(Array.from({ length: clients }, client));
  }

  async #until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await sleep(5);
  }

  /** Reads pages until the writes are done. Each must contain what was acknowledged before. */
  async readPagesUntil(written: Promise<unknown>): Promise<void> {
    let isOver = false;
    const stop = () => {
      isOver = true;
    };
    void written.then(stop, stop);
    const bodies = new Map<string, string>();
    let last = { total: 0, page: 1, tag: "" };
    while (!isOver) {
      const least = Math.max(this.acknowledged.size, last.total);
      const path = `/${this.#collection}?limit=${limit}&page=${last.page}`;
      const answer = await this.#ask(path, { headers: { "if-none-match": last.tag } });
      if (answer?.status === 200) last = this.#checkPage(path, answer, least, bodies);
      else if (answer?.status === 304) assert.ok(last.total >= least, "304 for an old list");
      else if (answer?.status === 404) assert.equal(least, 0);
    }
  }

  /** The servers have exactly what was acknowledged: nothing is lost, and nothing was done twice. */
  async verify(): Promise<void> {
    for (const ask of this.#asks) {
      assert.deepEqual(await this.#readAll(ask), new Map(this.acknowledged));
      await this.#readFeed(ask);
    }
  }

  /** Creates one resource, with one key until it is acknowledged, and reads it from the next server. */
  async #create(): Promise<void> {
    const number = ++this.#begun;
    const text = "é".repeat((number % 20) * 40);
    const key = { "idempotency-key": `${this.#collection}-${number}` };
    const made = await this.#retry(`/${this.#collection}`, json("POST", { number, text }, key));
    assert.equal(made.status, 201, made.body);
    const location = made.headers.get("location") ?? "";
    assert.ok(!this.acknowledged.has(location), `${location} was acknowledged twice`);
    this.acknowledged.set(location, made.body);
    if (made.headers.has("idempotency-replayed")) this.counts.replayed++;
    const read = await this.#retry(location);
    assert.deepEqual([read.status, read.body], [200, made.body]);
  }

  async #retry(path: string, init?: RequestInit): Promise<Answer> {
    for (;;) {
      const answer = await this.#ask(path, init);
      if (answer !== undefined && answer.status !== 503) return answer;
      await sleep(pauseMs);
    }
  }

  /** Returns undefined when the connection was closed. */
  async #ask(path: string, init?: RequestInit): Promise<Answer | undefined> {
    const ask = this.#asks[this.#turn++ % this.#asks.length];
    const answer = await ask?.(path, { signal: AbortSignal.timeout(hangMs), ...init }).catch(
      (error: Error) => {
        assert.notEqual(error.name, "TimeoutError", `${path} hangs`);
        return undefined;
      },
    );
    if (answer === undefined) this.counts.closed++;
    else this.processes.add(processOf(answer));
    if (answer?.status !== 503) return answer;
    this.counts.wait++;
    assertProblem(answer, "unavailable");
    assert.match(answer.headers.get("retry-after") ?? "", /^\d+$/);
    return answer;
  }

  #checkPage(path: string, { headers, body }: Answer, least: number, bodies: Map<string, string>) {
    const { data, page, pages, total } = JSON.parse(body) as Page;
    assert.ok(total >= least && total <= this.#begun, `${least} ≤ ${total} ≤ ${this.#begun}`);
    assert.equal(headers.get("x-total-count"), String(total));
    assert.equal(pages, Math.ceil(total / limit));
    assert.equal(data.length, Math.min(limit, total - (page - 1) * limit));
    const tag = headers.get("etag") ?? "";
    const name = `${path} ${tag}`;
    assert.equal(bodies.get(name) ?? body, body, "two lists have the same tag");
    bodies.set(name, body);
    // Either the same page again, which may be 304, or the last one, which grows.
    const isSame = this.#turn % 3 > 0;
    return { total, page: isSame ? page : pages, tag: isSame ? tag : "" };
  }

  /** Returns all resources by address, page after page. */
  async #readAll(ask: SendRequest): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    for (let next: string | undefined = `/${this.#collection}?limit=200`; next !== undefined; ) {
      const { status, headers, body } = await ask(next);
      assert.equal(status, 200, body);
      const { data, total } = JSON.parse(body) as { data: { id: string }[]; total: number };
      assert.equal(total, this.acknowledged.size);
      for (const item of data) found.set(`/${this.#collection}/${item.id}`, JSON.stringify(item));
      next = readLinks(headers.get("link")).next;
    }
    return found;
  }

  /** The feed has every resource once, with increasing revisions. */
  async #readFeed(ask: SendRequest): Promise<void> {
    let revision = 0;
    let position = "0";
    let count = 0;
    for (let isMore = true; isMore; ) {
      const { body } = await ask(`/${this.#collection}?since=${position}&limit=200`);
      const { changes, more, next } = JSON.parse(body) as FeedPage;
      for (const change of changes) {
        assert.ok(change.revision > revision, "revisions increase");
        revision = change.revision;
      }
      count += changes.length;
      isMore = more;
      position = next;
    }
    assert.equal(count, this.acknowledged.size);
  }
}

interface FeedPage {
  readonly changes: readonly { readonly revision: number }[];
  readonly next: string;
  readonly more: boolean;
}

/** After one has replaced a resource, no other returns the old state. */
export async function replaceAndRead(asks: readonly SendRequest[], times: number): Promise<void> {
  const ask = (turn: number): SendRequest => asks[turn % asks.length] ?? assert.fail();
  for (let turn = 0; turn < times; turn++) {
    const put = await ask(turn)("/replaced/one", json("PUT", { turn }));
    assert.ok(put.status === (turn === 0 ? 201 : 200), put.body);
    for (let reader = 1; reader <= 4; reader++) {
      const { status, body } = await ask(turn + reader)("/replaced/one");
      assert.deepEqual([status, JSON.parse(body).turn], [200, turn]);
    }
  }
}

/** Clients increment one number with If-Match: no increment is lost. */
export async function countConcurrently(
  asks: readonly SendRequest[],
  clients: number,
): Promise<void> {
  const steps = 4;
  const client = async (_: unknown, number: number) => {
    const ask = asks[number % asks.length] ?? assert.fail();
    for (let done = 0; done < steps; ) {
      const { headers, body } = await ask("/counted/one");
      const next = { count: JSON.parse(body).count + 1 };
      const tag = headers.get("etag") ?? "";
      const { status } = await ask("/counted/one", json("PUT", next, { "if-match": tag }));
      assert.ok(status === 200 || status === 412, String(status));
      if (status === 200) done++;
    }
  };
  await asks[0]?.("/counted/one", json("PUT", { count: 0 }));
  await Promise.all(Array.from({ length: clients }, client));
  for (const ask of asks)
    assert.equal(JSON.parse((await ask("/counted/one")).body).count, clients * steps);
}

/** Creates a token; returns its secret and a function that revokes it. */
export async function createToken(ask: SendRequest) {
  const definition = { name: "short-lived", scopes: ["*:read"] };
  const made = await ask("/-/tokens", json("POST", definition));
  assert.equal(made.status, 201, made.body);
  const { id, token } = JSON.parse(made.body) as { id: string; token: string };
  return { secret: token, revoke: () => ask(`/-/tokens/${id}`, { method: "DELETE" }) };
}
