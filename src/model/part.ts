// One file of a resource: what is shown of it, and where its bytes are.

export interface Part {
  /** The last segment of its address: the member that shows it, and `.2` for the second of several. */
  readonly slot: string;
  /** The file's name as the client called it. */
  readonly name: string;
  /** Its media type. */
  readonly type: string;
  readonly size: number;
  /** In hex. */
  readonly sha256: string;
  /** Under which the bytes are kept. */
  readonly key: string;
}

/** A member's name that can stand in an address, and a number where there are several. */
export const slotShape = /^[A-Za-z_][A-Za-z0-9_-]{0,63}(?:\.[1-9]\d{0,3})?$/;

/** The member that shows the part. */
export const memberOf = ({ slot }: Part): string => slot.split(".", 1)[0] ?? "";

/** Whether it is one of several in its member. */
const isNumbered = ({ slot }: Part): boolean => slot.includes(".");

export const readParts = (text: string): readonly Part[] => JSON.parse(text);

/** The members that show the parts, as the texts of JSON values; `address` is the resource's own. */
export function partMembers(parts: readonly Part[], address: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>();
  for (const [member, several] of Map.groupBy(parts, memberOf)) {
    const views = several.map((part) => partView(part, address));
    const isList = several.some(isNumbered);
    members.set(member, isList ? `[${views.join(",")}]` : (views[0] ?? "null"));
  }
  return members;
}

function partView({ slot, name, type, size, sha256 }: Part, address: string): string {
  return JSON.stringify({ name, type, size, sha256, url: `${address}/${slot}` });
}
