// Turns a file into the picture or the description that is asked for, so that it is sent as a file is.

import { createHash } from "node:crypto";
import type { Rules } from "../../model/collection.ts";
import { definitionOf } from "../../model/definition.ts";
import { fileView, memberOf, type StoredFile } from "../../model/file.ts";
import type { PictureFormat, PictureRequest } from "../../model/picture.ts";
import { Problem } from "../../model/problem.ts";
import { validatorOf } from "../../model/validator.ts";
import type { RequestContext } from "../request/context.ts";
import { smallResponseBytes } from "../response/response.ts";

/** What is sent instead of the file: its type, name, size and hash, and its bytes. */
export interface MadeFile {
  readonly part: StoredFile;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Returns undefined when the bytes of the file are missing. */
export async function renderPicture(
  context: RequestContext,
  part: StoredFile,
  request: PictureRequest,
): Promise<MadeFile | Problem | undefined> {
  const { services, collection, caller } = context;
  // A picture is in memory, so it counts until it is sent, as other large responses do.
  const hasRoom = (bytes: number) => bytes <= smallResponseBytes || context.memory.take(bytes);
  const made = await services.pictures.render(collection, part, request, caller, hasRoom);
  if (made === undefined || made instanceof Problem) return made;
  const { bytes, sha256, format } = made;
  const [type, name] = [`image/${format}`, withExtension(part.name, format)];
  return { part: { ...part, type, name, sha256, size: bytes.length }, bytes };
}

/** The file as its resource shows it, with width, height and preview. */
export async function describePicture(
  context: RequestContext,
  part: StoredFile,
): Promise<MadeFile | Problem | undefined> {
  const { services, collection, caller, collectionUrl } = context;
  const made = await services.pictures.describe(collection, part, caller);
  if (made === undefined || made instanceof Problem) return made;
  const description = JSON.parse(new TextDecoder().decode(made.bytes));
  const shown = shownView(part, `${collectionUrl}/${context.param("id")}`, collection.rules);
  const view = { ...shown, ...description };
  const bytes = new TextEncoder().encode(JSON.stringify(view));
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const [type, name] = ["application/json", part.name && `${part.name}.json`];
  return { part: { ...part, type, name, sha256, size: bytes.length }, bytes };
}

/** The file as its resource shows it. */
function shownView(part: StoredFile, address: string, rules: Rules | undefined): object {
  const [member, view] = [memberOf(part), fileView(part, address)];
  if (rules === undefined) return view;
  const visible = validatorOf(definitionOf(rules)).visible(JSON.stringify({ [member]: view }));
  return JSON.parse(visible)[member];
}

/** `a.png` → `a.webp`; no name stays none. */
const withExtension = (name: string, format: PictureFormat): string =>
  name && `${name.replace(/\.[A-Za-z]{1,4}$/, "")}.${format === "jpeg" ? "jpg" : format}`;
