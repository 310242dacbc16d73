// Handles the resource of a resumable upload: HEAD shows its offset, PATCH appends to it, DELETE cancels it.

import { completing } from "../../domain/resumable-uploads.ts";
import type { Reply } from "../../lib/reply.ts";
import { Problem } from "../../model/problem.ts";
import { hasNoBody } from "../body/content.ts";
import { HttpProblem } from "../headers/http-problem.ts";
import { typeOf } from "../headers/media-type.ts";
import { partialType, readUploadFields } from "../headers/upload-fields.ts";
import { checkWithoutValidators } from "../headers/without-validators.ts";
import type { RequestContext } from "../request/context.ts";
import { rejectParameters } from "../request/request-target.ts";
import { emptyReply } from "../response/response.ts";
import { uploadReply } from "./resumable.ts";
import { agreeOnLength, complete, receive } from "./transfer.ts";

export async function getUpload(context: RequestContext): Promise<Reply | Problem> {
  const rejected = rejectParameters(context);
  if (rejected !== undefined) return rejected;
  const { services, principal } = context;
  const upload = await services.resumableUploads.find(principal, context.param("id"));
  if (upload instanceof Problem) return upload;
  const reply = uploadReply(context, 204, upload);
  if (upload.location !== undefined) reply.fields.set("Location", upload.location);
  return reply;
}

export async function appendToUpload(context: RequestContext): Promise<Reply | Problem> {
  const { services, principal, request } = context;
  const rejected = rejectParameters(context) ?? checkPiece(request.headers);
  if (rejected !== undefined) return rejected;
  const found = await services.resumableUploads.find(principal, context.param("id"));
  if (found instanceof Problem) return found;
  const failed = checkWithoutValidators(request.headers, "is shown");
  if (failed !== undefined) return failed;
  const fields = readUploadFields(request.headers);
  const { isComplete, offset } = fields;
  if (found.isFinished) return hasNoBody(request.headers) ? completed : appendedLate;
  if (services.resumableUploads.isCompleting(found)) return completing;
  if (isComplete === undefined || offset === undefined) return missingFields;
  if (offset !== found.size) return mismatch(found.size, offset);
  const length = agreeOnLength(context, fields, found);
  if (length instanceof Problem) return length;
  const isNews = length !== null && found.length === null;
  const upload = isNews ? await services.resumableUploads.setLength(found, length) : found;
  if (upload instanceof Problem) return upload;
  const received = await receive(context, upload);
  if (received instanceof Problem) return received;
  if (isComplete) return complete(context, received);
  return uploadReply(context, 204, received);
}

export async function deleteUpload(context: RequestContext): Promise<Reply | Problem> {
  const rejected = rejectParameters(context);
  if (rejected !== undefined) return rejected;
  const { services, principal, request } = context;
  const failed = checkWithoutValidators(request.headers, "is shown");
  if (failed !== undefined) {
    const found = await services.resumableUploads.find(principal, context.param("id"));
    return found instanceof Problem ? found : failed;
  }
  const problem = await services.resumableUploads.remove(principal, context.param("id"));
  if (problem !== undefined) return problem;
  return emptyReply(context);
}

function checkPiece(headers: Headers): Problem | undefined {
  if (typeOf(headers) !== partialType) return wrongType;
  return headers.has("content-encoding") ? encodedPiece : undefined;
}

const wrongType = new HttpProblem(
  "unsupported-media-type",
  `Send the next bytes of the upload as \`Content-Type: ${partialType}\`.`,
  { "accept-patch": partialType },
);

const encodedPiece = new HttpProblem(
  "unsupported-media-type",
  "A piece of an upload is sent without Content-Encoding. The coding of all of it is a field of the request that began the upload.",
  { "accept-encoding": "identity" },
);

const missingFields = new Problem(
  "malformed-request",
  "Send Upload-Offset with a number, and Upload-Complete with ?0, or ?1 in the last request.",
);

const mismatch = (expected: number, provided: number): Problem =>
  new HttpProblem(
    "mismatching-upload-offset",
    `The upload has ${expected} bytes. Send what follows them.`,
    { "upload-offset": String(expected) },
    { offsets: [expected, provided] },
  );

const completed = new Problem(
  "completed-upload",
  "The upload is complete. HEAD has the URL of its result.",
);

const appendedLate = new Problem(
  "inconsistent-upload-length",
  "The upload is complete, and no bytes can be appended to it.",
);
