// Handles POST /-/batch: runs all operations of a batch or none.

import type { AllDone, Refused, WriteResult } from "../../domain/write/operation.ts";
import { type Reply, ReplyFields } from "../../lib/reply.ts";
import { Problem } from "../../model/problem.ts";
import { checkJsonBody, readBody } from "../body/content.ts";
import { etagOf } from "../headers/conditional.ts";
import { idempotencyKeyOf, readKey, replayedHeader } from "../headers/idempotency-key.ts";
import { postTypes } from "../headers/media-type.ts";
import { checkWithoutValidators } from "../headers/without-validators.ts";
import type { RequestContext } from "../request/context.ts";
import { createReply } from "../response/response.ts";
import { readOperations } from "./batch-operations.ts";
import {
  checkedRendererFactory,
  type RendererFactory,
  readFieldsParam,
  wholeRenderer,
} from "./fields-param.ts";

export async function runBatch(context: RequestContext): Promise<Reply | Problem> {
  const { request, services, principal } = context;
  const key = readKey(request.headers);
  if (key instanceof Problem) return key;
  const fields = readFieldsParam(context.searchParams);
  if (fields instanceof Problem) return fields;
  const rendererFor = checkedRendererFactory(fields, principal, undefined);
  if (rendererFor instanceof Problem) return rendererFor;
  const rejected =
    checkJsonBody(context, postTypes) ?? checkWithoutValidators(request.headers, "is not shown");
  if (rejected !== undefined) return rejected;
  const bytes = await readBody(context);
  if (bytes instanceof Problem) return bytes;
  const operations = readOperations(bytes);
  if (operations instanceof Problem) return operations;

  const once = key === undefined ? undefined : idempotencyKeyOf(context, key, bytes);
  const done = await services.writes.runAll(principal, operations, once);
  if (done instanceof Problem) return done;
  if ("index" in done) return problemAt(done);

  const shown = new ReplyFields(services.jsonFields);
  shown.set("Cache-Control", "no-store");
  if (done.isReplay) shown.set(replayedHeader, "true");
  const results = await resultsOf(services.base, done, rendererFor);
  return createReply(context, 200, shown, `{"results":[${results.join(",")}]}`);
}

/** Returns the problem of an operation, with pointers into the batch. */
export function problemAt({ index, problem }: Refused): Problem {
  const { kind, detail, scope } = problem;
  const inner = (problem.errors ?? []).map((error) =>
    "pointer" in error
      ? { pointer: `/operations/${index}/body${error.pointer}`, detail: error.detail }
      : { pointer: `/operations/${index}/path`, detail: error.detail },
  );
  const errors = inner.length > 0 ? inner : [{ pointer: `/operations/${index}`, detail }];
  return new Problem(kind, `The batch was rejected. ${detail}`, {
    errors,
    ...(scope && { scope }),
  });
}

/** Returns a result for each operation, as JSON. */
export const resultsOf = (
  base: string,
  { results }: AllDone,
  rendererFor: RendererFactory = wholeRenderer,
): Promise<readonly string[]> =>
  Promise.all(results.map((result) => resultOf(base, result, rendererFor)));

/** Omits the body for a caller who may not read the resource. */
async function resultOf(
  base: string,
  result: WriteResult,
  rendererFor: RendererFactory,
): Promise<string> {
  if (result.kind === "removed") return '{"status":204}';
  const { resource, access, isNew } = result;
  const mask = await access.mask(resource);
  const status = isNew ? 201 : mask ? 200 : 204;
  const home = `${base}/${access.name}`;
  const location = `${home}/${resource.id}`;
  const shown = mask ?? access.writtenMask;
  const etag = shown ? `,"etag":${JSON.stringify(etagOf(resource, shown))}` : "";
  const body = mask ? `,"body":${rendererFor(mask)(resource, home)}` : "";
  return `{"status":${status},"location":"${location}"${etag}${body}}`;
}
