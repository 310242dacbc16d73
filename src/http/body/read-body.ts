// Reads the body of a POST as a draft, in any supported format.

import { type MaybePromise, then } from "../../lib/maybe-promise.ts";
import type { Rules } from "../../model/collection.ts";
import { isHoneypotFilled } from "../../model/form.ts";
import { Problem } from "../../model/problem.ts";
import { createTypes, typeOf } from "../headers/media-type.ts";
import type { RequestContext } from "../request/context.ts";
import { checkFormBody, checkJsonBody, idInPost, readBody, readFields } from "./content.ts";
import { isFile } from "./file-type.ts";
import { readMultipart } from "./multipart.ts";
import type { ReceivedDraft } from "./received.ts";
import { readFile } from "./single-file.ts";
import { draftOfForm, readPairs } from "./urlencoded.ts";

/** A missing Idempotency-Key is reported after the type is checked and before the body is read. */
export const readDraftBody = (
  context: RequestContext,
  key: string | undefined,
): MaybePromise<ReceivedDraft | Problem> =>
  then(
    context.measure("parse", () => readDraft(context, key)),
    (received) => ("draft" in received && received.draft.id !== undefined ? idInPost : received),
  );

function readDraft(
  context: RequestContext,
  key: string | undefined,
): MaybePromise<ReceivedDraft | Problem> {
  const { rules } = context.collection;
  const keyProblem = context.collection.requireKey(key);
  switch (typeOf(context.request.headers)) {
    case "application/json":
      return readJson(context, keyProblem);
    case "application/x-www-form-urlencoded":
      return readForm(context, rules, keyProblem);
    case "multipart/form-data":
      return readMultipart(context, "create", keyProblem);
    default:
      return isFile(context.request.headers)
        ? readFile(context, rules, keyProblem)
        : readJson(context, keyProblem);
  }
}

async function readForm(
  context: RequestContext,
  rules: Rules | undefined,
  keyProblem: Problem | undefined,
): Promise<ReceivedDraft | Problem> {
  const rejected = checkFormBody(context) ?? keyProblem;
  if (rejected !== undefined) return rejected;
  const bytes = await readBody(context);
  if (bytes instanceof Problem) return bytes;
  const pairs = readPairs(bytes);
  if (pairs instanceof Problem) return pairs;
  const draft = draftOfForm(pairs, rules);
  if (draft instanceof Problem) return draft;
  return { draft, files: [], fingerprint: bytes, isHoneypotFilled: isHoneypotFilled(pairs, rules) };
}

function readJson(
  context: RequestContext,
  keyProblem: Problem | undefined,
): MaybePromise<ReceivedDraft | Problem> {
  const rejected = checkJsonBody(context, createTypes) ?? keyProblem;
  if (rejected !== undefined) return rejected;
  return then(readBody(context), (bytes) => {
    if (bytes instanceof Problem) return bytes;
    const draft = readFields(bytes);
    return draft instanceof Problem ? draft : { draft, files: [], fingerprint: bytes };
  });
}
