// The request that someone has filled in on the API page.

import type { OperationDetail, Parameter } from "./document.ts";

/** The values of parameters by place and name, and the body. */
export interface Filled {
  readonly values: Readonly<Record<string, string>>;
  readonly type: string;
  readonly body: string;
}

interface FilledRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export const keyOf = ({ in: place, name }: Parameter): string => `${place} ${name}`;

/** Required parameters that are still empty. */
export const missingIn = ({ parameters }: OperationDetail, { values }: Filled): readonly string[] =>
  parameters.filter((one) => one.isRequired && !values[keyOf(one)]).map(({ name }) => name);

export function requestOf(operation: OperationDetail, filled: Filled): FilledRequest {
  const { values, type, body } = filled;
  const given = operation.parameters.flatMap((one) => {
    const value = values[keyOf(one)] ?? "";
    return value === "" ? [] : [{ ...one, value }];
  });
  const path = operation.path.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[`path ${name}`];
    return value ? encodeURIComponent(value) : whole;
  });
  const query = new URLSearchParams();
  for (const { name, value } of given.filter((one) => one.in === "query")) query.set(name, value);
  const headers = given
    .filter((one) => one.in === "header")
    .map(({ name, value }) => [name, value]);
  const hasBody = operation.body.length > 0 && body !== "";
  return {
    method: operation.method,
    path: query.size === 0 ? path : `${path}?${query}`,
    headers: Object.fromEntries([...headers, ...(hasBody ? [["Content-Type", type]] : [])]),
    ...(hasBody && { body }),
  };
}
