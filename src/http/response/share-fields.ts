// Lets kept replies share most of their header fields.

import { fieldName } from "../../lib/field-lines.ts";
import { RecentMap } from "../../lib/recent-map.ts";
import { ReplyFields, SharedFields } from "../../lib/reply.ts";

/** Fields that differ from reply to reply. */
const ownNames = [fieldName("ETag"), fieldName("Last-Modified")];
const own = new Set(ownNames);

const maxShared = 64;
const known = new RecentMap<string, SharedFields>(maxShared);
let last: SharedFields | undefined;

/** Returns the same fields. One object for all replies with the same ones stays in the processor's cache. */
export function shareFields(fields: ReplyFields): ReplyFields {
  const shared = new ReplyFields(sharedOf(fields));
  for (const name of ownNames) {
    const value = fields.get(name.lowerCase);
    if (value !== null) shared.add(name, value);
  }
  return shared;
}

function sharedOf(fields: ReplyFields): SharedFields {
  if (last !== undefined && fields.isOf(last, own)) return last;
  const rest = fields.copy();
  for (const name of ownNames) rest.delete(name.lowerCase);
  const made = new SharedFields(rest);
  last = known.getOrAdd(made.lines, () => made);
  return last;
}
