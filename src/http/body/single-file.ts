// Stores a body of any other media type as the only file of a new resource.

import type { Rules } from "../../model/collection.ts";
import type { StoredFile } from "../../model/file.ts";
import { Problem } from "../../model/problem.ts";
import { cleanFileName, fileNameOf, readDisposition } from "../headers/content-disposition.ts";
import { jsonTypes, typeOf } from "../headers/media-type.ts";
import type { RequestContext } from "../request/context.ts";
import { emptyBody } from "./content.ts";
import { BodyError } from "./decoding.ts";
import { storedType } from "./file-type.ts";
import { rejectJsonText } from "./json-as-text.ts";
import type { ReceivedDraft } from "./received.ts";
import { checkUpload, maxUploadBytesOf, uploadChunks, uploadTooLarge } from "./upload.ts";

/** The member that shows the file. */
const slot = "file";

export async function readFile(
  context: RequestContext,
  rules: Rules | undefined,
  keyProblem: Problem | undefined,
): Promise<ReceivedDraft | Problem> {
  const { headers } = context.request;
  const maxBytes = maxUploadBytesOf(context, rules);
  const isFramed = headers.has("content-length") || headers.has("transfer-encoding");
  const rejected =
    (isFramed ? undefined : emptyBody) ?? checkUpload(context, maxBytes, jsonTypes) ?? keyProblem;
  if (rejected !== undefined) return rejected;
  const name = readName(headers);
  if (name instanceof Problem) return name;
  const type = storedType(headers.get("content-type"));
  try {
    const content = uploadChunks(context, maxBytes);
    const isText = typeOf(headers) === "text/plain";
    const bytes = isText ? rejectJsonText(content, context.services.maxBodyBytes) : content;
    const saved = await context.services.uploads.save(context.collection, bytes, maxBytes);
    if (saved instanceof Problem) return saved;
    if (saved === "too-large") return uploadTooLarge(maxBytes);
    return receivedFile({ slot, name, type, ...saved });
  } catch (thrown) {
    if (thrown instanceof BodyError) return thrown.problem;
    throw thrown;
  }
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
