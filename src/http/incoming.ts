// How the body of a POST becomes a draft, whatever format it comes in.

import type { Rules } from "../model/collection.ts";
import type { Draft } from "../model/draft.ts";
import type { Part } from "../model/part.ts";
import { Problem } from "../model/problem.ts";
import { readBody, readFields, refuseBody } from "./body.ts";
import type { Exchange } from "./exchange.ts";
import { takenByPost } from "./media.ts";

/** What came, read and not yet accepted. */
export interface Incoming {
  readonly draft: Draft;
  /** Files that are on disk already, and named by no resource yet. */
  readonly parts: readonly Part[];
  /** What tells this body from another, for an Idempotency-Key. */
  readonly fingerprint: Uint8Array;
}

/**
 * The rules say what the texts of a form stand for; there are none where the collection is not there
 * yet. `keyless` refuses what the collection takes only with a key, once its type is known.
 */
export async function readIncoming(
  exchange: Exchange,
  _rules: Rules | undefined,
  keyless: Problem | undefined,
): Promise<Incoming | Problem> {
  return readJson(exchange, keyless);
}

async function readJson(
  exchange: Exchange,
  keyless: Problem | undefined,
): Promise<Incoming | Problem> {
  const refused = refuseBody(exchange, takenByPost) ?? keyless;
  if (refused !== undefined) return refused;
  const bytes = await readBody(exchange);
  if (bytes instanceof Problem) return bytes;
  const draft = readFields(bytes);
  return draft instanceof Problem ? draft : { draft, parts: [], fingerprint: bytes };
}
