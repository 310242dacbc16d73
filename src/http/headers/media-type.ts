// Reads Content-Type and Accept, and decides which media types are supported.

import { parse } from "content-type";
import Negotiator from "negotiator";
import { RecentMap } from "../../lib/recent-map.ts";
import type { PatchKind } from "../../model/patch.ts";
import { Problem } from "../../model/problem.ts";
import { operationsType } from "../../model/schemas/operations.ts";
import { readCoding } from "./content-coding.ts";
import { checkFieldLength, splitField, withoutQuoted } from "./field-list.ts";
import { HttpProblem } from "./http-problem.ts";

export const jsonTypes = ["application/json"] as const;

/** The three media types of NDJSON. */
export const ndjsonTypes = [
  "application/x-ndjson",
  "application/ndjson",
  "application/jsonl",
] as const;

/** Returns the offered type that the client prefers; the first without a preference. */
export function chooseType<Type extends string>(
  headers: Headers,
  offered: readonly [Type, ...Type[]],
): Type | Problem {
  const [first] = offered;
  const accept = headers.get("accept");
  if (accept === null || accept === "" || accept === "*/*" || accept === first) return first;
  const tooLong = checkFieldLength("Accept", accept);
  if (tooLong !== undefined) return tooLong;
  const chosen = preferredType(accept, offered);
  return (
    offered.find((type) => type === chosen) ??
    new Problem("not-acceptable", `This address can respond with ${offered.join(" or ")}.`)
  );
}

/** Many clients leave the hyphen out, and the Encoding Standard has both names. */
const utf8Names = ["utf-8", "utf8"];

export const isUtf8 = (charset: string): boolean => utf8Names.includes(charset.toLowerCase());

/** Clients send few different values of Accept, so the results are cached. */
const maxPreferred = 200;
const preferred = new RecentMap<string, string>(maxPreferred);

/** Returns the offered type that Accept prefers; undefined when it excludes all. */
function preferredType(accept: string, offered: readonly string[]): string | undefined {
  const key = `${offered.join()} ${accept}`;
  const chosen = preferred.getOrAdd(key, () => {
    const variants = offered.flatMap((type) => [
      type,
      ...utf8Names.map((charset) => `${type};charset=${charset}`),
    ]);
    return new Negotiator({ headers: { accept } }).mediaType(variants)?.split(";", 1)[0] ?? "";
  });
  return chosen === "" ? undefined : chosen;
}

/** Rejects a request whose Accept excludes every offered type (RFC 9110 §12.5.1). */
export function checkAccept(headers: Headers, offered: readonly string[]): Problem | undefined {
  const [first, ...others] = offered;
  if (first === undefined) return undefined;
  const type = chooseType(headers, [first, ...others]);
  return type instanceof Problem ? type : undefined;
}

export const multipartType = "multipart/form-data";
const formTypes: readonly string[] = ["application/x-www-form-urlencoded", multipartType];

/** Returns the media type of Content-Type without parameters; empty when it is missing. */
export function typeOf(headers: Headers): string {
  const field = headers.get("content-type");
  // A shortcut for the most common value.
  return field === "application/json" ? field : mediaTypeOf(field ?? undefined);
}

/** Returns the media type of a field value without parameters. */
export const mediaTypeOf = (field: string | undefined): string =>
  field?.split(";", 1)[0]?.trim().toLowerCase() ?? "";

/** Returns whether the body is an HTML form. */
export const isForm = (headers: Headers): boolean => formTypes.includes(typeOf(headers));

/** Returns whether the client prefers HTML to JSON, as browsers do. */
export function prefersHtml(headers: Headers): boolean {
  const accept = headers.get("accept");
  if (accept === null || checkFieldLength("Accept", accept) !== undefined) return false;
  if (!accept.toLowerCase().includes("text/html")) return false;
  // The first type wins a tie, so HTML must win in both orders to be preferred.
  const reversed = splitField(accept, ",").toReversed().join(",");
  return [accept, reversed].every(
    (field) => preferredType(field, ["application/json", "text/html"]) === "text/html",
  );
}

/** Any +json type is JSON (RFC 6839 §3.1), but a patch is not a representation. */
const jsonType =
  /^(?!application\/(?:(?:merge|json)-patch|vnd\.restante\.operations)\+)(?:application\/json|[\w.!#$&^-]+\/[\w.!#$&^+-]+\+json)$/;

export const isJsonType = (type: string): boolean => jsonType.test(type);

/** The media types that a route accepts, and the header field that lists them in a problem. */
export interface AcceptedTypes {
  readonly types: string;
  readonly field: "Accept" | "Accept-Post" | "Accept-Patch" | "Accept-Query";
}

export const postTypes: AcceptedTypes = { types: "application/json", field: "Accept-Post" };
/** A collection also accepts forms, NDJSON, CSV and files. */
export const createTypes: AcceptedTypes = {
  types:
    "application/json, application/x-www-form-urlencoded, multipart/form-data, application/x-ndjson, text/csv, */*",
  field: "Accept-Post",
};
/** What has a resource on each line. */
export const linesTypes: AcceptedTypes = {
  types: "application/x-ndjson, text/csv",
  field: "Accept-Post",
};
/** A resource is also replaced by a form with files. */
export const replaceTypes: AcceptedTypes = {
  types: "application/json, multipart/form-data",
  field: "Accept",
};
export const putTypes: AcceptedTypes = { types: "application/json", field: "Accept" };
/** A file has any type but that of a form. */
export const fileTypes: AcceptedTypes = { types: "*/*", field: "Accept" };
export const queryTypes: AcceptedTypes = { types: "application/json", field: "Accept-Query" };
export const patchTypes: AcceptedTypes = {
  types: `application/merge-patch+json, application/json-patch+json, ${operationsType}, application/json, multipart/form-data`,
  field: "Accept-Patch",
};

/** Rejects a body that is not JSON in UTF-8. */
export function checkJsonType(headers: Headers, accepted: AcceptedTypes): Problem | undefined {
  if (headers.get("content-type") === "application/json" && !headers.has("content-encoding")) {
    return undefined;
  }
  const type = readContentType(headers, accepted);
  if (type instanceof Problem) return type;
  if (isJsonType(type)) return undefined;
  // A file may have any type, except those that look like JSON, like another form or like a wildcard.
  const detail =
    accepted === createTypes
      ? `${type === "" ? "This Content-Type" : type} is not accepted. Send \`Content-Type: application/json\`; to store the body as a file, send \`application/octet-stream\`.`
      : `The body must be ${accepted.types}.`;
  return unsupported(accepted, detail);
}

/** Returns whether Content-Type is NDJSON. */
export const isNdjson = (headers: Headers): boolean => isNdjsonType(typeOf(headers));

const isNdjsonType = (type: string): boolean => (ndjsonTypes as readonly string[]).includes(type);

/** Rejects a body whose exact Content-Type is not NDJSON in UTF-8. */
export function checkNdjsonType(headers: Headers): Problem | undefined {
  const type = readContentType(headers, createTypes);
  if (type instanceof Problem) return type;
  return isNdjsonType(type)
    ? undefined
    : unsupported(createTypes, `The body must be ${createTypes.types}.`);
}

/** Returns whether the body is CSV, a table of resources. */
export const isCsv = (headers: Headers): boolean => typeOf(headers) === "text/csv";

/** The charsets of Windows-1252; the names of its subsets mean the same on the Web (Encoding Standard). */
const windowsCharsets = ["windows-1252", "cp1252", "iso-8859-1", "latin1", "us-ascii", "ascii"];

/** Returns the encoding of a CSV body, and rejects one without a header row (RFC 4180 §3). */
export function readCsvEncoding(headers: Headers): "utf-8" | "windows-1252" | Problem {
  const field = headers.get("content-type") ?? "";
  const rejected = checkContentType(headers, field);
  if (rejected !== undefined) return rejected;
  const { charset = "utf-8", header } = readMediaType(field).parameters;
  if (header?.toLowerCase() === "absent") return headerNeeded;
  if (isUtf8(charset)) return "utf-8";
  return windowsCharsets.includes(charset.toLowerCase())
    ? "windows-1252"
    : unsupported(createTypes, "The charset of CSV must be utf-8 or windows-1252.");
}

const headerNeeded = new Problem(
  "malformed-request",
  "CSV needs a header row with the names of the columns. Add one, and leave `header=absent` out of Content-Type.",
);

/** A QUERY without Content-Type is malformed, not unsupported (RFC 10008 §2). */
export function requireContentType(headers: Headers): Problem | undefined {
  if (headers.get("content-type")) return undefined;
  const { types, field } = queryTypes;
  const detail = `Content-Type is missing. Send \`Content-Type: ${types}\`.`;
  return new HttpProblem("malformed-request", detail, { [field]: types });
}

/** Returns the kind of patch; plain JSON counts as a merge patch. */
export function readPatchKind(headers: Headers): PatchKind | "operations" | "form" | Problem {
  const type = readContentType(headers, patchTypes);
  if (type instanceof Problem) return type;
  if (type === multipartType) return "form";
  if (type === operationsType) return "operations";
  if (type === "application/json-patch+json") return "json";
  return type === "application/merge-patch+json" || type === "application/json"
    ? "merge"
    : unsupported(patchTypes, `The body must be one of ${patchTypes.types}.`);
}

/** Parses Content-Type and Content-Encoding, and rejects other charsets than UTF-8. */
export function readContentType(headers: Headers, accepted: AcceptedTypes): string | Problem {
  const field = headers.get("content-type");
  if (field === null || field === "") {
    const [first] = accepted.types.split(",");
    return unsupported(accepted, `Content-Type is missing. Send \`Content-Type: ${first}\`.`);
  }
  const rejected = checkContentType(headers, field);
  if (rejected !== undefined) return rejected;
  const { type, parameters } = readMediaType(field);
  const { charset } = parameters;
  return charset !== undefined && !isUtf8(charset)
    ? unsupported(accepted, "The charset must be UTF-8; leave it out.")
    : type;
}

/** Rejects a Content-Type that was sent twice, and an unknown Content-Encoding. */
function checkContentType(headers: Headers, field: string): Problem | undefined {
  const coding = readCoding(headers);
  if (coding instanceof Problem) return coding;
  if (withoutQuoted(field)?.includes(","))
    return new Problem("malformed-request", "Content-Type was sent more than once.");
  return checkParameters(field);
}

/** Rejects a quote without an end, and a repeated parameter, because parsers differ on which one counts. */
export function checkParameters(field: string): Problem | undefined {
  const plain = withoutQuoted(field);
  if (plain === undefined)
    return new Problem("malformed-request", "A quote in Content-Type has no end.");
  const [, ...parameters] = plain.split(";");
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

export const unsupported = ({ types, field }: AcceptedTypes, detail: string): Problem =>
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
