// Reads the parameters and the Content-Type of NDJSON and CSV requests.

import { notUniqueField } from "../../domain/write/unique-value.ts";
import { definitionOf } from "../../model/definition.ts";
import { Problem } from "../../model/problem.ts";
import { uniqueFieldOf } from "../../model/query/unique-field.ts";
import { checkNdjsonType, isNdjson, readCsvEncoding } from "../headers/media-type.ts";
import type { RequestContext } from "../request/context.ts";
import { invalid, readParameters, type SearchParams } from "../request/request-target.ts";
import { CsvLines, type LineReader, NdjsonLines } from "./bulk-lines.ts";

export interface BulkParameters {
  readonly isAtomic: boolean;
  readonly isDryRun: boolean;
  /** The field by which resources are created or replaced. */
  readonly key: string | undefined;
  readonly lines: LineReader;
}

const separators = { comma: ",", semicolon: ";", tab: "\t" } as const;
const yesOrNo = { true: true, false: false } as const;
const typeChoices = { text: false, infer: true } as const;

export function readBulkParameters(context: RequestContext): BulkParameters | Problem {
  const { services, searchParams, collection, request } = context;
  const isCsv = !isNdjson(request.headers);
  const names = ["atomic", "dry-run", "key"] as const;
  const parameters = readParameters(searchParams, isCsv ? [...names, "types", "separator"] : names);
  if (parameters instanceof Problem) return parameters;
  const { atomic, "dry-run": dryRun, key, types, separator } = parameters as BulkTexts;
  const isAtomic = choiceOf("atomic", atomic, yesOrNo) ?? false;
  if (isAtomic instanceof Problem) return isAtomic;
  const isDryRun = choiceOf("dry-run", dryRun, yesOrNo) ?? false;
  if (isDryRun instanceof Problem) return isDryRun;
  const isInferring = choiceOf("types", types, typeChoices) ?? false;
  if (isInferring instanceof Problem) return isInferring;
  const given = choiceOf("separator", separator, separators);
  if (given instanceof Problem) return given;
  const isKey = key === undefined || key === "id" || uniqueFieldOf(collection.rules, key);
  if (!isKey) return notUniqueField(collection, key, "key");
  if (!isCsv) {
    const wrongType = checkNdjsonType(request.headers);
    const lines = new NdjsonLines(services.maxBodyBytes);
    return wrongType ?? { isAtomic, isDryRun, key, lines };
  }
  const encoding = readCsvEncoding(request.headers);
  if (encoding instanceof Problem) return encoding;
  const { schema } = collection.rules ? definitionOf(collection.rules) : {};
  const format = { schema, isInferring, encoding, separator: given };
  return { isAtomic, isDryRun, key, lines: new CsvLines(services.maxBodyBytes, format) };
}

type BulkTexts = Partial<Record<"atomic" | "dry-run" | "key" | "types" | "separator", string>>;

/** Returns the value of a parameter that takes one of these texts; undefined without the parameter. */
function choiceOf<Value>(
  parameter: string,
  text: string | undefined,
  choices: Readonly<Record<string, Value>>,
): Value | Problem | undefined {
  if (text === undefined) return undefined;
  if (Object.hasOwn(choices, text)) return choices[text];
  const detail = `${parameter} is one of: ${Object.keys(choices).join(", ")}.`;
  return invalid([{ parameter, detail }]);
}

export function readAtomic(searchParams: SearchParams): boolean | Problem {
  const parameters = readParameters(searchParams, ["atomic"]);
  if (parameters instanceof Problem) return parameters;
  return choiceOf("atomic", parameters.atomic, yesOrNo) ?? false;
}
