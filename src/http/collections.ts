// Collections and their definitions over HTTP, for administrators.

import type { Collection } from "../model/collection.ts";
import { Problem } from "../model/problem.ts";
import { json } from "./answer.ts";
import { readBody, readText, refuseBody } from "./body/body.ts";
import { jsonTypes, refuseUnacceptable, takenByPut } from "./body/media.ts";
import type { Exchange } from "./exchange.ts";
import { readParameters, refuseParameters } from "./query.ts";
import { noCache } from "./representation.ts";

const collectionView = (collection: Collection) => ({
  name: collection.name,
  total: collection.total,
  revision: collection.revision,
  definition: JSON.parse(collection.definition) as unknown,
  createdAt: new Date(collection.createdAt).toISOString(),
  updatedAt: new Date(collection.updatedAt).toISOString(),
});

const refuseQuestion = (exchange: Exchange): Problem | undefined =>
  refuseParameters(exchange) ?? refuseUnacceptable(exchange.request.headers, jsonTypes);

export async function listCollections(exchange: Exchange): Promise<Response | Problem> {
  const refused = refuseQuestion(exchange);
  if (refused !== undefined) return refused;
  const collections = await exchange.house.collections.list();
  return json(exchange, 200, { data: collections.map(collectionView) });
}

export async function getCollection(exchange: Exchange): Promise<Response | Problem> {
  const refused = refuseQuestion(exchange);
  if (refused !== undefined) return refused;
  const collection = await exchange.house.collections.find(exchange.param("name"));
  return collection instanceof Problem
    ? collection
    : json(exchange, 200, collectionView(collection));
}

/** With `?dry-run=true` it only tells what would happen. */
export async function putCollection(exchange: Exchange): Promise<Response | Problem> {
  const { house } = exchange;
  const name = exchange.param("name");
  const parameters = readParameters(exchange.query, ["dry-run"]);
  if (parameters instanceof Problem) return parameters;
  const { "dry-run": dryRun = "false" } = parameters;
  if (dryRun !== "true" && dryRun !== "false") return noChoice;
  const refused = refuseBody(exchange, takenByPut);
  if (refused !== undefined) return refused;
  const text = readText(await readBody(exchange));
  if (text instanceof Problem) return text;

  if (dryRun === "true") {
    const considered = await house.collections.consider(name, text);
    if (considered instanceof Problem) return considered;
    const definition: unknown = JSON.parse(text);
    return json(exchange, 200, { name, definition, dryRun: true, misfits: considered.misfits });
  }

  const defined = await house.collections.define(name, text);
  if (defined instanceof Problem) return defined;

  const collection = await house.collections.find(name);
  if (collection instanceof Problem) return collection;
  const { isNew, misfits } = defined;
  return json(exchange, isNew ? 201 : 200, { ...collectionView(collection), misfits });
}

/** The name once more, in `confirm`, deletes what is in it, too. */
export async function deleteCollection(exchange: Exchange): Promise<Response | Problem> {
  const { house } = exchange;
  const name = exchange.param("name");
  const parameters = readParameters(exchange.query, ["confirm"]);
  if (parameters instanceof Problem) return parameters;
  const { confirm } = parameters;
  if (confirm !== undefined && confirm !== name) return notConfirmed(name);

  const problem = await house.collections.drop(name, confirm === name);
  if (problem !== undefined) return problem;

  const headers = new Headers(house.commonHeaders);
  headers.set("cache-control", noCache);
  return new Response(null, { status: 204, headers });
}

const noChoice = new Problem("invalid-parameter", "The query string is not valid.", {
  errors: [{ parameter: "dry-run", detail: "dry-run is true or false." }],
});

const notConfirmed = (name: string): Problem =>
  new Problem("invalid-parameter", "The collection was not deleted.", {
    errors: [{ parameter: "confirm", detail: `confirm must be the name again: ${name}` }],
  });
