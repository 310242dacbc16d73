// Clients that write, retry and read through many processes, and their own record of what was promised.

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, answerOf, assertProblem, readLinks } from "./http/expect.ts";

/** Sends one request. */
export type Ask = (path: string, init?: RequestInit) => Promise<Answer>;

/** Each request has a connection of its own, so that any of the processes behind a port may get it. */
export function asking(url: string, token: string): Ask {
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

/** Which of the processes has answered: each begins its request ids in its own way. */
export const processOf = ({ headers }: Answer): string =>
  headers.get("x-request-id")?.split("-")[0] ?? "";

/** Longer than any of the faults lasts, on any machine. */
const patienceMs = 40_000;
const pauseMs = 25;
const limit = 7;

interface Page {
  readonly data: readonly unknown[];
  readonly page: number;
  readonly pages: number;
  readonly total: number;
}

export class Journal {
  /** What was acknowledged: the bytes at each Location. */
  readonly kept = new Map<string, string>();
  /** How often a server could not be reached or broke off, asked to wait, or had done it before. */
  readonly told = { cut: 0, wait: 0, replayed: 0 };
  /** Those that have answered. */
  readonly processes = new Set<string>();
  readonly #collection: string;
  readonly #asks: readonly Ask[];
  #begun = 0;
  #turn = 0;

  /** Requests go to the servers in turn. */
  constructor(collection: string, asks: readonly Ask[]) {
    this.#collection = collection;
    this.#asks = asks;
  }

  /** Clients that POST until so many more are acknowledged; what they are told to retry, they do. */
  async pour(clients: number, count: number): Promise<void> {
    const enough = this.kept.size + count;
    const client = async () => {
      while (this.kept.size < enough) await this.#create();
    };
    await Promise.all(Array.from({ length: clients }, client));
  }

  /** Reads pages while others write, until they are done. Each must fit what was promised by then. */
  async watch(poured: Promise<unknown>): Promise<void> {
    let isOver = false;
    const stop = () => {
      isOver = true;
    };
    void poured.then(stop, stop);
    const bodies = new Map<string, string>();
    let last = { total: 0, page: 1, tag: "" };
    while (!isOver) {
      const least = Math.max(this.kept.size, last.total);
      const path = `/${this.#collection}?limit=${limit}&page=${last.page}`;
      const answer = await this.#ask(path, { headers: { "if-none-match": last.tag } });
      if (answer?.status === 200) last = this.#judge(path, answer, least, bodies);
      else if (answer?.status === 304) assert.ok(last.total >= least, "an old list was confirmed");
      else if (answer?.status === 404) assert.equal(least, 0);
    }
  }

  /** The servers hold exactly what was promised: nothing is lost, and nothing was done twice. */
  async verify(): Promise<void> {
    for (const ask of this.#asks) {
      assert.deepEqual(await this.#walk(ask), new Map(this.kept));
      await this.#follow(ask);
    }
  }

  /** One resource, under one key until it is acknowledged, then read by whoever is next. */
  async #create(): Promise<void> {
    const number = ++this.#begun;
    const text = "é".repeat((number % 20) * 40);
    const key = { "idempotency-key": `${this.#collection}-${number}` };
    const made = await this.#insist(`/${this.#collection}`, json("POST", { number, text }, key));
    assert.equal(made.status, 201, made.body);
    const location = made.headers.get("location") ?? "";
    assert.ok(!this.kept.has(location), `${location} was promised twice`);
    this.kept.set(location, made.body);
    if (made.headers.has("idempotency-replayed")) this.told.replayed++;
    const read = await this.#insist(location);
    assert.deepEqual([read.status, read.body], [200, made.body]);
  }

  async #insist(path: string, init?: RequestInit): Promise<Answer> {
    const deadline = Date.now() + patienceMs;
    while (Date.now() < deadline) {
      const answer = await this.#ask(path, init);
      if (answer !== undefined && answer.status !== 503) return answer;
      await sleep(pauseMs);
    }
    return assert.fail(`no answer to ${path}`);
  }

  /** None when there is no answer. */
  async #ask(path: string, init?: RequestInit): Promise<Answer | undefined> {
    const ask = this.#asks[this.#turn++ % this.#asks.length];
    const answer = await ask?.(path, init).catch(() => undefined);
    if (answer === undefined) this.told.cut++;
    else this.processes.add(processOf(answer));
    if (answer?.status !== 503) return answer;
    this.told.wait++;
    assertProblem(answer, "unavailable");
    assert.match(answer.headers.get("retry-after") ?? "", /^\d+$/);
    return answer;
  }

  #judge(path: string, { headers, body }: Answer, least: number, bodies: Map<string, string>) {
    const { data, page, pages, total } = JSON.parse(body) as Page;
    assert.ok(total >= least && total <= this.#begun, `${least} ≤ ${total} ≤ ${this.#begun}`);
    assert.equal(headers.get("x-total-count"), String(total));
    assert.equal(pages, Math.ceil(total / limit));
    assert.equal(data.length, Math.min(limit, total - (page - 1) * limit));
    const tag = headers.get("etag") ?? "";
    const name = `${path} ${tag}`;
    assert.equal(bodies.get(name) ?? body, body, "two lists have the same tag");
    bodies.set(name, body);
    // Now on the same page, to be told that nothing has changed; now on the last one, which grows.
    const isSame = this.#turn % 3 > 0;
    return { total, page: isSame ? page : pages, tag: isSame ? tag : "" };
  }

  /** All resources by their addresses, page after page. */
  async #walk(ask: Ask): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    for (let next: string | undefined = `/${this.#collection}?limit=200`; next !== undefined; ) {
      const { status, headers, body } = await ask(next);
      assert.equal(status, 200, body);
      const { data, total } = JSON.parse(body) as { data: { id: string }[]; total: number };
      assert.equal(total, this.kept.size);
      for (const item of data) found.set(`/${this.#collection}/${item.id}`, JSON.stringify(item));
      next = readLinks(headers.get("link")).next;
    }
    return found;
  }

  /** Every resource came once, at a revision of its own, in the order of the collection. */
  async #follow(ask: Ask): Promise<void> {
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
    assert.equal(count, this.kept.size);
  }
}

interface FeedPage {
  readonly changes: readonly { readonly revision: number }[];
  readonly next: string;
  readonly more: boolean;
}

/** What one has replaced, no other one shows any more. */
export async function replaceAndRead(asks: readonly Ask[], times: number): Promise<void> {
  const ask = (turn: number): Ask => asks[turn % asks.length] ?? assert.fail();
  for (let turn = 0; turn < times; turn++) {
    const put = await ask(turn)("/replaced/one", json("PUT", { turn }));
    assert.ok(put.status === (turn === 0 ? 201 : 200), put.body);
    for (let reader = 1; reader <= 4; reader++) {
      const { status, body } = await ask(turn + reader)("/replaced/one");
      assert.deepEqual([status, JSON.parse(body).turn], [200, turn]);
    }
  }
}

/** Clients that count up one number, each if nobody else did meanwhile: none of their steps is lost. */
export async function countTogether(asks: readonly Ask[], clients: number): Promise<void> {
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

/** A new token: its secret, and how to revoke it. */
export async function makeToken(ask: Ask) {
  const wish = { name: "short-lived", scopes: ["*:read"] };
  const made = await ask("/-/tokens", json("POST", wish));
  assert.equal(made.status, 201, made.body);
  const { id, token } = JSON.parse(made.body) as { id: string; token: string };
  return { secret: token, revoke: () => ask(`/-/tokens/${id}`, { method: "DELETE" }) };
}
