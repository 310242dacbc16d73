// A client for tests of lists: defines and fills collections, and reads lists by page, query and cursor.

import assert from "node:assert/strict";
import type { TestApp } from "./app.ts";
import { type Answer, answerOf } from "./expect.ts";

export type Row = Readonly<Record<string, unknown>>;

export interface ListBody {
  readonly data: readonly (Row & { readonly id: string })[];
  readonly page?: number;
  readonly limit: number;
  readonly total?: number;
  readonly pages?: number;
  readonly more?: boolean;
  readonly next?: string | null;
}

const json = { "content-type": "application/json" };

export class QueryClient {
  readonly app: TestApp;

  constructor(app: TestApp) {
    this.app = app;
  }

  async define(collection: string, definition: unknown): Promise<void> {
    const answer = await this.#send("PUT", `/-/collections/${collection}`, definition);
    assert.ok(answer.status === 200 || answer.status === 201, answer.body);
  }

  /** Creates the rows in this order. */
  async fill(collection: string, rows: Readonly<Record<string, Row>>): Promise<void> {
    const operations = Object.entries(rows).map(([id, body]) => ({
      method: "PUT",
      path: `/${collection}/${id}`,
      body,
    }));
    for (let start = 0; start < operations.length; start += 100) {
      const answer = await this.#send("POST", "/-/batch", {
        operations: operations.slice(start, start + 100),
      });
      assert.equal(answer.status, 200, answer.body);
    }
  }

  /** Creates many rows in this order, as NDJSON. */
  async import(collection: string, rows: readonly Row[]): Promise<void> {
    const answer = await answerOf(
      this.app.request(`/${collection}?key=id`, {
        method: "POST",
        headers: { "content-type": "application/x-ndjson" },
        body: rows.map((row) => JSON.stringify(row)).join("\n"),
      }),
    );
    assert.equal(answer.status, 200, answer.body);
    const failed = answer.body.split("\n").find((line) => line.includes('"problem"'));
    assert.equal(failed, undefined);
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return answerOf(this.app.request(path, { headers }));
  }

  query(collection: string, question: unknown): Promise<Answer> {
    return this.#send("QUERY", `/${collection}`, question);
  }

  async list(path: string): Promise<ListBody & { readonly headers: Headers }> {
    return listOf(await this.get(path), path);
  }

  async queryList(collection: string, question: unknown): Promise<ListBody & { headers: Headers }> {
    return listOf(await this.query(collection, question), JSON.stringify(question));
  }

  async ids(path: string): Promise<readonly string[]> {
    return idsOf(await this.list(path));
  }

  /** Reads everything by cursor; returns the ids and the number of responses. */
  async readByCursor(path: string): Promise<{ ids: readonly string[]; answers: number }> {
    const ids: string[] = [];
    let cursor: string | null | undefined = "";
    let answers = 0;
    for (; typeof cursor === "string"; answers++) {
      const body: ListBody = await this.list(`${path}&cursor=${cursor}`);
      ids.push(...idsOf(body));
      cursor = body.next;
    }
    return { ids, answers };
  }

  #send(method: string, path: string, body: unknown): Promise<Answer> {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return answerOf(this.app.request(path, { method, headers: json, body: text }));
  }
}

function listOf({ status, headers, body }: Answer, asked: string): ListBody & { headers: Headers } {
  assert.equal(status, 200, `${asked}: ${body}`);
  return { ...(JSON.parse(body) as ListBody), headers };
}

export const idsOf = ({ data }: ListBody): readonly string[] => data.map(({ id }) => id);

/** Encodes parameters for a URL. */
export const parameters = (values: Readonly<Record<string, string>>): string =>
  new URLSearchParams(values).toString();
