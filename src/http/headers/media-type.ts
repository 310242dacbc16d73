// Media types: what a body says it is, and what the client can take.

import { parse } from "content-type";
import Negotiator from "negotiator";
import type { PatchKind } from "../../model/patch.ts";
import { Problem } from "../../model/problem.ts";
import { HttpProblem } from "../problem.ts";
import { readCoding } from "./content-coding.ts";
import { refuseLong, splitField } from "./field-list.ts";

export const jsonTypes = ["application/json"] as const;

/** One format under three names. */
export const ndjsonTypes = [
  "application/x-ndjson",
  "application/ndjson",
  "application/jsonl",
] as const;

/** Of the types on offer the one that the client likes best; the first, where it has no preference. */
export function chooseType<Type extends string>(
  headers: Headers,
  offered: readonly [Type, ...Type[]],
): Type | Problem {
  const [first] = offered;
  const accept = headers.get("accept");
  if (accept === null || accept === "" || accept === "*/*" || accept === first) return first;
  const tooLong = refuseLong("Accept", accept);
  if (tooLong !== undefined) return tooLong;
  const chosen = preferredType(accept, offered);
  return (
    offered.find((type) => type === chosen) ??
    new Problem("not-acceptable", `This address answers with ${offered.join(" or ")}.`)
  );
}

/** Clients of one kind all send the same Accept, and there are few kinds. */
const maxPreferred = 200;
const preferred = new Map<string, string | undefined>();

/** Of the types on offer the one that an Accept field prefers; undefined when it excludes all. */
function preferredType(accept: string, offered: readonly string[]): string | undefined {
  const key = `${offered.join()} ${accept}`;
  if (preferred.has(key)) return preferred.get(key);
  const spelled = offered.flatMap((type) => [type, `${type};charset=utf-8`]);
  const chosen = new Negotiator({ headers: { accept } }).mediaType(spelled)?.split(";", 1)[0];
  if (preferred.size === maxPreferred) preferred.clear();
  preferred.set(key, chosen);
  return chosen;
}

/** Refuses a client whose Accept excludes every type on offer (RFC 9110 §12.5.1). */
export function refuseUnacceptable(
  headers: Headers,
  offered: readonly string[],
): Problem | undefined {
  const [first, ...others] = offered;
  if (first === undefined) return undefined;
  const type = chooseType(headers, [first, ...others]);
  return type instanceof Problem ? type : undefined;
}

const formTypes: readonly string[] = ["application/x-www-form-urlencoded", "multipart/form-data"];

/** The media type that a body says it is, without its parameters; empty when it says none. */
export function typeOf(headers: Headers): string {
  const field = headers.get("content-type");
  // What nearly all of them say needs no looking at.
  if (field === "application/json") return field;
  return field?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/** Whether the body is what a browser posts of a form. */
export const isForm = (headers: Headers): boolean => formTypes.includes(typeOf(headers));

/** Whether the client would rather have HTML than JSON: a browser does, a program does not. */
export function prefersHtml(headers: Headers): boolean {
  const accept = headers.get("accept");
  if (accept === null || refuseLong("Accept", accept) !== undefined) return false;
  if (!accept.toLowerCase().includes("text/html")) return false;
  // What comes first wins a tie, so that only what wins from behind as well is preferred.
  const reversed = splitField(accept, ",").toReversed().join(",");
  return [accept, reversed].every(
    (wish) => preferredType(wish, ["application/json", "text/html"]) === "text/html",
  );
}

/** RFC 6839 §3.1: whatever ends in +json can be read as JSON; but to store a patch would be to lose the rest. */
const jsonType =
  /^(?!application\/(?:merge|json)-patch\+)(?:application\/json|[\w.!#$&^-]+\/[\w.!#$&^+-]+\+json)$/;

/** What a door takes: the media types, and the field that says so in a refusal. */
export interface Taken {
  readonly types: string;
  readonly field: "accept" | "accept-post" | "accept-patch" | "accept-query";
}

export const takenByPost: Taken = { types: "application/json", field: "accept-post" };
/** By a collection, which takes forms as well. */
export const takenByCreate: Taken = {
  types:
    "application/json, application/x-www-form-urlencoded, multipart/form-data, application/x-ndjson, */*",
  field: "accept-post",
};
export const takenByPut: Taken = { types: "application/json", field: "accept" };
export const takenByQuery: Taken = { types: "application/json", field: "accept-query" };
export const takenByPatch: Taken = {
  types: "application/merge-patch+json, application/json-patch+json, application/json",
  field: "accept-patch",
};

/** Refuses a body that is not JSON in UTF-8. */
export function refuseUnlessJson(headers: Headers, taken: Taken): Problem | undefined {
  if (headers.get("content-type") === "application/json" && !headers.has("content-encoding")) {
    return undefined;
  }
  const type = readContentType(headers, taken);
  if (type instanceof Problem) return type;
  return jsonType.test(type) ? undefined : unsupported(taken, `The body must be ${taken.types}.`);
}

/** Whether a body says that it has a resource on each line. */
export const isLines = (headers: Headers): boolean => isLinesType(typeOf(headers));

const isLinesType = (type: string): boolean => (ndjsonTypes as readonly string[]).includes(type);

/** Refuses what is not NDJSON in UTF-8 when it is read with care. */
export function refuseUnlessLines(headers: Headers): Problem | undefined {
  const type = readContentType(headers, takenByCreate);
  if (type instanceof Problem) return type;
  return isLinesType(type)
    ? undefined
    : unsupported(takenByCreate, `The body must be ${takenByCreate.types}.`);
}

/** A QUERY without a type is malformed, not unsupported (RFC 10008 §2). */
export function refuseUntyped(headers: Headers): Problem | undefined {
  if (headers.get("content-type")) return undefined;
  const { types, field } = takenByQuery;
  const detail = `Content-Type is missing. Send \`Content-Type: ${types}\`.`;
  return new HttpProblem("malformed-request", detail, { [field]: types });
}

/** Which kind of patch the body says it is; plain JSON counts as a merge patch. */
export function readPatchKind(headers: Headers): PatchKind | Problem {
  const type = readContentType(headers, takenByPatch);
  if (type instanceof Problem) return type;
  if (type === "application/json-patch+json") return "json";
  return type === "application/merge-patch+json" || type === "application/json"
    ? "merge"
    : unsupported(takenByPatch, `The body must be one of ${takenByPatch.types}.`);
}

/** Parsed once, matched exactly: nothing else gets by. */
export function readContentType(headers: Headers, taken: Taken): string | Problem {
  const coding = readCoding(headers);
  if (coding instanceof Problem) return coding;
  const field = headers.get("content-type");
  if (field === null || field === "") {
    const [first] = taken.types.split(",");
    return unsupported(taken, `Content-Type is missing. Send \`Content-Type: ${first}\`.`);
  }
  if (field.replace(/"[^"]*"/g, "").includes(",")) {
    return new Problem("malformed-request", "Content-Type was sent more than once.");
  }
  const repeated = repeatedParameter(field);
  if (repeated !== undefined) return repeated;
  const { type, parameters } = readMediaType(field);
  const { charset } = parameters;
  return charset !== undefined && charset.toLowerCase() !== "utf-8"
    ? unsupported(
        taken,
        "What is sent here is always UTF-8 (RFC 8259 §8.1); leave the charset out.",
      )
    : type;
}

/** Refuses a Content-Type that says a parameter twice: readers differ on which one counts. */
export function repeatedParameter(field: string): Problem | undefined {
  const [, ...parameters] = field.replace(/"[^"]*"/g, "").split(";");
  const names = parameters.map((parameter) =>
    (parameter.split("=", 1)[0] ?? "").trim().toLowerCase(),
  );
  const repeated = names.find((name, index) => name !== "" && names.indexOf(name) < index);
  return repeated === undefined
    ? undefined
    : new Problem(
        "malformed-request",
        `Content-Type has the parameter ${repeated} twice; send it once.`,
      );
}

export const unsupported = ({ types, field }: Taken, detail: string): Problem =>
  new HttpProblem("unsupported-media-type", detail, { [field]: types });

function readMediaType(field: string): {
  type: string;
  parameters: Readonly<Record<string, string>>;
} {
  try {
    return parse(field);
  } catch {
    return { type: "", parameters: {} };
  }
}
