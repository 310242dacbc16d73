// Reads the unique field and its value in the URL of a PUT to a collection.

import type { UpsertOperation } from "../../domain/write/operation.ts";
import type { Rules } from "../../model/collection.ts";
import { Problem } from "../../model/problem.ts";
import { uniqueFieldNames } from "../../model/query/unique-field.ts";
import { invalid, type SearchParams } from "../request/request-target.ts";

interface UniqueTarget {
  readonly name: string;
  /** Undefined in a batch, which is read before its collections are. */
  readonly rules?: Rules | undefined;
}

/** Reads the one parameter of the URL. The domain decides whether it is a unique field. */
export function readUniqueValue(
  [first, second]: SearchParams,
  target: UniqueTarget,
): Required<Pick<UpsertOperation, "field" | "text">> | Problem {
  if (first === undefined) return noField(target);
  const [field, text] = first;
  if (second !== undefined)
    return invalid([
      {
        parameter: second[0],
        detail: `a PUT to a collection takes one parameter, a unique field; ${field} is there already`,
      },
    ]);
  return field === "id" ? idInQuery(target) : { field, text };
}

function noField({ name, rules }: UniqueTarget): Problem {
  const [example = "sku"] = uniqueFieldNames(rules);
  return new Problem(
    "invalid-parameter",
    `A PUT to a collection needs the value of a unique field in the URL, such as /${name}?${example}=A1. To choose the id, PUT to /${name}/{id}.`,
    { errors: [{ parameter: example, detail: "a unique field and its value are needed" }] },
  );
}

const idInQuery = ({ name }: UniqueTarget): Problem =>
  invalid([{ parameter: "id", detail: `put the id into the path: /${name}/{id}` }]);
