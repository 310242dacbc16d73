// Several operations that happen together or not at all.

import type { RequestOptions, Sender } from "./send.ts";
import { remember } from "./tags.ts";

export interface Operation<Result> {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  /** Of the body of a PATCH; a merge patch by default. */
  readonly contentType?: string;
  readonly ifMatch?: string;
  /** `*` for a PUT that only creates. */
  readonly ifNoneMatch?: string;
  /** Only a type: what the operation returns. */
  readonly result?: Result;
}

/** The results of operations, in their order. */
export type Results<O extends readonly Operation<unknown>[]> = {
  readonly [I in keyof O]: O[I] extends Operation<infer R> ? R : never;
};

interface BatchAnswer {
  readonly results: readonly { readonly etag?: string; readonly body?: object }[];
}

/** An error of an operation has a pointer such as `/operations/1/body/name`. */
export async function runBatch<const O extends readonly Operation<unknown>[]>(
  sender: Sender,
  operations: O,
  options: RequestOptions = {},
): Promise<Results<O>> {
  const request = { method: "POST", path: "/-/batch", body: { operations }, ...options };
  return sender.read(request, async (response) => {
    const { results } = (await response.json()) as BatchAnswer;
    return results.map(({ body, etag }) => body && remember(body, etag)) as Results<O>;
  });
}
