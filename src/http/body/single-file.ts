// Stores a body of any media type as a file: the only one of a new resource, or one of an existing resource.

import type { ArrivingFile } from "../../domain/file-limits.ts";
import { mayChange } from "../../domain/write/allow.ts";
import type { Rules } from "../../model/collection.ts";
import { memberOf, named, readFiles, type StoredFile } from "../../model/file.ts";
import { Problem } from "../../model/problem.ts";
import type { Resource } from "../../model/resource.ts";
import { cleanFileName, fileNameOf, readDisposition } from "../headers/content-disposition.ts";
import { jsonTypes, typeOf } from "../headers/media-type.ts";
import type { RequestContext } from "../request/context.ts";
import { emptyBody } from "./content.ts";
import { BodyError } from "./decoding.ts";
import { storedType } from "./file-type.ts";
import { rejectJsonText } from "./json-as-text.ts";
import type { ReceivedDraft } from "./received.ts";
import {
  checkUpload,
  expectedBytes,
  maxUploadBytesOf,
  released,
  uploadChunks,
  uploadTooLarge,
} from "./upload.ts";

/** The member that shows the file. */
const slot = "file";

export async function readFile(
  context: RequestContext,
  rules: Rules | undefined,
  keyProblem: Problem | undefined,
): Promise<ReceivedDraft | Problem> {
  const { headers } = context.request;
  const maxBytes = maxUploadBytesOf(context, rules);
  const rejected =
    (isFramed(headers) ? undefined : emptyBody) ??
    checkUpload(context, maxBytes, jsonTypes) ??
    keyProblem;
  if (rejected !== undefined) return rejected;
  const isText = typeOf(headers) === "text/plain";
  const { maxBodyBytes } = context.services;
  const file = await saveBody(context, slot, undefined, (content) =>
    isText ? rejectJsonText(content, maxBodyBytes) : content,
  );
  return file instanceof Problem ? file : receivedFile(named(file));
}

/** Whether the headers say where the body ends. */
export const isFramed = (headers: Headers): boolean =>
  headers.has("content-length") || headers.has("transfer-encoding");

/** Saves the body as the bytes of a file of a new resource, or of `current`. `check` passes them on, or throws a `BodyError`. */
export async function saveBody(
  context: RequestContext,
  slot: string,
  current: Resource | undefined,
  check: (content: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array> = (content) => content,
): Promise<StoredFile | Problem> {
  const { request, services, collection } = context;
  const maxBytes = maxUploadBytesOf(context, collection.rules);
  const name = readName(request.headers);
  if (name instanceof Problem) return name;
  const type = storedType(request.headers.get("content-type"));
  try {
    const bytes = released(context, check(uploadChunks(context, maxBytes)));
    const permission = current === undefined ? "create" : "update";
    const arriving = await arrivingFile(context, slot, current);
    const saved = await services.uploads.save(collection, permission, bytes, maxBytes, arriving);
    if (saved instanceof Problem) return saved;
    return saved === "too-large" ? uploadTooLarge(maxBytes) : { slot, name, type, ...saved };
  } catch (thrown) {
    if (thrown instanceof BodyError) return thrown.problem;
    throw thrown;
  }
}

/** A quota tells something about the resource, so it is for those who may change the file. */
async function arrivingFile(
  { request, collection }: RequestContext,
  slot: string,
  current: Resource | undefined,
): Promise<ArrivingFile | undefined> {
  const isAllowed = current === undefined || mayChange(collection, current, memberOf({ slot }));
  if (!(await isAllowed)) return undefined;
  const { owner } = current ?? collection.creator;
  const replaced = readFiles(current?.files).find((file) => file.slot === slot);
  return {
    owner,
    expectedBytes: expectedBytes(request.headers),
    replacedBytes: replaced?.size ?? 0,
  };
}

function receivedFile(part: StoredFile): ReceivedDraft {
  const { key: _, ...metadata } = part;
  const fingerprint = Buffer.from(JSON.stringify(metadata));
  return { draft: { fields: "{}", id: undefined }, files: [part], fingerprint };
}

/** Returns the file name of Content-Disposition (RFC 6266); empty without one. */
function readName(headers: Headers): string | Problem {
  const field = headers.get("content-disposition");
  if (field === null) return "";
  const disposition = readDisposition(field);
  return disposition === undefined ? unreadable : cleanFileName(fileNameOf(disposition) ?? "");
}

const unreadable = new Problem(
  "malformed-request",
  'Content-Disposition is not valid. Send it like `attachment; filename="photo.png"` (RFC 6266).',
);
