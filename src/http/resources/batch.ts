// POST /-/batch: a list of operations, done all or not at all.

import type { BatchDone, BatchRefused, Operation } from "../../domain/batches.ts";
import { mayRead } from "../../domain/without-read.ts";
import type { Rules } from "../../model/collection.ts";
import { Problem } from "../../model/problem.ts";
import { renderFields } from "../../model/render.ts";
import type { Token } from "../../model/token.ts";
import type { Outcome } from "../../store/store.ts";
import { readBody, refuseBody } from "../body/content.ts";
import type { RequestContext } from "../context.ts";
import { etagOf } from "../headers/conditional.ts";
import { onceOf, readKey, replayedField } from "../headers/idempotency-key.ts";
import { takenByPost } from "../headers/media-type.ts";
import { responseOf } from "../large-response.ts";
import { readOperations } from "./batch-operations.ts";
import { readShownFields, type Show, showing } from "./fields-param.ts";

export const maxOperations = 100;

export async function runBatch(context: RequestContext): Promise<Response | Problem> {
  const { request, services, token } = context;
  const key = readKey(request.headers);
  if (key instanceof Problem) return key;
  const fields = readShownFields(context.query);
  if (fields instanceof Problem) return fields;
  const refused = refuseBody(context, takenByPost);
  if (refused !== undefined) return refused;
  const bytes = await readBody(context);
  if (bytes instanceof Problem) return bytes;
  const operations = readOperations(bytes, maxOperations);
  if (operations instanceof Problem) return operations;

  const once = key === undefined ? undefined : onceOf(context, key, bytes);
  const done = await services.batches.run(token, operations, once);
  if (done instanceof Problem) return done;
  if ("index" in done) return problemAt(done);

  const headers = new Headers(services.jsonHeaders);
  headers.set("cache-control", "no-store");
  if (done.isReplay) headers.set(replayedField, "true");
  const show = showing(fields.map(({ field }) => field));
  const results = resultsOf(services.base, token, operations, done, show);
  return responseOf(context, `{"results":[${results.join(",")}]}`, { headers });
}

/** The problem of the operation, with its place in the list. */
export function problemAt({ index, problem }: BatchRefused): Problem {
  const { kind, detail, scope } = problem;
  const inner = (problem.errors ?? []).map((fault) =>
    "pointer" in fault
      ? { pointer: `/operations/${index}/body${fault.pointer}`, detail: fault.detail }
      : { pointer: `/operations/${index}/path`, detail: fault.detail },
  );
  const errors = inner.length > 0 ? inner : [{ pointer: `/operations/${index}`, detail }];
  return new Problem(kind, `Nothing was done: ${detail}`, { errors, ...(scope && { scope }) });
}

/** A result for each operation, as JSON. */
export const resultsOf = (
  base: string,
  caller: Token,
  operations: readonly Operation[],
  { outcomes, rules }: BatchDone,
  show: Show = renderFields,
): readonly string[] =>
  outcomes.map((outcome, index) => {
    const { collection = "" } = operations[index] ?? {};
    return resultOf(base, caller, outcome, collection, rules.get(collection), show);
  });

/** What was written; without its body for a caller who may not read it. */
function resultOf(
  base: string,
  caller: Token,
  outcome: Outcome,
  collection: string,
  rules: Rules | undefined,
  show: Show,
): string {
  if (outcome.kind === "removed") return '{"status":204}';
  if (outcome.kind !== "created" && outcome.kind !== "replaced") {
    throw new Error(`a batch that was done cannot hold ${outcome.kind}`);
  }
  const { resource } = outcome;
  const isReadable = mayRead(caller, collection, rules, resource);
  const status = outcome.kind === "created" ? 201 : isReadable ? 200 : 204;
  const home = `${base}/${collection}`;
  const location = `${home}/${resource.id}`;
  const etag = JSON.stringify(etagOf(resource, rules));
  const body = isReadable ? `,"body":${show(rules, resource, home)}` : "";
  return `{"status":${status},"location":"${location}","etag":${etag}${body}}`;
}
