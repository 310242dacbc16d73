// The stored record of a resource's file, and how files appear in a representation.

export interface StoredFile {
  /** The last path segment of its URL: the member name, with `.2` for the second of several files. */
  readonly slot: string;
  /** The file name from the client. */
  readonly name: string;
  /** Its media type. */
  readonly type: string;
  readonly size: number;
  /** In hex. */
  readonly sha256: string;
  /** The key of the bytes in the file store. */
  readonly key: string;
  /** When it came to an existing resource, in milliseconds. Other files are as old as their resource. */
  readonly uploadedAt?: number;
  /** The resource had another state within the same second, so an HTTP date cannot distinguish them. */
  readonly sharesDate?: true;
}

/** The one list of all resources without files: a write makes none of its own. */
export const noFiles: readonly StoredFile[] = [];

/** A member name that is valid in a URL, with a number when there are several files. */
export const filePathPattern = /^[A-Za-z_][A-Za-z0-9_-]{0,63}(?:\.[1-9]\d{0,3})?$/;

/** The member that represents the file. */
export const memberOf = ({ slot }: Pick<StoredFile, "slot">): string => slot.split(".", 1)[0] ?? "";

/** Whether the member is a list of files. */
export const isNumbered = ({ slot }: StoredFile): boolean => slot.includes(".");

/** Gives a file a name that came without one, as from a PUT by `fetch`: `photo.png`, by its member and type. */
export function named(file: StoredFile): StoredFile {
  if (file.name !== "") return file;
  const { type } = file;
  const [, ending] = /^\w+\/(\w{2,4})(?:;|$)/.exec(type) ?? [];
  const suffix = type.startsWith("text/plain") ? "txt" : ending;
  return { ...file, name: suffix ? `${memberOf(file)}.${suffix}` : memberOf(file) };
}

/** Parses the files of a resource. */
export const readFiles = (text: string | undefined): readonly StoredFile[] =>
  text === undefined ? [] : JSON.parse(text);

export const writeFiles = (files: readonly StoredFile[]): string | undefined =>
  files.length === 0 ? undefined : JSON.stringify(files);

/** The members that represent the files, as JSON texts. `address` is the URL of the resource. */
export function fileMembers(
  files: readonly StoredFile[],
  address: string,
): ReadonlyMap<string, string> {
  const members = new Map<string, string>();
  for (const [member, several] of Map.groupBy(files, memberOf)) {
    const views = several.map((file) => JSON.stringify(fileView(file, address)));
    const isList = several.some(isNumbered);
    members.set(member, isList ? `[${views.join(",")}]` : (views[0] ?? "null"));
  }
  return members;
}

/** A file as its resource shows it. */
export const fileView = ({ slot, name, type, size, sha256 }: StoredFile, address: string) => ({
  name,
  type,
  size,
  sha256,
  url: `${address}/${slot}`,
});

/** Adds the members that represent the files to the text of the fields. */
export function addFileMembers(
  fields: string,
  files: readonly StoredFile[],
  address: string,
): string {
  if (files.length === 0) return fields;
  const members = [...fileMembers(files, address)];
  const added = members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(",");
  return fields === "{}" ? `{${added}}` : `${fields.slice(0, -1)},${added}}`;
}
