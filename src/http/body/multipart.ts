// Reads multipart forms (RFC 7578): texts become the draft, and files are saved while they arrive.

import { overloaded } from "../../domain/problems.ts";
import { pointerTo } from "../../lib/json/error-report.ts";
import { scanJson } from "../../lib/json/scan.ts";
import { isObject, readTree, writeTree } from "../../lib/json/tree.ts";
import { decodeUtf8KeepingBom } from "../../lib/json/utf8.ts";
import type { Rules } from "../../model/collection.ts";
import { type Draft, draftOf } from "../../model/draft.ts";
import { memberOf, type StoredFile } from "../../model/file.ts";
import { assignFiles, memberFor, type NamedFile } from "../../model/file-fields.ts";
import {
  besideData,
  dataField,
  dataOfForm,
  fieldsOfForm,
  formLimits,
  isHoneypotFilled,
  type Pair,
} from "../../model/form.ts";
import { Problem } from "../../model/problem.ts";
import {
  cleanFileName,
  fileNameOf,
  readDisposition,
  unescapeName,
} from "../headers/content-disposition.ts";
import { withoutQuoted } from "../headers/field-list.ts";
import {
  createTypes,
  isJsonType,
  isUtf8,
  jsonTypes,
  mediaTypeOf,
  patchTypes,
  readContentType,
  replaceTypes,
} from "../headers/media-type.ts";
import type { RequestContext } from "../request/context.ts";
import { formResponseTypes, invalidBody } from "./content.ts";
import { BodyError } from "./decoding.ts";
import { readBoundary, storedType } from "./file-type.ts";
import { type MultipartPart, readParts } from "./multipart-stream.ts";
import type { ReceivedDraft } from "./received.ts";
import { checkUpload, maxUploadBytesOf, released, uploadChunks, uploadTooLarge } from "./upload.ts";

/** The limit of one form. */
export const maxFiles = 100;

/** A form with the JSON text of its fields. */
export interface ReceivedForm extends ReceivedDraft {
  readonly text: string;
}

/** Reads the form of a write with this permission. `otherProblem` is reported before the body is read. */
export async function readMultipart(
  context: RequestContext,
  permission: FormPermission,
  otherProblem: Problem | undefined,
): Promise<ReceivedForm | Problem> {
  const maxBytes = maxUploadBytesOf(context, context.collection.rules);
  const { headers } = context.request;
  const type = readContentType(headers, formTypes[permission]);
  if (type instanceof Problem) return type;
  const boundary = readBoundary(headers);
  if (boundary instanceof Problem) return boundary;
  const types = permission === "create" ? formResponseTypes : jsonTypes;
  const rejected = checkUpload(context, maxBytes, types) ?? otherProblem;
  if (rejected !== undefined) return rejected;
  const form = new FormContent(context, permission, maxBytes);
  try {
    for await (const part of readParts(uploadChunks(context, maxBytes), boundary))
      await form.add(part);
    return await form.received();
  } catch (thrown) {
    await form.discard();
    if (thrown instanceof BodyError) return thrown.problem;
    throw thrown;
  }
}

type FormPermission = "create" | "put" | "update";

const formTypes = { create: createTypes, put: replaceTypes, update: patchTypes } as const;

/** The fields and files of a form so far. */
class FormContent {
  readonly #context: RequestContext;
  readonly #rules: Rules | undefined;
  readonly #permission: FormPermission;
  readonly #maxBytes: number;
  readonly #pairs: Pair[] = [];
  readonly #files: NamedFile[] = [];
  #textBytes = 0;
  #fileCount = 0;

  constructor(context: RequestContext, permission: FormPermission, maxBytes: number) {
    this.#context = context;
    this.#rules = context.collection.rules;
    this.#permission = permission;
    this.#maxBytes = maxBytes;
  }

  async add({ headers, bytes }: MultipartPart): Promise<void> {
    const type = headers.get("content-type");
    if (/^multipart\//i.test(type?.trim() ?? "")) throw new BodyError(nested);
    const disposition = readDisposition(headers.get("content-disposition") ?? "");
    const name = disposition?.parameters.get("name");
    if (disposition?.kind !== "form-data" || name === undefined) throw new BodyError(nameless);
    const field = unescapeName(name);
    const fileName = fileNameOf(disposition);
    if (fileName === undefined || isData(field, fileName, type))
      await this.#addText(field, type, bytes);
    else await this.#addFile(field, unescapeName(fileName), type, bytes);
  }

  async #addText(
    field: string,
    type: string | undefined,
    bytes: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    const { maxBodyBytes } = this.#context.services;
    if (this.#pairs.length === formLimits.maxFields) throw new BodyError(manyFields);
    if (withoutQuoted(type ?? "") === undefined)
      throw new BodyError(invalid(field, "a quote in its Content-Type has no end"));
    const [, charset = "utf-8"] = /;\s*charset="?([^\s;"]+)/i.exec(type ?? "") ?? [];
    if (!isUtf8(charset) && charset.toLowerCase() !== "us-ascii")
      throw new BodyError(invalid(field, `the charset ${charset} is not UTF-8`));
    const chunks: Uint8Array[] = [];
    this.#textBytes += Buffer.byteLength(field);
    for await (const chunk of bytes) {
      this.#textBytes += chunk.byteLength;
      if (this.#textBytes > maxBodyBytes) throw new BodyError(longTexts(maxBodyBytes));
      if (!this.#context.memory.take(chunk.byteLength)) throw new BodyError(overloaded);
      chunks.push(chunk);
    }
    const text = decodeUtf8KeepingBom(Buffer.concat(chunks));
    if (typeof text !== "string") throw new BodyError(invalid(field, text.detail));
    this.#pairs.push(isJsonType(mediaTypeOf(type)) ? [field, text, true] : [field, text]);
  }

  async #addFile(
    field: string,
    fileName: string,
    type: string | undefined,
    bytes: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    const member = memberFor(field, this.#rules);
    if (member instanceof Problem) throw new BodyError(member);
    if (++this.#fileCount > maxFiles) throw new BodyError(manyFiles);
    const { services, collection } = this.#context;
    const chunks = released(this.#context, bytes);
    const saved = await services.uploads.save(collection, this.#permission, chunks, this.#maxBytes);
    if (saved instanceof Problem) throw new BodyError(saved);
    if (saved === "too-large") throw new BodyError(uploadTooLarge(this.#maxBytes));
    const file = { field, name: cleanFileName(fileName), type: storedType(type), ...saved };
    this.#files.push(file);
    // A browser sends this for a file field without a chosen file.
    if (fileName === "" && saved.size === 0) await this.discard(this.#files.splice(-1));
  }

  /** Returns the draft; discards the files when the form is invalid. */
  async received(): Promise<ReceivedForm | Problem> {
    const received = this.#read();
    const hasNoFiles = received instanceof Problem || received.files.length === 0;
    if (hasNoFiles) await this.discard();
    return received;
  }

  #read(): ReceivedForm | Problem {
    const text = this.#fields();
    if (text instanceof Problem) return text;
    const draft = draftOf(text);
    if (!("fields" in draft)) return invalidBody(draft);
    const parts = assignFiles(this.#files, this.#rules);
    if (parts instanceof Problem) return parts;
    const mixed = refuseMixed(draft, parts);
    if (mixed !== undefined) return mixed;
    // The fingerprint does not depend on the boundary.
    const metadata = parts.map(({ key: _, ...shown }) => shown);
    const fingerprint = Buffer.from(JSON.stringify([this.#pairs, metadata]));
    if (this.#permission !== "create") return { draft, text, files: parts, fingerprint };
    const isTrapped = isHoneypotFilled(this.#pairs, this.#rules, this.#files);
    const files = isTrapped || draft.id !== undefined ? [] : parts;
    return { draft, text, files, fingerprint, isHoneypotFilled: isTrapped };
  }

  /** Returns the fields as the text of a JSON object: that of the part `data`, or one of all texts. */
  #fields(): string | Problem {
    const data = dataOfForm(this.#pairs, this.#rules);
    if (data === undefined) return fieldsOfForm(this.#pairs, this.#rules);
    const [other] = besideData(this.#pairs, this.#rules);
    if (other !== undefined) return invalid(other, besideDataMessage);
    const errors = scanJson(data);
    const inPart = errors.map((error) => ({
      ...error,
      pointer: `${pointerTo([dataField])}${error.pointer ?? ""}`,
    }));
    return errors.length > 0 ? invalidBody(inPart) : writeTree(readTree(data));
  }

  /** Removes files that no resource will refer to. */
  async discard(files: readonly NamedFile[] = this.#files): Promise<void> {
    await this.#context.services.uploads.discard(files);
  }
}

function refuseMixed({ fields }: Draft, parts: readonly StoredFile[]): Problem | undefined {
  const tree = parts.length === 0 ? undefined : readTree(fields);
  const both = isObject(tree) && parts.map(memberOf).find((name) => tree.members.has(name));
  return both ? invalid(both, "a text and a file have this name; use two names") : undefined;
}

/** Browsers give the name `blob`, and Bun an empty one, to JSON that is no file. */
const isData = (field: string, fileName: string, type: string | undefined): boolean =>
  field === dataField && ["", "blob"].includes(fileName) && isJsonType(mediaTypeOf(type));

const besideDataMessage = "the part `data` has all fields; put this one into it, too";

const invalid = (field: string, detail: string): Problem =>
  new Problem("invalid-body", "The form is not valid; `errors` lists each error.", {
    errors: [{ pointer: pointerTo([field]), detail }],
  });

const invalidForm = (detail: string): Problem =>
  new Problem("invalid-body", "The form is not valid; `errors` lists each error.", {
    errors: [{ pointer: "", detail }],
  });

const nameless = invalidForm(
  'a part has no valid `Content-Disposition: form-data; name="…"` (RFC 7578 §4.2)',
);
const nested = invalidForm("nested multipart parts are not supported (RFC 7578 §4.3)");
const manyFields = invalidForm(`more than ${formLimits.maxFields} fields in one form`);
const manyFiles = invalidForm(`more than ${maxFiles} files in one form`);
const longTexts = (maxBytes: number): Problem =>
  new Problem(
    "content-too-large",
    `The text fields of the form are larger than ${maxBytes} bytes together. Nothing was stored.`,
  );
