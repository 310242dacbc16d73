// Applies operations to a resource and validates the result, as it is stored.

import { pointerTo } from "../../lib/json/error-report.ts";
import type { Rules } from "../collection.ts";
import { definitionOf } from "../definition.ts";
import { addFileMembers, memberOf, readFiles } from "../file.ts";
import { acceptFields, type ResourceContent } from "./accept.ts";
import { applyOperations, type FailedOperations } from "./apply-operations.ts";
import { pathInBody, readOperations } from "./operations.ts";

export interface OperationsRequest {
  /** The operations as JSON; `checkOperations` has found no error. */
  readonly operations: string;
  readonly isAdmin: boolean;
  /** The address of the resource. */
  readonly address: string;
  /** The limit of the result. */
  readonly maxBytes: number;
}

/** Returns the content to store. */
export function operateOn(
  rules: Rules | undefined,
  current: ResourceContent,
  { operations: text, isAdmin, address, maxBytes }: OperationsRequest,
): ResourceContent | FailedOperations {
  const operations = readOperations(text);
  const files = readFiles(current.files);
  const fileNames = new Set(files.map(memberOf));
  const onFiles = operations.filter(({ path: [name = ""] }) => fileNames.has(name));
  if (onFiles.length > 0) {
    const errors = onFiles.map((each) => ({
      pointer: pointerTo(pathInBody(each)),
      detail: isFile,
    }));
    return { kind: "inapplicable", errors };
  }
  const schema = rules && definitionOf(rules).schema;
  const fields = applyOperations(current.fields, operations, schema);
  if (typeof fields !== "string") return fields;
  if (Buffer.byteLength(fields) > maxBytes) return tooLarge(maxBytes);
  const whole = addFileMembers(fields, files, address);
  const accepted = acceptFields(rules, whole, isAdmin, { address, current });
  if (!("errors" in accepted)) return accepted;
  const { errors, maxBytes: limit } = accepted;
  return limit === undefined ? { kind: "invalid", errors } : tooLarge(limit);
}

const isFile = "the field is a file, which operations do not change";

const tooLarge = (maxBytes: number): FailedOperations => ({
  kind: "invalid",
  errors: [{ pointer: "", detail: `it would be larger than ${maxBytes} bytes` }],
});
