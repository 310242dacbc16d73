// Defines what a route asks of its caller.

import type { CollectionPermission } from "../../domain/collection-access.ts";

/**
 * `anyone` needs no token and `token` a valid one; with `optional-token` a token that is sent must be
 * valid. A verb needs its scope on the collection in the path, unless the collection is public for it;
 * `action` needs the scope of the action in the path, `metrics` the scope of that name,
 * and `issue` `admin` or any scope to issue tokens.
 */
export type Permission =
  | "anyone"
  | "optional-token"
  | "token"
  | "admin"
  | "metrics"
  | "issue"
  | "action"
  | CollectionPermission;
