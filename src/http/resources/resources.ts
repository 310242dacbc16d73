// Handles GET, POST, PUT, PATCH and DELETE of single resources.

import type { Resources, ShownResource } from "../../domain/resources.ts";
import type { Dependence } from "../../domain/view.ts";
import { patchOperation, type WriteCondition, type Written } from "../../domain/write/operation.ts";
import { checkId } from "../../domain/write/validate.ts";
import { type MaybePromise, then } from "../../lib/maybe-promise.ts";
import type { Reply } from "../../lib/reply.ts";
import type { Draft } from "../../model/draft.ts";
import type { PatchKind } from "../../model/patch.ts";
import { Problem } from "../../model/problem.ts";
import type { NamedField } from "../../model/query/list-request.ts";
import { writeMany } from "../body/bulk.ts";
import { readAtomic } from "../body/bulk-parameters.ts";
import {
  checkContentLength,
  checkJsonBody,
  readBody,
  readFields,
  readText,
  rejectPartialPut,
} from "../body/content.ts";
import { readMultipart } from "../body/multipart.ts";
import { readDraftBody } from "../body/read-body.ts";
import type { ReceivedDraft } from "../body/received.ts";
import { readCondition } from "../headers/conditional.ts";
import { idempotencyKeyOf, readKey } from "../headers/idempotency-key.ts";
import {
  type AcceptedTypes,
  checkAccept,
  isCsv,
  isNdjson,
  jsonTypes,
  linesTypes,
  multipartType,
  putTypes,
  readPatchKind,
  replaceTypes,
  typeOf,
  unsupported,
} from "../headers/media-type.ts";
import type { RequestContext } from "../request/context.ts";
import { limitAnonymous } from "../request/rate-limit.ts";
import { rejectParameters } from "../request/request-target.ts";
import { type CollectionRepeat, renderResource, sendPage } from "../response/representation.ts";
import { emptyReply } from "../response/response.ts";
import { answerWritten } from "./answer-written.ts";
import { checkCollectionCondition, readCollectionCondition } from "./collection-condition.ts";
import { sendExpanded } from "./expanded.ts";
import {
  checkedRendererFactory,
  type RendererFactory,
  readFieldsParam,
  readShownParams,
  type ShownRequest,
  wholeRenderer,
} from "./fields-param.ts";
import { readUniqueValue } from "./unique-value.ts";

export function getResource(context: RequestContext): MaybePromise<Reply | Problem> {
  const { request, services, collection } = context;
  const asked = context.query === "" ? everything : readShownParams(context.searchParams);
  if (asked instanceof Problem) return asked;
  const { fields, expand } = asked;
  return then(services.resources.find(collection, context.param("id")), (shown) => {
    if (shown instanceof Problem) return shown;
    const unacceptable = checkAccept(request.headers, jsonTypes);
    if (unacceptable !== undefined) return unacceptable;
    const rendererFor = rendererOf(context, fields);
    if (rendererFor instanceof Problem) return rendererFor;
    if (expand.length > 0) return sendExpanded(context, shown, rendererFor(shown.mask), asked);
    const { dependsOn } = collection.view("read");
    const repeat =
      dependsOn === "time" ? undefined : repeatOf(services.resources, shown, dependsOn);
    const whole = renderResource(context, shown);
    if (fields.length === 0) return sendPage(context, whole, repeat);
    const body = rendererFor(shown.mask)(shown.resource, context.collectionUrl);
    return sendPage(context, { ...whole, body }, repeat);
  });
}

/** A function of its own: one inside of another function would keep the request in memory. */
const repeatOf = (
  resources: Resources,
  shown: ShownResource,
  dependsOn: Dependence,
): CollectionRepeat => ({
  isCurrentFor: (access) => resources.isCurrentFor(access, shown),
  dependsOn,
  mask: shown.mask,
});

/** What the header says is checked before the body is read. */
export async function createResource(context: RequestContext): Promise<Reply | Problem> {
  const { request, services, collection } = context;
  if (isNdjson(request.headers) || isCsv(request.headers))
    return writeMany(context, checkCollectionCondition);
  const key = readKey(request.headers);
  if (key instanceof Problem) return key;
  const rendererFor = rendererOf(context, createFieldsOf(context));
  if (rendererFor instanceof Problem) return rendererFor;
  const collectionCondition = limitAnonymous(context) ?? readCollectionCondition(context);
  if (collectionCondition instanceof Problem) return collectionCondition;
  const reading = readDraftBody(context, key);
  // Nothing is awaited when the body has arrived.
  const received = reading instanceof Promise ? await reading : reading;
  if (received instanceof Problem) return received;
  const { draft, files, fingerprint, isHoneypotFilled } = received;
  const once = key === undefined ? undefined : idempotencyKeyOf(context, key, fingerprint);
  const operation = { kind: "create", draft, files, collectionCondition } as const;
  const written = isHoneypotFilled
    ? await honeypotResult(context, draft)
    : await services.writes.run(collection, operation, once);
  return written instanceof Problem ? written : answerWritten(context, written, rendererFor);
}

/** Creates resources at the address that takes lines alone, for clients with one type for each operation. */
export async function importResources(context: RequestContext): Promise<Reply | Problem> {
  const { headers } = context.request;
  if (isNdjson(headers) || isCsv(headers)) return writeMany(context, checkCollectionCondition);
  return unsupported(linesTypes, `Content-Type must be one of ${linesTypes.types}.`);
}

/** Returns the result that the draft would have if it were stored, for a bot that filled in the honeypot. */
async function honeypotResult(
  { services, requestId, collection: access }: RequestContext,
  draft: Draft,
): Promise<Written | Problem> {
  const planned = await services.writes.plan(access, { kind: "create", draft });
  if (planned instanceof Problem) return planned;
  if (planned.kind !== "put") throw new Error("a new resource must be put");
  services.logRefusal(requestId, 201, "The honeypot is filled in; nothing was stored.");
  const { id, at, fields } = planned;
  const resource = {
    id,
    revision: 1,
    createdAt: at,
    updatedAt: at,
    fields,
    ...access.creator,
  };
  return { kind: "written", resource, access, isNew: true, isReplay: false };
}

/** Creates or replaces a resource at the URL that the client chose. */
export async function putResource(context: RequestContext): Promise<Reply | Problem> {
  const { request, services, collection } = context;
  const id = context.param("id");
  const invalidId = checkId(id);
  if (invalidId !== undefined) return invalidId;
  const condition = readCondition(request.headers);
  const rendererFor = rendererOf(context, fieldsOf(context));
  if (rendererFor instanceof Problem) return rendererFor;
  if (condition instanceof Problem) return condition;
  const received = await readReplacement(context, condition, replaceTypes);
  if (received instanceof Problem) return received;

  const { draft, files } = received;
  const operation = { kind: "put", id, draft, files, condition } as const;
  const written = await services.writes.run(collection, operation);
  return written instanceof Problem ? written : answerWritten(context, written, rendererFor);
}

/** Creates or replaces the resource that has the value of a unique field in the URL. */
export async function upsertResource(context: RequestContext): Promise<Reply | Problem> {
  const { request, services, collection } = context;
  const condition = readCondition(request.headers);
  const unique = readUniqueValue(context.searchParams, collection);
  if (unique instanceof Problem) return unique;
  if (condition instanceof Problem) return condition;
  const received = await readReplacement(context, condition, putTypes);
  if (received instanceof Problem) return received;

  const operation = { kind: "upsert", ...unique, draft: received.draft, condition } as const;
  const written = await services.writes.run(collection, operation);
  return written instanceof Problem ? written : answerWritten(context, written, wholeRenderer, "");
}

type Replacement = Pick<ReceivedDraft, "draft" | "files">;

/** Reads the body of a PUT. */
const readReplacement = (
  context: RequestContext,
  condition: WriteCondition | undefined,
  types: AcceptedTypes,
): Promise<Replacement | Problem> =>
  context.measure("parse", async () => {
    const isMultipart = types === replaceTypes && typeOf(context.request.headers) === multipartType;
    const rejected =
      limitAnonymous(context) ??
      rejectPartialPut(context) ??
      (isMultipart ? undefined : checkJsonBody(context, types)) ??
      context.collection.requirePrecondition(condition?.isByTag === true);
    if (isMultipart) return readMultipart(context, "put", rejected);
    if (rejected !== undefined) return rejected;
    const bytes = await readBody(context);
    const draft = bytes instanceof Problem ? bytes : readFields(bytes);
    return draft instanceof Problem ? draft : { draft, files: [] };
  });

export async function patchResource(context: RequestContext): Promise<Reply | Problem> {
  const { request, services, collection } = context;
  const id = context.param("id");
  const condition = readCondition(request.headers);
  const key = readKey(request.headers);
  if (key instanceof Problem) return key;
  const fields = fieldsOf(context);
  if (fields instanceof Problem) return fields;
  // A resource that does not exist is 404, whatever the rest of the request says. A retry may be 410.
  const found = await services.resources.find(collection, id, "update");
  if (found instanceof Problem && key === undefined) return found;
  const rendererFor = rendererOf(context, fields);
  if (rendererFor instanceof Problem) return rendererFor;
  const patchKind = readPatchKind(request.headers);
  if (patchKind instanceof Problem) return patchKind;
  if (condition instanceof Problem) return condition;
  const rejected = collection.requirePrecondition(
    patchKind === "operations" || condition?.isByTag === true,
  );
  const received = await context.measure("parse", () => readPatch(context, patchKind, rejected));
  if (received instanceof Problem) return received;

  const { patch, files, fingerprint } = received;
  const sent = Buffer.concat([Buffer.from(`${patchKind}\n`), fingerprint]);
  const once = key === undefined ? undefined : idempotencyKeyOf(context, key, sent);
  const target = { id, condition };
  const operation =
    patchKind === "form"
      ? ({ kind: "patch", patchKind: "merge", patch, files, ...target } as const)
      : patchOperation(patchKind, patch, target);
  const written = await services.writes.run(collection, operation, once);
  return written instanceof Problem ? written : answerWritten(context, written, rendererFor);
}

interface ReceivedPatch extends Pick<ReceivedDraft, "files" | "fingerprint"> {
  readonly patch: string;
}

/** Reads the body of a PATCH. A form is a merge patch with files. */
async function readPatch(
  context: RequestContext,
  kind: PatchKind | "operations" | "form",
  missing: Problem | undefined,
): Promise<ReceivedPatch | Problem> {
  if (kind === "form") {
    const form = await readMultipart(context, "update", missing);
    return form instanceof Problem ? form : { ...form, patch: form.text };
  }
  const rejected =
    checkContentLength(context) ?? checkAccept(context.request.headers, jsonTypes) ?? missing;
  if (rejected !== undefined) return rejected;
  const bytes = await readBody(context);
  if (bytes instanceof Problem) return bytes;
  const patch = readText(bytes);
  return patch instanceof Problem ? patch : { patch, files: [], fingerprint: bytes };
}

export async function deleteResource(context: RequestContext): Promise<Reply | Problem> {
  const { request, services, collection } = context;
  const id = context.param("id");
  const rejected = rejectParameters(context);
  if (rejected !== undefined) return rejected;
  const condition = readCondition(request.headers);
  if (condition instanceof Problem) {
    // A resource that does not exist is 404, whatever the rest of the request says.
    const found = await services.resources.find(collection, id, "delete");
    return found instanceof Problem ? found : condition;
  }

  const removed = await services.writes.run(collection, { kind: "remove", id, condition });
  if (removed instanceof Problem) return removed;

  return emptyReply(context);
}

const everything: ShownRequest = { fields: [], expand: [], isFromUrl: true };

const noFields: readonly NamedField[] = [];

/** Most requests have no parameters. */
const fieldsOf = (context: RequestContext): readonly NamedField[] | Problem =>
  context.query === "" ? noFields : readFieldsParam(context.searchParams);

/** One resource is always created completely or not at all, so `atomic` changes nothing. */
function createFieldsOf(context: RequestContext): readonly NamedField[] | Problem {
  if (context.query === "") return noFields;
  const isAtomic = ([name]: readonly [string, string]) => name === "atomic";
  const atomic = readAtomic(context.searchParams.filter(isAtomic));
  if (atomic instanceof Problem) return atomic;
  return readFieldsParam(context.searchParams.filter((parameter) => !isAtomic(parameter)));
}

const rendererOf = (
  { principal, collection }: RequestContext,
  fields: readonly NamedField[] | Problem,
): RendererFactory | Problem => {
  if (fields instanceof Problem) return fields;
  return fields.length === 0
    ? wholeRenderer
    : checkedRendererFactory(fields, principal, collection);
};
