// Collections and their definitions over HTTP, for administrators.

import type { Collection } from "../model/collection.ts";
import { definitionOf } from "../model/definition.ts";
import { Problem } from "../model/problem.ts";
import { json } from "./answer.ts";
import { readBody, readText, refuseBody } from "./body.ts";
import type { Exchange } from "./exchange.ts";
import { jsonTypes, refuseUnacceptable, takenByPut } from "./media.ts";
import { refuseParameters } from "./query.ts";

const collectionView = (collection: Collection) => ({
  name: collection.name,
  total: collection.total,
  revision: collection.revision,
  definition: definitionOf(collection),
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

export async function putCollection(exchange: Exchange): Promise<Response | Problem> {
  const { house } = exchange;
  const name = exchange.param("name");
  const refused = refuseParameters(exchange) ?? refuseBody(exchange, takenByPut);
  if (refused !== undefined) return refused;
  const text = readText(await readBody(exchange));
  if (text instanceof Problem) return text;

  const defined = await house.collections.define(name, text);
  if (defined instanceof Problem) return defined;

  const collection = await house.collections.find(name);
  if (collection instanceof Problem) return collection;
  return json(exchange, defined.isNew ? 201 : 200, collectionView(collection));
}
