// What is asked, and how each server is asked for the same thing.

import type { Ask } from "./load.ts";

export const scenarios = {
  get: { title: "GET one", about: "the same resource again and again" },
  random: { title: "GET one of 10,000", about: "a resource at random" },
  conditional: { title: "GET one, 304", about: "If-None-Match with the current ETag" },
  post: { title: "POST", about: "a JSON object of two fields; the answer means it is kept" },
  list: { title: "List of 20", about: "the first page of 10,000, with the exact total" },
} as const;

export type Scenario = keyof typeof scenarios;
export const scenarioNames = Object.keys(scenarios) as readonly Scenario[];

export const peopleCount = 10_000;
export const pageLimit = 20;

/** The fields of a person; POST sends the same shape. */
export const person = (number: number): { readonly name: string; readonly email: string } => ({
  name: `Person ${number}`,
  email: `person${number}@example.org`,
});

/** How one server names the things that all of them have. */
export interface Dialect {
  readonly headers: Readonly<Record<string, string>>;
  readonly ids: readonly string[];
  one(id: string): string;
  /** Pages are counted from 1 and come with the exact total. */
  page(number: number): string;
  readonly posts: string;
  readonly createdStatus: number;
  /** Answers with X-Total-Count: how many were kept. */
  readonly postsCount: string;
}

export const restanteDialect = (secret: string, ids: readonly string[]): Dialect => ({
  headers: { authorization: `Bearer ${secret}` },
  ids,
  one: (id) => `/people/${id}`,
  page: (number) => `/people?page=${number}&limit=${pageLimit}`,
  posts: "/letters",
  createdStatus: 201,
  postsCount: "/letters?limit=1",
});

const peerIds = Array.from({ length: peopleCount }, (_, index) => String(index + 1));

export const jsonServerDialect: Dialect = {
  headers: {},
  ids: peerIds,
  one: (id) => `/people/${id}`,
  page: (number) => `/people?_page=${number}&_limit=${pageLimit}`,
  posts: "/letters",
  createdStatus: 201,
  postsCount: "/letters?_page=1&_limit=1",
};

export const platformaticDialect: Dialect = {
  headers: {},
  ids: peerIds,
  one: (id) => `/people/${id}`,
  page: (number) =>
    `/people/?limit=${pageLimit}&offset=${(number - 1) * pageLimit}&totalCount=true`,
  posts: "/letters/",
  createdStatus: 200,
  postsCount: "/letters/?limit=1&totalCount=true",
};

const get = (dialect: Dialect, ...paths: readonly string[]): Ask => ({
  method: "GET",
  headers: dialect.headers,
  body: "",
  paths,
  status: 200,
});

/** The ask of a scenario in a server's own words. A text says why the server cannot be asked it. */
export async function phrase(
  scenario: Scenario,
  dialect: Dialect,
  origin: string,
): Promise<Ask | string> {
  const hot = get(dialect, dialect.one(dialect.ids[0] ?? ""));
  switch (scenario) {
    case "get":
      return hot;
    case "random":
      return get(dialect, ...dialect.ids.map(dialect.one));
    case "conditional":
      return conditional(hot, origin);
    case "post":
      return {
        method: "POST",
        headers: { ...dialect.headers, "content-type": "application/json" },
        body: JSON.stringify(person(1)),
        paths: [dialect.posts],
        status: dialect.createdStatus,
      };
    case "list":
      return get(dialect, dialect.page(1));
  }
}

async function conditional(ask: Ask, origin: string): Promise<Ask | string> {
  const { etag } = await probe(origin, ask);
  if (etag === null) return "sends no ETag";
  return { ...ask, headers: { ...ask.headers, "if-none-match": etag }, status: 304 };
}

export const pages = (dialect: Dialect, ...numbers: readonly number[]): Ask =>
  get(dialect, ...numbers.map(dialect.page));

export interface Answer {
  readonly body: string;
  readonly etag: string | null;
}

/** One request outside the load. Throws when the answer is not the one to be measured. */
export async function probe(origin: string, ask: Ask): Promise<Answer> {
  const { method, headers, body } = ask;
  const init = { method, headers, ...(body === "" ? {} : { body }) };
  const path = ask.paths[0] ?? "/";
  const response = await fetch(`${origin}${path}`, init);
  const text = await response.text();
  if (response.status !== ask.status)
    throw new Error(
      `${method} ${path}: ${response.status} instead of ${ask.status}. ${text.slice(0, 200)}`,
    );
  return { body: text, etag: response.headers.get("etag") };
}

/** How many POSTed resources are there now. */
export async function countPosts(origin: string, dialect: Dialect): Promise<number> {
  const response = await fetch(`${origin}${dialect.postsCount}`, { headers: dialect.headers });
  await response.arrayBuffer();
  return Number(response.headers.get("x-total-count") ?? Number.NaN);
}
