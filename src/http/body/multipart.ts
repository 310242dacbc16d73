// Forms with files (RFC 7578): the texts become the draft, and files go to disk while they arrive.

import { overloaded } from "../../domain/problems.ts";
import { pointerTo } from "../../lib/json/error-report.ts";
import { isObject, readTree } from "../../lib/json/tree.ts";
import { decodeExactUtf8 } from "../../lib/json/utf8.ts";
import type { Rules } from "../../model/collection.ts";
import type { Draft } from "../../model/draft.ts";
import { memberOf, type StoredFile } from "../../model/file.ts";
import { memberFor, type NamedFile, placeFiles } from "../../model/file-fields.ts";
import { formLimits, isHoneypotFilled, type Pair } from "../../model/form.ts";
import { Problem } from "../../model/problem.ts";
import type { RequestContext } from "../context.ts";
import {
  cleanFileName,
  fileNameOf,
  readDisposition,
  unescapeName,
} from "../headers/content-disposition.ts";
import { readContentType, takenByCreate } from "../headers/media-type.ts";
import { formAnswers } from "./content.ts";
import { Undecodable } from "./decoding.ts";
import { readBoundary, storedType } from "./file-type.ts";
import { type MultipartPart, readParts } from "./multipart-stream.ts";
import type { ReceivedDraft } from "./received.ts";
import { arriving, maxUploadOf, refuseUpload, uploadTooLarge } from "./upload.ts";
import { draftOfForm } from "./urlencoded.ts";

/** Of one form. */
export const maxFiles = 100;

export async function readMultipart(
  context: RequestContext,
  rules: Rules | undefined,
  keyless: Problem | undefined,
): Promise<ReceivedDraft | Problem> {
  const maxBytes = maxUploadOf(context, rules);
  const { headers } = context.request;
  const type = readContentType(headers, takenByCreate);
  if (type instanceof Problem) return type;
  const boundary = readBoundary(headers);
  if (boundary instanceof Problem) return boundary;
  const refused = refuseUpload(context, maxBytes, formAnswers) ?? keyless;
  if (refused !== undefined) return refused;
  const form = new Form(context, rules, maxBytes);
  try {
    for await (const part of readParts(arriving(context, maxBytes), boundary)) await form.add(part);
    return await form.received();
  } catch (thrown) {
    await form.discard();
    if (thrown instanceof Undecodable) return thrown.problem;
    throw thrown;
  }
}

/** What has come of a form so far. */
class Form {
  readonly #context: RequestContext;
  readonly #rules: Rules | undefined;
  readonly #maxBytes: number;
  readonly #pairs: Pair[] = [];
  readonly #files: NamedFile[] = [];
  #textBytes = 0;
  #fileCount = 0;

  constructor(context: RequestContext, rules: Rules | undefined, maxBytes: number) {
    this.#context = context;
    this.#rules = rules;
    this.#maxBytes = maxBytes;
  }

  async add({ headers, bytes }: MultipartPart): Promise<void> {
    const type = headers.get("content-type");
    if (/^multipart\//i.test(type?.trim() ?? "")) throw new Undecodable(nested);
    const disposition = readDisposition(headers.get("content-disposition") ?? "");
    const name = disposition?.parameters.get("name");
    if (disposition?.kind !== "form-data" || name === undefined) throw new Undecodable(nameless);
    const field = unescapeName(name);
    const fileName = fileNameOf(disposition);
    if (fileName === undefined) await this.#addText(field, type, bytes);
    else await this.#addFile(field, unescapeName(fileName), type, bytes);
  }

  async #addText(
    field: string,
    type: string | undefined,
    bytes: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    const { maxBodyBytes } = this.#context.services;
    if (this.#pairs.length === formLimits.maxFields) throw new Undecodable(manyFields);
    const [, charset = "utf-8"] = /;\s*charset="?([^\s;"]+)/i.exec(type ?? "") ?? [];
    if (!/^(?:utf-8|us-ascii)$/i.test(charset))
      throw new Undecodable(invalid(field, `the charset ${charset} is not UTF-8`));
    const chunks: Uint8Array[] = [];
    this.#textBytes += Buffer.byteLength(field);
    for await (const chunk of bytes) {
      this.#textBytes += chunk.byteLength;
      if (this.#textBytes > maxBodyBytes) throw new Undecodable(longTexts(maxBodyBytes));
      if (!this.#context.memory.take(chunk.byteLength)) throw new Undecodable(overloaded);
      chunks.push(chunk);
    }
    const text = decodeExactUtf8(Buffer.concat(chunks));
    if (typeof text !== "string") throw new Undecodable(invalid(field, text.detail));
    this.#pairs.push([field, text]);
  }

  async #addFile(
    field: string,
    fileName: string,
    type: string | undefined,
    bytes: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    const member = memberFor(field, this.#rules);
    if (member instanceof Problem) throw new Undecodable(member);
    if (++this.#fileCount > maxFiles) throw new Undecodable(manyFiles);
    const kept = await this.#context.services.uploads.save(bytes, this.#maxBytes);
    if (kept === "too-large") throw new Undecodable(uploadTooLarge(this.#maxBytes));
    const file = { field, name: cleanFileName(fileName), type: storedType(type), ...kept };
    this.#files.push(file);
    // A browser sends a field in which no file was chosen so.
    if (fileName === "" && kept.size === 0) await this.discard(this.#files.splice(-1));
  }

  /** All that came, when nothing is wrong with it; otherwise its files are gone. */
  async received(): Promise<ReceivedDraft | Problem> {
    const received = this.#read();
    const isInVain = received instanceof Problem || received.parts.length === 0;
    if (isInVain) await this.discard();
    return received;
  }

  #read(): ReceivedDraft | Problem {
    const draft = draftOfForm(this.#pairs, this.#rules);
    if (draft instanceof Problem) return draft;
    const parts = placeFiles(this.#files, this.#rules);
    if (parts instanceof Problem) return parts;
    const mixed = refuseMixed(draft, parts);
    if (mixed !== undefined) return mixed;
    // Another boundary, or another order of bytes, is still the same form.
    const said = parts.map(({ key: _, ...shown }) => shown);
    const fingerprint = Buffer.from(JSON.stringify([this.#pairs, said]));
    const trapped = isHoneypotFilled(this.#pairs, this.#rules);
    const isWanted = !trapped && draft.id === undefined;
    return { draft, parts: isWanted ? parts : [], fingerprint, isHoneypotFilled: trapped };
  }

  /** Removes files that nothing will name. */
  async discard(files: readonly NamedFile[] = this.#files): Promise<void> {
    await this.#context.services.uploads.discard(files);
  }
}

function refuseMixed({ fields }: Draft, parts: readonly StoredFile[]): Problem | undefined {
  const tree = parts.length === 0 ? undefined : readTree(fields);
  const both = isObject(tree) && parts.map(memberOf).find((name) => tree.members.has(name));
  return both
    ? invalid(both, "a text and a file were sent under this name; take two names")
    : undefined;
}

const invalid = (field: string, detail: string): Problem =>
  new Problem("invalid-body", "The form is not valid; `errors` names each fault.", {
    errors: [{ pointer: pointerTo([field]), detail }],
  });

const faulty = (detail: string): Problem =>
  new Problem("invalid-body", "The form is not valid; `errors` names each fault.", {
    errors: [{ pointer: "", detail }],
  });

const nameless = faulty(
  'a part has no `Content-Disposition: form-data; name="…"` that can be read (RFC 7578 §4.2)',
);
const nested = faulty("a multipart part within a form is not taken (RFC 7578 §4.3)");
const manyFields = faulty(`more than ${formLimits.maxFields} fields in one form`);
const manyFiles = faulty(`more than ${maxFiles} files in one form`);
const longTexts = (maxBytes: number): Problem =>
  new Problem(
    "content-too-large",
    `The texts of the form are over ${maxBytes} bytes together. Nothing was stored.`,
  );
