// The way back from a change of many: what a field was before, and the operations that write it back.

import { get } from "../api/client.ts";
import type { Json, JsonObject } from "../api/json.ts";
import { memberOf } from "../api/json.ts";
import { fieldsOf, patchOf, withMember } from "../api/patch.ts";
import { queryText } from "../api/query.ts";
import type { Page, Resource } from "../api/types.ts";
import { resourceUrl } from "../state/changes.ts";
import { escapeName } from "./paths.ts";

interface Changed {
  readonly id: string;
  readonly _etag: string;
}

/** The answer to a batch. Without a right to read there are no bodies. */
export interface Results {
  readonly results: readonly { readonly etag?: string; readonly body?: Resource }[];
}

export interface WayBack {
  readonly target: Changed;
  readonly operation: JsonObject;
}

interface UndoneChange {
  readonly collection: string;
  readonly field?: string;
}

type Former = ReadonlyMap<string, Json | undefined>;

/** By id. Empty where the change cannot be undone. */
export async function formerValues(
  targets: readonly { readonly id: string }[],
  { collection, field }: UndoneChange,
): Promise<Former> {
  if (field === undefined) return new Map();
  const params = new URLSearchParams({
    "id[in]": targets.map(({ id }) => id).join(","),
    fields: escapeName(field),
    ...{ limit: String(targets.length), total: "none" },
  });
  const path = `/${collection}?${queryText(params)}`;
  const { data } = await get<Page<Resource>>(path).catch(() => ({ data: [] }));
  return new Map(data.map((one) => [one.id, memberOf(one, field)]));
}

export const waysBack = (
  results: Results["results"],
  former: Former,
  { collection, field = "" }: UndoneChange,
): readonly WayBack[] =>
  results.flatMap(({ etag, body }) => {
    if (etag === undefined || body === undefined || !former.has(body.id)) return [];
    const now = fieldsOf(body);
    const patch = patchOf(now, withMember(now, field, former.get(body.id)));
    const operation = {
      ...{ method: "PATCH", path: resourceUrl(collection, body.id), ifMatch: etag },
      ...{ contentType: patch.type, body: patch.body },
    };
    return [{ target: { id: body.id, _etag: etag }, operation }];
  });
