// Begins a resumable upload: any request with a file can be sent in several requests (draft-ietf-httpbis-resumable-upload).

import type { CollectionPermission } from "../../domain/collection-access.ts";
import type { ResumableUpload, UploadRequest } from "../../domain/resumable-uploads.ts";
import { networkOf } from "../../lib/ip-address.ts";
import type { MaybePromise } from "../../lib/maybe-promise.ts";
import type { Reply } from "../../lib/reply.ts";
import { Problem } from "../../model/problem.ts";
import { isFile } from "../body/file-type.ts";
import { maxUploadBytesOf } from "../body/upload.ts";
import { readCoding } from "../headers/content-coding.ts";
import { keyOwnerOf, readKey } from "../headers/idempotency-key.ts";
import { isCsv, isForm, isNdjson, typeOf } from "../headers/media-type.ts";
import {
  booleanField,
  interopVersionOf,
  limitField,
  readUploadFields,
  type UploadFields,
} from "../headers/upload-fields.ts";
import { addressOf } from "../request/client-address.ts";
import type { RequestContext } from "../request/context.ts";
import type { Route } from "../request/route.ts";
import { emptyReply } from "../response/response.ts";
import { agreeOnLength, complete, receive } from "./transfer.ts";

/** The fields of the original request that its handler reads. Credentials are sent with every request. */
const storedFields = [
  "accept",
  "content-type",
  "content-encoding",
  "content-disposition",
  "content-language",
  "idempotency-key",
  "if-match",
  "if-none-match",
  "if-unmodified-since",
  "prefer",
  "repr-digest",
];

/** The methods whose body can be a file. Others ignore the fields of uploads. */
const uploadMethods: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/** Whether the client asks for an upload. */
export const asksForUpload = ({ method, headers }: Request): boolean =>
  headers.has("upload-complete") && uploadMethods.has(method);

/** Runs the route, or begins an upload when the client asks for one. */
export function runResumable(context: RequestContext, route: Route): MaybePromise<Reply | Problem> {
  const fields = readUploadFields(context.request.headers);
  const { isComplete } = fields;
  if (isComplete === undefined || context.params.collection === undefined)
    return route.handler(context);
  const mayResume = hasFile(context);
  // A client that cannot learn the URL of the upload cannot resume it.
  if (isComplete && (!mayResume || !canAnnounce(context))) return route.handler(context);
  return mayResume ? begin(context, route.permission as CollectionPermission, fields) : notAFile;
}

/** Other bodies have few bytes, or are answered while they arrive. */
function hasFile({ params, request: { method, headers } }: RequestContext): boolean {
  const type = typeOf(headers);
  if (params.name !== undefined || type === "multipart/form-data") return true;
  const isOther =
    isNdjson(headers) || isCsv(headers) || type === "application/x-www-form-urlencoded";
  return method === "POST" && isFile(headers) && !isOther;
}

async function begin(
  context: RequestContext,
  permission: CollectionPermission,
  fields: UploadFields,
): Promise<Reply | Problem> {
  const { services, collection, request } = context;
  const maxOfBody = maxUploadBytesOf(context, collection.rules);
  const isOneFile = !isForm(request.headers) && !request.headers.has("content-encoding");
  const maxBytes = isOneFile ? Math.min(maxOfBody, services.uploads.maxFileBytes) : maxOfBody;
  const length = agreeOnLength(context, fields, { size: 0, length: null, maxBytes });
  const rejected = [length, readKey(request.headers), readCoding(request.headers)].find(isProblem);
  if (rejected !== undefined) return rejected;
  const caller = context.principal.subject ?? networkOf(addressOf(context));
  const wanted = {
    request: requestOf(context),
    caller,
    keyOwner: keyOwnerOf(context),
    maxBytes,
    length: length as number | null,
  };
  const upload = await services.resumableUploads.create(collection, permission, wanted);
  if (upload instanceof Problem) return upload;
  const location = `${services.base}/-/uploads/${upload.id}`;
  const isAnnounced = announce(context, location, upload);
  const received = await (isAnnounced ? receive(context, upload) : receiveAll(context, upload));
  if (received instanceof Problem) return received;
  if (fields.isComplete) return complete(context, received);
  const reply = uploadReply(context, 201, received);
  reply.fields.set("Location", location);
  return reply;
}

/** Removes the upload when it fails: its client does not know the address, and cannot go on or cancel it. */
async function receiveAll(
  context: RequestContext,
  upload: ResumableUpload,
): Promise<ResumableUpload | Problem> {
  const { services } = context;
  let received: ResumableUpload | Problem | undefined;
  try {
    received = await receive(context, upload);
    return received;
  } finally {
    if (received === undefined || received instanceof Problem)
      await services.resumableUploads
        .discard(upload)
        .catch((error) => services.logFailure(context, error));
  }
}

const canAnnounce = ({ client, request }: RequestContext): boolean =>
  client.sendInterim !== undefined && interopVersionOf(request.headers) !== undefined;

/**
 * Tells a client that knows 104 the address while it sends. nginx takes a 104 for the response. Returns whether
 * it was told.
 */
function announce(
  { client, request }: RequestContext,
  location: string,
  upload: ResumableUpload,
): boolean {
  const version = interopVersionOf(request.headers);
  if (version === undefined || client.sendInterim === undefined) return false;
  client.sendInterim(104, {
    Location: location,
    "Upload-Limit": limitOf(upload),
    "Upload-Draft-Interop-Version": String(version),
  });
  return true;
}

const isProblem = (value: unknown): value is Problem => value instanceof Problem;

function requestOf({ request, path, query }: RequestContext): UploadRequest {
  const headers: Record<string, string> = {};
  for (const name of storedFields) {
    const value = request.headers.get(name);
    if (value !== null) headers[name] = value;
  }
  return { method: request.method, path, query, headers };
}

const limitOf = ({ maxBytes, expiresAt }: ResumableUpload): string =>
  limitField(maxBytes, Math.floor((expiresAt - Date.now()) / 1000));

/** The state of an upload. */
export function uploadReply(
  context: RequestContext,
  status: number,
  upload: ResumableUpload,
): Reply {
  const reply = emptyReply(context, status);
  const { fields } = reply;
  fields.set("Upload-Offset", String(upload.size));
  fields.set("Upload-Complete", booleanField(upload.isFinished));
  fields.set("Upload-Limit", limitOf(upload));
  if (upload.length !== null) fields.set("Upload-Length", String(upload.length));
  return reply;
}

const notAFile = new Problem(
  "malformed-request",
  "Only a file, or a form with files, can be sent in several requests. Send the whole body without Upload-Complete.",
);
