// How the body of a POST becomes a draft, whatever format it comes in.

import type { Rules } from "../../model/collection.ts";
import { isHoneypotFilled } from "../../model/form.ts";
import { Problem } from "../../model/problem.ts";
import type { RequestContext } from "../context.ts";
import { takenByCreate, typeOf } from "../headers/media-type.ts";
import { readBody, readFields, refuseBody, refuseForm } from "./content.ts";
import { isFile } from "./file-type.ts";
import { readMultipart } from "./multipart.ts";
import type { ReceivedDraft } from "./received.ts";
import { readFile } from "./single-file.ts";
import { draftOfForm, readPairs } from "./urlencoded.ts";

/**
 * The rules say what the texts of a form stand for; there are none where the collection is not there
 * yet. `keyless` refuses what the collection takes only with a key, once its type is known.
 */
export async function readDraftBody(
  context: RequestContext,
  rules: Rules | undefined,
  keyless: Problem | undefined,
): Promise<ReceivedDraft | Problem> {
  switch (typeOf(context.request.headers)) {
    case "application/json":
      return readJson(context, keyless);
    case "application/x-www-form-urlencoded":
      return readForm(context, rules, keyless);
    case "multipart/form-data":
      return readMultipart(context, rules, keyless);
    default:
      return isFile(context.request.headers)
        ? readFile(context, rules, keyless)
        : readJson(context, keyless);
  }
}

async function readForm(
  context: RequestContext,
  rules: Rules | undefined,
  keyless: Problem | undefined,
): Promise<ReceivedDraft | Problem> {
  const refused = refuseForm(context) ?? keyless;
  if (refused !== undefined) return refused;
  const bytes = await readBody(context);
  if (bytes instanceof Problem) return bytes;
  const pairs = readPairs(bytes);
  if (pairs instanceof Problem) return pairs;
  const draft = draftOfForm(pairs, rules);
  if (draft instanceof Problem) return draft;
  return { draft, parts: [], fingerprint: bytes, isHoneypotFilled: isHoneypotFilled(pairs, rules) };
}

async function readJson(
  context: RequestContext,
  keyless: Problem | undefined,
): Promise<ReceivedDraft | Problem> {
  const refused = refuseBody(context, takenByCreate) ?? keyless;
  if (refused !== undefined) return refused;
  const bytes = await readBody(context);
  if (bytes instanceof Problem) return bytes;
  const draft = readFields(bytes);
  return draft instanceof Problem ? draft : { draft, parts: [], fingerprint: bytes };
}
