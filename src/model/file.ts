// One file of a resource: what is shown of it, and where its bytes are.

export interface StoredFile {
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
export const filePathPattern = /^[A-Za-z_][A-Za-z0-9_-]{0,63}(?:\.[1-9]\d{0,3})?$/;

/** The member that shows the part. */
export const memberOf = ({ slot }: StoredFile): string => slot.split(".", 1)[0] ?? "";

/** Whether it is one of several in its member. */
export const isNumbered = ({ slot }: StoredFile): boolean => slot.includes(".");

/** As a resource has them: none where the text is missing. */
export const readFiles = (text: string | undefined): readonly StoredFile[] =>
  text === undefined ? [] : JSON.parse(text);

export const writeFiles = (parts: readonly StoredFile[]): string | undefined =>
  parts.length === 0 ? undefined : JSON.stringify(parts);

/** The members that show the parts, as the texts of JSON values; `address` is the resource's own. */
export function fileMembers(
  parts: readonly StoredFile[],
  address: string,
): ReadonlyMap<string, string> {
  const members = new Map<string, string>();
  for (const [member, several] of Map.groupBy(parts, memberOf)) {
    const views = several.map((part) => fileView(part, address));
    const isList = several.some(isNumbered);
    members.set(member, isList ? `[${views.join(",")}]` : (views[0] ?? "null"));
  }
  return members;
}

function fileView({ slot, name, type, size, sha256 }: StoredFile, address: string): string {
  return JSON.stringify({ name, type, size, sha256, url: `${address}/${slot}` });
}

/** The text of the fields with the members that show the parts. */
export function addFileMembers(
  fields: string,
  parts: readonly StoredFile[],
  address: string,
): string {
  if (parts.length === 0) return fields;
  const members = [...fileMembers(parts, address)];
  const added = members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(",");
  return fields === "{}" ? `{${added}}` : `${fields.slice(0, -1)},${added}}`;
}
