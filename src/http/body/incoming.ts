// How the body of a POST becomes a draft, whatever format it comes in.

import type { Rules } from "../../model/collection.ts";
import { isTrapped } from "../../model/form.ts";
import { Problem } from "../../model/problem.ts";
import type { Exchange } from "../exchange.ts";
import { readBody, readFields, refuseBody, refuseForm } from "./body.ts";
import type { Incoming } from "./draft.ts";
import { readFile } from "./file.ts";
import { isFile } from "./file-type.ts";
import { draftOfForm, readPairs } from "./form.ts";
import { takenByCreate, typeOf } from "./media.ts";
import { readMultipart } from "./multipart.ts";

/**
 * The rules say what the texts of a form stand for; there are none where the collection is not there
 * yet. `keyless` refuses what the collection takes only with a key, once its type is known.
 */
export async function readIncoming(
  exchange: Exchange,
  rules: Rules | undefined,
  keyless: Problem | undefined,
): Promise<Incoming | Problem> {
  switch (typeOf(exchange.request.headers)) {
    case "application/json":
      return readJson(exchange, keyless);
    case "application/x-www-form-urlencoded":
      return readForm(exchange, rules, keyless);
    case "multipart/form-data":
      return readMultipart(exchange, rules, keyless);
    default:
      return isFile(exchange.request.headers)
        ? readFile(exchange, rules, keyless)
        : readJson(exchange, keyless);
  }
}

async function readForm(
  exchange: Exchange,
  rules: Rules | undefined,
  keyless: Problem | undefined,
): Promise<Incoming | Problem> {
  const refused = refuseForm(exchange) ?? keyless;
  if (refused !== undefined) return refused;
  const bytes = await readBody(exchange);
  if (bytes instanceof Problem) return bytes;
  const pairs = readPairs(bytes);
  if (pairs instanceof Problem) return pairs;
  const draft = draftOfForm(pairs, rules);
  if (draft instanceof Problem) return draft;
  return { draft, parts: [], fingerprint: bytes, isTrapped: isTrapped(pairs, rules) };
}

async function readJson(
  exchange: Exchange,
  keyless: Problem | undefined,
): Promise<Incoming | Problem> {
  const refused = refuseBody(exchange, takenByCreate) ?? keyless;
  if (refused !== undefined) return refused;
  const bytes = await readBody(exchange);
  if (bytes instanceof Problem) return bytes;
  const draft = readFields(bytes);
  return draft instanceof Problem ? draft : { draft, parts: [], fingerprint: bytes };
}
