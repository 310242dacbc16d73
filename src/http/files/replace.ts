// Handles PUT and DELETE of a file: replaces, adds or removes one file of a resource.

import { preconditionFailed } from "../../domain/problems.ts";
import { dateOf, fileAt, showsFile } from "../../domain/resources.ts";
import type { WriteCondition } from "../../domain/write/operation.ts";
import type { Reply } from "../../lib/reply.ts";
import type { StoredFile } from "../../model/file.ts";
import { wrongName } from "../../model/file-fields.ts";
import { Problem } from "../../model/problem.ts";
import type { Resource } from "../../model/resource.ts";
import { rejectPartialPut } from "../body/content.ts";
import { isFramed, saveBody } from "../body/single-file.ts";
import { checkUpload, maxUploadBytesOf } from "../body/upload.ts";
import { type FindTarget, readCondition, wholeSecond } from "../headers/conditional.ts";
import { fileTypes, isForm, jsonTypes, unsupported } from "../headers/media-type.ts";
import { readPreference } from "../headers/prefer.ts";
import type { RequestContext } from "../request/context.ts";
import { limitAnonymous } from "../request/rate-limit.ts";
import { rejectParameters } from "../request/request-target.ts";
import { answerWritten } from "../resources/answer-written.ts";
import { wholeRenderer } from "../resources/fields-param.ts";
import { emptyReply } from "../response/response.ts";

/** The resource must exist. The body is the file, of any type but that of a form. */
export async function putFile(context: RequestContext): Promise<Reply | Problem> {
  const { request, services, collection } = context;
  const target = await findTarget(context);
  if (target instanceof Problem) return target;
  const { id, slot, condition } = target;
  const rejected = checkBody(context) ?? collection.requirePrecondition(condition.isByTag);
  if (rejected !== undefined) return rejected;
  if (!target.isPromising) return preconditionFailed;
  const file = await saveBody(context, slot, target.resource);
  if (file instanceof Problem) return file;
  const operation = { kind: "file", id, slot, file, condition } as const;
  const written = await services.writes.run(collection, operation);
  if (written instanceof Problem) return written;
  const isShown = readPreference(request.headers) === "representation";
  const answer = isShown
    ? await answerWritten(context, written, wholeRenderer)
    : answerStored(context, file);
  return target.isNew() ? created(answer, `${context.collectionUrl}/${id}/${slot}`) : answer;
}

export async function deleteFile(context: RequestContext): Promise<Reply | Problem> {
  const { services, collection } = context;
  const target = await findTarget(context);
  if (target instanceof Problem) return target;
  const { id, slot, condition } = target;
  const written = await services.writes.run(collection, { kind: "file", id, slot, condition });
  return written instanceof Problem ? written : emptyReply(context);
}

/** The file of a request, and its precondition. */
interface ReplacedFile {
  readonly id: string;
  readonly resource: Resource;
  readonly slot: string;
  readonly condition: WriteCondition;
  /** Whether the precondition holds now, as far as it is known before the body is read. */
  readonly isPromising: boolean;
  /** Whether there was no file in the state that the write was planned on. */
  readonly isNew: () => boolean;
}

/** A resource that does not exist is 404, whatever the rest of the request says. */
async function findTarget(context: RequestContext): Promise<ReplacedFile | Problem> {
  const { services, collection, request } = context;
  const [id, slot] = [context.param("id"), context.param("name")];
  const rejected = rejectParameters(context);
  if (rejected !== undefined) return rejected;
  const found = await services.resources.find(collection, id, "update");
  if (found instanceof Problem) return found;
  const wrong = wrongName(slot);
  if (wrong !== undefined) return invalidName(wrong);
  const find = fileState(slot);
  const sent = readCondition(request.headers, find);
  if (sent instanceof Problem) return sent;
  let isNew = false;
  const holds = (...[current, access]: Parameters<WriteCondition>): boolean => {
    isNew = find(current, access) === undefined;
    return sent?.(current, access) !== false;
  };
  const condition = Object.assign(holds, { isByTag: sent?.isByTag === true });
  // With grants, whether the caller may write comes first, and is decided later.
  const isPromising = !collection.caller.writesWhole || holds(found.resource, collection);
  return { id, resource: found.resource, slot, condition, isPromising, isNew: () => isNew };
}

/** A file that the caller does not see is neither there nor not there. */
const fileState =
  (slot: string): FindTarget =>
  (resource, access) => {
    const mask = resource && access.maskNow(resource);
    if (resource === undefined || !mask || !showsFile(mask, slot)) return unseen;
    const file = fileAt({ resource, mask }, slot);
    if (file instanceof Problem) return undefined;
    const { updatedAt, isDateExact } = dateOf(resource, file);
    return {
      isTag: (tag) => tag === `"${file.sha256}"`,
      isUnmodifiedSince: (since) =>
        mask.showsUpdates && isDateExact && wholeSecond(updatedAt) <= since,
    };
  };

const unseen = { isTag: () => false, isUnmodifiedSince: () => false };

function checkBody(context: RequestContext): Problem | undefined {
  const { headers } = context.request;
  return (
    limitAnonymous(context) ??
    rejectPartialPut(context) ??
    (isForm(headers) ? formAsFile : undefined) ??
    (isFramed(headers) ? undefined : noBytes) ??
    checkUpload(context, maxUploadBytesOf(context, context.collection.rules), jsonTypes)
  );
}

/** Bytes that are stored as they were sent may have their ETag in the response (RFC 9110 §9.3.4). */
function answerStored(context: RequestContext, { sha256 }: StoredFile): Reply {
  const { headers: sent } = context.request;
  const reply = emptyReply(context);
  if (!sent.has("content-encoding")) reply.fields.set("ETag", `"${sha256}"`);
  if (readPreference(sent) === "minimal") reply.fields.set("Preference-Applied", "return=minimal");
  return reply;
}

function created(answer: Reply, location: string): Reply {
  answer.fields.set("Location", location);
  return { ...answer, status: 201 };
}

const invalidName = (detail: string): Problem =>
  new Problem("invalid-parameter", "The name of the file in the URL is not valid.", {
    errors: [{ parameter: "name", detail }],
  });

const formAsFile = unsupported(
  fileTypes,
  "The body of this PUT is the file itself, not a form. Send its bytes with their own Content-Type, such as `image/png`, or PATCH the resource with the form.",
);

const noBytes = new Problem(
  "invalid-body",
  "The body is missing. Send the bytes of the file; for an empty file send `Content-Length: 0`.",
  { errors: [{ pointer: "", detail: "the bytes of the file are needed" }] },
);
