// Any other media type: what is POSTed becomes the one file of a new resource.

import type { Rules } from "../../model/collection.ts";
import type { StoredFile } from "../../model/file.ts";
import { Problem } from "../../model/problem.ts";
import type { RequestContext } from "../context.ts";
import { cleanFileName, fileNameOf, readDisposition } from "../headers/content-disposition.ts";
import { jsonTypes, typeOf } from "../headers/media-type.ts";
import { emptyBody } from "./content.ts";
import { Undecodable } from "./decoding.ts";
import { storedType } from "./file-type.ts";
import { refuseJsonText } from "./json-as-text.ts";
import type { ReceivedDraft } from "./received.ts";
import { arriving, maxUploadOf, refuseUpload, uploadTooLarge } from "./upload.ts";

/** The member that shows it. */
const slot = "file";

export async function readFile(
  context: RequestContext,
  rules: Rules | undefined,
  keyless: Problem | undefined,
): Promise<ReceivedDraft | Problem> {
  const { headers } = context.request;
  const maxBytes = maxUploadOf(context, rules);
  const isFramed = headers.has("content-length") || headers.has("transfer-encoding");
  const refused =
    (isFramed ? undefined : emptyBody) ?? refuseUpload(context, maxBytes, jsonTypes) ?? keyless;
  if (refused !== undefined) return refused;
  const name = readName(headers);
  if (name instanceof Problem) return name;
  const type = storedType(headers.get("content-type"));
  try {
    const content = arriving(context, maxBytes);
    const isText = typeOf(headers) === "text/plain";
    const bytes = isText ? refuseJsonText(content, context.services.maxBodyBytes) : content;
    const kept = await context.services.uploads.save(bytes, maxBytes);
    if (kept === "too-large") return uploadTooLarge(maxBytes);
    return incomingOf({ slot, name, type, ...kept });
  } catch (thrown) {
    if (thrown instanceof Undecodable) return thrown.problem;
    throw thrown;
  }
}

function incomingOf(part: StoredFile): ReceivedDraft {
  const { key: _, ...said } = part;
  const fingerprint = Buffer.from(JSON.stringify(said));
  return { draft: { fields: "{}", id: undefined }, parts: [part], fingerprint };
}

/** The name that the client gives it (RFC 6266); empty where it gives none. */
function readName(headers: Headers): string | Problem {
  const field = headers.get("content-disposition");
  if (field === null) return "";
  const disposition = readDisposition(field);
  return disposition === undefined ? unreadable : cleanFileName(fileNameOf(disposition) ?? "");
}

const unreadable = new Problem(
  "malformed-request",
  'Content-Disposition cannot be read. Send it like `attachment; filename="photo.png"` (RFC 6266).',
);
