// Reads the operations of a batch from its body and reports every error with its pointer.

import type { Operation } from "../../domain/batches.ts";
import type { Condition } from "../../domain/problems.ts";
import { ErrorReport, type Path } from "../../lib/json/error-report.ts";
import { scanObject } from "../../lib/json/scan.ts";
import {
  isObject,
  type ObjectTree,
  readTree,
  type Tree,
  textOf,
  writeTree,
} from "../../lib/json/tree.ts";
import { decodeUtf8 } from "../../lib/json/utf8.ts";
import { own } from "../../lib/own-property.ts";
import { type Draft, draftOf } from "../../model/draft.ts";
import type { PatchKind } from "../../model/patch.ts";
import { Problem } from "../../model/problem.ts";
import { invalidBody } from "../body/content.ts";
import { allOf, ifMatch, ifNoneMatch } from "../headers/conditional.ts";

/** Reads 1 to `most` operations. */
export function readOperations(bytes: Uint8Array, most: number): readonly Operation[] | Problem {
  const text = decodeUtf8(bytes);
  const scanned = typeof text === "string" ? scanObject(text) : [text];
  if (!("members" in scanned)) return invalidBody(scanned);
  const report = new ErrorReport();
  // The scan has found an object.
  const operations = readList(readTree(scanned.text) as ObjectTree, most, report);
  return report.errors.length > 0 ? invalidBody(report.errors) : operations;
}

function readList(batch: ObjectTree, most: number, report: ErrorReport): readonly Operation[] {
  reportUnknownMembers(batch, ["operations"], [], report);
  const list = batch.members.get("operations");
  const items = typeof list === "object" && list.kind === "array" ? list.items : [];
  if (items.length < 1 || items.length > most) {
    report.add(["operations"], `an array of 1 to ${most} operations is needed`);
    return [];
  }
  return items.flatMap((item, index) => readOperation(item, ["operations", index], report) ?? []);
}

const conditions = ["ifMatch", "ifNoneMatch"];

/** The members that each method takes. POST takes no precondition, because none is evaluated. */
const memberNames: Readonly<Record<string, readonly string[]>> = {
  POST: ["method", "path", "body"],
  PUT: ["method", "path", "body", ...conditions],
  PATCH: ["method", "path", "body", "contentType", ...conditions],
  DELETE: ["method", "path", ...conditions],
};

/** Returns undefined when there are errors, which are reported. */
function readOperation(item: Tree, at: Path, report: ErrorReport): Operation | undefined {
  const addError: AddError = (members, detail) => report.add([...at, ...members], detail);
  if (!isObject(item)) {
    addError([], "an operation must be an object");
    return undefined;
  }
  const method = textOf(item, "method") ?? "";
  const names = own(memberNames, method);
  if (names === undefined) {
    addError(["method"], `one of ${Object.keys(memberNames).join(", ")}`);
    return undefined;
  }
  reportUnknownMembers(item, names, at, report);
  for (const name of item.members.keys()) {
    const isText = name === "body" || textOf(item, name) !== undefined;
    if (!isText && names.includes(name)) addError([name], "a string is needed");
  }
  const target = readTarget(item, method, addError);
  const content = readContent(item, method, addError);
  return target && content && { ...content, ...target };
}

/** Reports an error of a member of the operation. */
type AddError = (members: Path, detail: string) => void;

interface Target {
  readonly collection: string;
  readonly id: string;
  readonly condition: Condition | undefined;
}

const pathPattern = /^\/([a-z0-9][a-z0-9_-]{0,62})(?:\/([A-Za-z0-9][A-Za-z0-9._~-]{0,127}))?$/;

function readTarget(item: ObjectTree, method: string, addError: AddError): Target | undefined {
  const [, collection, id = ""] = pathPattern.exec(textOf(item, "path") ?? "") ?? [];
  const isForAll = method === "POST";
  if (collection === undefined || (id === "") !== isForAll) {
    addError(["path"], `${method} goes to ${isForAll ? "/{collection}" : "/{collection}/{id}"}`);
    return undefined;
  }
  const match = ifMatch(textOf(item, "ifMatch") ?? null);
  const noneMatch = ifNoneMatch(textOf(item, "ifNoneMatch") ?? null);
  if (match instanceof Problem) addError(["ifMatch"], match.detail);
  if (noneMatch instanceof Problem) addError(["ifNoneMatch"], noneMatch.detail);
  if (match instanceof Problem || noneMatch instanceof Problem) return undefined;
  return { collection, id, condition: allOf(match, noneMatch) };
}

type Content =
  | { readonly kind: "create" | "put"; readonly draft: Draft }
  | { readonly kind: "patch"; readonly patchKind: PatchKind; readonly patch: string }
  | { readonly kind: "remove" };

function readContent(item: ObjectTree, method: string, addError: AddError): Content | undefined {
  if (method === "DELETE") return { kind: "remove" };
  const body = item.members.get("body");
  if (body === undefined) {
    addError(["body"], `${method} needs a body`);
    return undefined;
  }
  return method === "PATCH"
    ? readPatch(textOf(item, "contentType") ?? "application/merge-patch+json", body, addError)
    : readDraft(method === "POST" ? "create" : "put", body, addError);
}

const patchKinds: Readonly<Record<string, PatchKind>> = {
  "application/merge-patch+json": "merge",
  "application/json-patch+json": "json",
};

function readPatch(type: string, body: Tree, addError: AddError): Content | undefined {
  const patchKind = own(patchKinds, type);
  if (patchKind === undefined)
    addError(["contentType"], `one of ${Object.keys(patchKinds).join(", ")}`);
  return patchKind && { kind: "patch", patchKind, patch: writeTree(body) };
}

function readDraft(kind: "create" | "put", body: Tree, addError: AddError): Content | undefined {
  const draft = draftOf(writeTree(body));
  if (!("fields" in draft)) {
    // The whole text is already scanned, so the only possible error is the type of the value.
    for (const { detail } of draft) addError(["body"], detail);
    return undefined;
  }
  if (kind === "create" && draft.id !== undefined) {
    addError(["body", "id"], "leave the id out, or PUT to /{collection}/{id} to choose it");
  }
  return { kind, draft };
}

function reportUnknownMembers(
  { members }: ObjectTree,
  known: readonly string[],
  at: Path,
  report: ErrorReport,
): void {
  for (const name of members.keys()) {
    if (known.includes(name)) continue;
    report.add([...at, name], `there is no such member; the members are: ${known.join(", ")}`);
  }
}
