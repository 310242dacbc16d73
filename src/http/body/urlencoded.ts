// Parses form bodies (application/x-www-form-urlencoded).

import { pointerTo } from "../../lib/json/error-report.ts";
import { decodeUtf8KeepingBom } from "../../lib/json/utf8.ts";
import type { Rules } from "../../model/collection.ts";
import { type Draft, draftOf } from "../../model/draft.ts";
import { fieldsOfForm, formLimits, type Pair } from "../../model/form.ts";
import { Problem } from "../../model/problem.ts";
import { createTypes, unsupported } from "../headers/media-type.ts";
import { invalidBody } from "./content.ts";

/** Returns the fields in the order of the form (URL Standard §5.1); rejects invalid encoding. */
export function readPairs(bytes: Uint8Array): readonly Pair[] | Problem {
  const text = decodeUtf8KeepingBom(bytes);
  if (typeof text !== "string") return invalidBody([text]);
  if (startOfJson.test(text)) return jsonInForm;
  // One more than the limit is enough to reject the form.
  const pieces = text
    .split("&")
    .filter(isNotEmpty)
    .slice(0, formLimits.maxFields + 1);
  const pairs: Pair[] = [];
  for (const piece of pieces) {
    const [name = "", ...rest] = piece.split("=");
    const pair = [decoded(name), decoded(rest.join("="))] as const;
    if (pair[0] === undefined) return invalidBody([{ pointer: "", detail: brokenName }]);
    if (pair[1] === undefined)
      return invalidBody([{ pointer: pointerTo([pair[0]]), detail: brokenValue }]);
    pairs.push([pair[0], pair[1]]);
  }
  return pairs;
}

/** A form encoder writes these as %7B and %5B; a JSON client with the wrong Content-Type does not. */
const startOfJson = /^\s*[{[]/;
const jsonInForm = unsupported(
  createTypes,
  "The body looks like JSON, but Content-Type is a form. Send `Content-Type: application/json`.",
);

/** Consecutive ampersands leave empty pieces. */
const isNotEmpty = (piece: string): boolean => piece !== "";

const brokenName = "the name of a field is not percent-encoded UTF-8";
const brokenValue = "the value is not percent-encoded UTF-8";

function decoded(written: string): string | undefined {
  try {
    return decodeURIComponent(written.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

/** Builds a draft from the fields with the types of the collection's schema. */
export function draftOfForm(pairs: readonly Pair[], rules: Rules | undefined): Draft | Problem {
  const fields = fieldsOfForm(pairs, rules);
  if (fields instanceof Problem) return fields;
  const draft = draftOf(fields);
  return "fields" in draft ? draft : invalidBody(draft);
}
