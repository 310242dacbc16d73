// What is asked, and how each server is asked for the same thing.

import { pocketBaseId } from "../data/peers.ts";
import { pageLimit, person } from "../data/records.ts";
import type { Ask } from "./load.ts";

export const scenarios = {
  get: { title: "GET one", about: "the same resource again and again" },
  random: { title: "GET one at random", about: "one of many resources" },
  conditional: { title: "GET one, 304", about: "If-None-Match with the current ETag" },
  list: { title: "List of 20", about: "the first page, with the exact total" },
  page: { title: "Random page of 20", about: "one of 5,000 pages, with the exact total" },
  post: { title: "POST", about: "a JSON object of two fields; the 201 means it is stored" },
  validated: { title: "POST, validated", about: "the same to a collection with a JSON Schema" },
} as const;

export type Scenario = keyof typeof scenarios;
export const scenarioNames = Object.keys(scenarios) as readonly Scenario[];

/** How many people the servers hold that are compared. */
export const peopleCount = 10_000;

/** How one server names the things that all of them have. */
export interface ServerApi {
  readonly headers: Readonly<Record<string, string>>;
  readonly ids: readonly string[];
  one(id: string): string;
  /** Pages are counted from 1 and come with the exact total. */
  page(number: number): string;
  readonly pages: number;
  readonly posts: string;
  /** POSTs that a schema validates. */
  readonly validatedPosts?: string;
  readonly createdStatus: number;
  /** A list of the POSTed resources, with their number in X-Total-Count or in its member totalItems. */
  readonly postsList: string;
}

const pagesOf = (count: number): number => Math.ceil(count / pageLimit);

export const restanteApi = (
  secret: string,
  ids: readonly string[],
  count = peopleCount,
): ServerApi => ({
  headers: { authorization: `Bearer ${secret}` },
  ids,
  one: (id) => `/people/${id}`,
  page: (number) => `/people?page=${number}&limit=${pageLimit}`,
  pages: pagesOf(count),
  posts: "/letters",
  validatedPosts: "/validated",
  createdStatus: 201,
  postsList: "/letters?limit=1",
});

const peerNumbers = Array.from({ length: peopleCount }, (_, index) => index + 1);

export const jsonServerApi: ServerApi = {
  headers: {},
  ids: peerNumbers.map(String),
  one: (id) => `/people/${id}`,
  page: (number) => `/people?_page=${number}&_limit=${pageLimit}`,
  pages: pagesOf(peopleCount),
  posts: "/letters",
  createdStatus: 201,
  postsList: "/letters?_page=1&_limit=1",
};

export const platformaticApi: ServerApi = {
  headers: {},
  ids: peerNumbers.map(String),
  one: (id) => `/people/${id}`,
  page: (number) =>
    `/people/?limit=${pageLimit}&offset=${(number - 1) * pageLimit}&totalCount=true`,
  pages: pagesOf(peopleCount),
  posts: "/letters/",
  createdStatus: 200,
  postsList: "/letters/?limit=1&totalCount=true",
};

const records = (collection: string): string => `/api/collections/${collection}/records`;

export const pocketBaseApi: ServerApi = {
  headers: {},
  ids: peerNumbers.map(pocketBaseId),
  one: (id) => `${records("people")}/${id}`,
  page: (number) => `${records("people")}?page=${number}&perPage=${pageLimit}`,
  pages: pagesOf(peopleCount),
  posts: records("letters"),
  createdStatus: 200,
  postsList: `${records("letters")}?perPage=1`,
};

export const get = (headers: Ask["headers"], ...paths: readonly string[]): Ask => ({
  method: "GET",
  headers,
  body: "",
  paths,
  status: 200,
});

export const post = (headers: Ask["headers"], path: string, body: object, status = 201): Ask => ({
  method: "POST",
  headers: { ...headers, "content-type": "application/json" },
  body: JSON.stringify(body),
  paths: [path],
  status,
});

/** The requests of a scenario to one server. A text says why the server cannot be asked. */
export async function askOf(
  scenario: Scenario,
  api: ServerApi,
  origin: string,
): Promise<Ask | string> {
  const { headers, ids } = api;
  const hot = get(headers, api.one(ids[0] ?? ""));
  switch (scenario) {
    case "get":
      return hot;
    case "random":
      return get(headers, ...ids.map(api.one));
    case "conditional":
      return conditional(hot, origin);
    case "list":
      return get(headers, api.page(1));
    case "page": {
      const pages = Array.from({ length: api.pages }, (_, index) => index + 1);
      return get(headers, ...pages.map(api.page));
    }
    case "post":
      return post(headers, api.posts, person(1), api.createdStatus);
    case "validated":
      if (api.validatedPosts === undefined) return "has no collection with a JSON Schema";
      return post(headers, api.validatedPosts, person(1), api.createdStatus);
  }
}

async function conditional(ask: Ask, origin: string): Promise<Ask | string> {
  const { etag } = await probe(origin, ask);
  if (etag === null) return "sends no ETag";
  return { ...ask, headers: { ...ask.headers, "if-none-match": etag }, status: 304 };
}

export interface Probed {
  readonly body: string;
  readonly etag: string | null;
}

/** One request outside the load. Throws when the response is not the one to be measured. */
export async function probe(origin: string, ask: Ask): Promise<Probed> {
  const { method, headers, body } = ask;
  const token = ask.secrets?.[0];
  const init = {
    method,
    headers: { ...headers, ...(token ? { authorization: `Bearer ${token}` } : {}) },
    ...(body === "" ? {} : { body }),
    signal: AbortSignal.timeout(60_000),
  };
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
export async function countPosts(origin: string, api: ServerApi): Promise<number> {
  const response = await fetch(`${origin}${api.postsList}`, { headers: api.headers });
  const text = await response.text();
  const total = response.headers.get("x-total-count");
  if (total !== null) return Number(total);
  return (JSON.parse(text) as { readonly totalItems?: number }).totalItems ?? Number.NaN;
}
