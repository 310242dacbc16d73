// Receives one request of a resumable upload, and carries out the original request when all have arrived.

import type { Performed, ResumableUpload, UploadRoom } from "../../domain/resumable-uploads.ts";
import { type UploadsFree, uploadsFull } from "../../domain/upload-tally.ts";
import { pulledStream } from "../../lib/pulled-stream.ts";
import type { Reply } from "../../lib/reply.ts";
import type { Principal } from "../../model/principal.ts";
import { Problem } from "../../model/problem.ts";
import { hasNoBody, received } from "../body/content.ts";
import { BodyError, type ByteLimit } from "../body/decoding.ts";
import { checkTrailer } from "../body/framing.ts";
import { released, superseded, withTimeouts } from "../body/upload.ts";
import { type DigestCheck, readDigest } from "../headers/content-digest.ts";
import { HttpProblem } from "../headers/http-problem.ts";
import {
  booleanField,
  contentLengthOf,
  limitField,
  type UploadFields,
} from "../headers/upload-fields.ts";
import { RequestContext } from "../request/context.ts";
import { answerProblem } from "../response/browser.ts";
import { problemStatus } from "../response/problem.ts";

/** Returns the length that the request names or implies; null when it does neither. */
export function agreeOnLength(
  { request: { headers } }: RequestContext,
  { isComplete, length }: UploadFields,
  { size, length: known, maxBytes }: Pick<ResumableUpload, "size" | "length" | "maxBytes">,
): number | null | Problem {
  const content = contentLengthOf(headers);
  const implied = isComplete && content !== undefined ? size + content : undefined;
  const named = [known ?? undefined, length, implied].filter((each) => each !== undefined);
  const [first = null, other] = [...new Set(named)];
  if (first !== null && other !== undefined) return inconsistent(first, other);
  if (first !== null && first > maxBytes) return tooLarge(maxBytes);
  return first !== null && size + (content ?? 0) > first
    ? inconsistent(first, size + (content ?? 0))
    : first;
}

/** Appends the body of the request. What arrives before an interruption stays. */
export async function receive(
  context: RequestContext,
  upload: ResumableUpload,
): Promise<ResumableUpload | Problem> {
  const { request, services } = context;
  const digest = checkTrailer(request.headers) ?? readDigest(request.headers);
  if (digest instanceof Problem) return digest;
  if (hasNoBody(request.headers)) return digest?.verify() ?? upload;
  const room = await services.resumableUploads.room(upload);
  if (room instanceof Problem) return room;
  const limit = { bytes: room.bytes, problem: overflow(context, upload, room) };
  if ((contentLengthOf(request.headers) ?? 0) > room.bytes) return limit.problem;
  let mismatch: Problem | undefined;
  const isValid = () => {
    mismatch = digest?.verify();
    return mismatch === undefined;
  };
  const open = (signal: AbortSignal) => released(context, chunksOf(context, limit, digest, signal));
  try {
    const size = await services.resumableUploads.append(upload, open, isValid);
    return typeof size === "number" ? { ...upload, size } : (mismatch ?? superseded);
  } catch (thrown) {
    if (!(thrown instanceof BodyError)) throw thrown;
    const isLost = thrown.problem === limit.problem && !isOfUploads(room);
    if (isLost) await services.resumableUploads.discard(upload);
    return thrown.problem.kind === "timeout" ? stalled : thrown.problem;
  }
}

/** Yields the bytes as they arrive: a content coding belongs to the whole upload. Throws `BodyError`. */
async function* chunksOf(
  context: RequestContext,
  limit: ByteLimit,
  digest: DigestCheck | undefined,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  try {
    yield* withTimeouts(received(context, digest, limit), undefined, undefined, signal);
  } catch (thrown) {
    if (thrown instanceof BodyError || !context.signal.aborted) throw thrown;
    throw new BodyError(interrupted);
  }
}

/** Carries out the original request with the bytes that have arrived, as its caller may do it now. */
export async function complete(
  context: RequestContext,
  upload: ResumableUpload,
): Promise<Reply | Problem> {
  const { services } = context;
  const { length, size } = upload;
  if (length !== null && length !== size) return inconsistent(length, size);
  const principal = await services.access.callers.renew(context.principal);
  if (principal instanceof Problem) return principal;
  const perform = (bytes: AsyncGenerator<Uint8Array>) =>
    performRequest(context, principal, upload, bytes);
  const response = await services.resumableUploads.complete(upload, perform, (error) =>
    services.logFailure(context, error),
  );
  return response ?? superseded;
}

async function performRequest(
  context: RequestContext,
  principal: Principal,
  upload: ResumableUpload,
  bytes: AsyncGenerator<Uint8Array>,
): Promise<Performed<Reply>> {
  const { services } = context;
  const request = requestOf(context, upload, bytes);
  const inner = new RequestContext(services, request, context.requestId);
  const { path, query } = upload.request;
  Object.assign(inner, { principal, path, query, keyOwner: upload.keyOwner });
  const { client, clientAddress, inClearText } = context;
  Object.assign(inner, { client, clientAddress, inClearText });
  try {
    return answer(context, upload, await services.perform(inner));
  } finally {
    inner.releaseMemory();
  }
}

/** Accept-Encoding is about this response. The key makes sure that a repeated attempt creates nothing twice. */
function requestOf(
  context: RequestContext,
  { id, size, request: { method, path, query, headers: stored } }: ResumableUpload,
  bytes: AsyncGenerator<Uint8Array>,
): Request {
  const headers = new Headers({ "idempotency-key": `"upload-${id}"`, ...stored });
  headers.set("Content-Length", String(size));
  const coding = context.request.headers.get("accept-encoding");
  if (coding !== null) headers.set("Accept-Encoding", coding);
  // The digest of all bytes is that of the content of this request.
  const digest = headers.get("repr-digest");
  if (digest !== null) headers.set("Content-Digest", digest);
  const init = { method, headers, body: pulledStream(bytes), duplex: "half" };
  return new Request(`http://localhost${path}?${query}`, init as RequestInit);
}

/** After an outage the upload stays, so that the client can complete it later. */
function answer(
  context: RequestContext,
  upload: ResumableUpload,
  result: Reply | Problem,
): Performed<Reply> {
  const reply = result instanceof Problem ? answerProblem(context, result) : result;
  const { status, fields } = reply;
  const isFinal = status < 500 && !retried.has(status);
  const location = fields.get(locationField) ?? undefined;
  fields.set("Upload-Complete", booleanField(isFinal));
  fields.set("Upload-Offset", String(upload.size));
  return { response: reply, isFinal, location };
}

const locationField = "location";

const retried: ReadonlySet<number> = new Set([
  problemStatus.timeout,
  problemStatus["too-many-requests"],
]);

/** Returns the problem of a body with more bytes than there is room for. */
function overflow(
  { services }: RequestContext,
  { length, size, maxBytes }: ResumableUpload,
  room: UploadRoom,
): Problem {
  if (isOfUploads(room)) return uploadsFull(services.maxUnfinishedBytes, room.reason);
  return length === null ? tooLarge(maxBytes) : inconsistent(length, size + room.bytes + 1);
}

/** Whether unfinished uploads leave no more room. */
const isOfUploads = (room: UploadRoom): room is UploadsFree =>
  room.reason !== "length" && room.reason !== "maxBytes";

export const tooLarge = (maxBytes: number): Problem =>
  new HttpProblem(
    "content-too-large",
    `The upload is larger than ${maxBytes} bytes. Nothing was stored.`,
    { "upload-limit": limitField(maxBytes) },
  );

const inconsistent = (length: number, other: number): Problem =>
  new Problem(
    "inconsistent-upload-length",
    `The upload has ${length} bytes by one field and ${other} by another, or by what was sent. Send the same length in every request.`,
  );

const interrupted = new Problem(
  "malformed-request",
  "The request was interrupted. What has arrived is stored; ask for the offset with HEAD.",
);

const stalled = new Problem(
  "timeout",
  "The rest of the request did not arrive in time. What has arrived is stored; ask for the offset with HEAD.",
);
