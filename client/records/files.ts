// Files in records: addresses that an <img> can load, and forms with files that were chosen.

import { type Client, Problem } from "../index.ts";
import { isObject, type Members } from "../object.ts";

/** A file as its resource shows it. */
export interface FileMember {
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly sha256: string;
  /** The path on the server. */
  readonly url: string;
}

/** Returns the address of a file for an `<img>` or a link, which send no token. */
export type FileUrl = (file: FileMember) => string | Promise<string>;

/** How long a signed URL is valid, in seconds; and what must be left of it to be used again. */
const validSeconds = 3_600;
const leastLeftMs = 900_000;
const mostKept = 10_000;

/** A member that a client has sent can look like a file. Its `url` becomes a link, which must not run a script. */
const isFile = (value: unknown): value is FileMember =>
  isObject(value) &&
  typeof value.sha256 === "string" &&
  typeof value.url === "string" &&
  /^(\/|http)/.test(value.url);

/** Whether the URL is that of a file of this resource: any other is what somebody has written. */
const isOwn = ({ url }: FileMember, id: unknown, member: string): boolean =>
  url.replace(/\.\d+$/, "").endsWith(`/${id}/${member}`);

/** Adds `src` and `title` to each file of the resource, as react-admin calls them. */
export async function withSources<T extends Members>(record: T, url: FileUrl): Promise<T> {
  const show = async (file: FileMember) => ({ ...file, src: await url(file), title: file.name });
  const members = Object.entries(record).map(async ([name, value]) => {
    const one = (item: unknown) =>
      isFile(item) && isOwn(item, record.id, name) ? show(item) : item;
    return [name, await (Array.isArray(value) ? Promise.all(value.map(one)) : one(value))];
  });
  return Object.fromEntries(await Promise.all(members));
}

/** The files as the server shows them. */
export function withoutSources(record: Members): Members {
  const one = (value: unknown) => {
    if (!isFile(value)) return value;
    const { name, type, size, sha256, url } = value;
    return { name, type, size, sha256, url };
  };
  const members = Object.entries(record).map(([name, value]) => [
    ...[name, Array.isArray(value) ? value.map(one) : one(value)],
  ]);
  return Object.fromEntries(members);
}

/** Whether it is a file that a person has chosen: as it is, or as react-admin and Ant Design hold it. */
function chosen(value: unknown): Blob | undefined {
  if (value instanceof Blob) return value;
  const { rawFile, originFileObj } = isObject(value) ? value : {};
  return [rawFile, originFileObj].find((one) => one instanceof Blob);
}

export const hasFile = (value: unknown): boolean =>
  listOf(value).some((one) => isFile(one) || chosen(one));

export interface Split {
  readonly data: Members;
  /** By member, in their order; those that the resource has already are shown as they are. */
  readonly files: readonly (readonly [name: string, files: readonly (Blob | FileMember)[]])[];
}

/** Takes out the members that need a form. An input without a chosen file changes nothing. */
export function splitFiles(given: Members): Split {
  const listed = Object.entries(given).map(([name, value]) => [name, listOf(value)] as const);
  const files = listed.flatMap(([name, list]) =>
    list.some(chosen)
      ? [[name, list.map((one) => chosen(one) ?? (one as FileMember))] as const]
      : [],
  );
  const left = Object.entries(given).filter(
    ([name, value]) => !isFileList(value) && !files.some(([other]) => other === name),
  );
  return { data: withoutSources(Object.fromEntries(left)), files };
}

/** The value of an `<input type="file">`. */
const isFileList = (value: unknown): value is Iterable<unknown> =>
  isObject(value) && "item" in value && Symbol.iterator in value;

const listOf = (value: unknown): readonly unknown[] =>
  Array.isArray(value) || isFileList(value) ? [...value] : [value];

/** One request with everything, so that all of it is stored or nothing. Files that stay in a list are sent again. */
export async function formOf(
  { data, files }: Split,
  read: (file: FileMember) => Promise<Blob>,
): Promise<FormData> {
  const form = new FormData();
  form.set("data", new Blob([JSON.stringify(data)], { type: "application/json" }));
  for (const [name, list] of files)
    for (const file of list)
      if (file instanceof Blob) form.append(name, file);
      else form.append(name, new Blob([await read(file)], { type: file.type }), file.name);
  return form;
}

/** Signs URLs where the definition of the collection allows it. Others can be loaded if everyone may read them. */
export function signedUrls(client: Client): FileUrl {
  const kept = new Map<string, Promise<Source>>();
  const unsigned = new Set<string>();
  const sign = async (url: string): Promise<Source> => {
    const collection = url.split("/").at(-3) ?? "";
    if (!unsigned.has(collection))
      try {
        return await signUrl(client, url);
      } catch (error) {
        if (error instanceof Problem && error.status === 403) unsigned.add(collection);
      }
    return { src: addressOf(client, url), untilMs: 0 };
  };
  return async ({ url, sha256 }) => {
    const key = `${url} ${sha256}`;
    const former = await kept.get(key);
    if (former && former.untilMs - Date.now() > leastLeftMs) return former.src;
    const signed = sign(url);
    keep(kept, key, signed, mostKept);
    return (await signed).src;
  };
}

interface Source {
  readonly src: string;
  readonly untilMs: number;
}

async function signUrl(client: Client, path: string): Promise<Source> {
  const body = { path, expiresIn: validSeconds };
  const answer = await client.send({ method: "POST", path: "/-/signed-urls", body });
  const { url, expiresAt } = (await answer.json()) as { url: string; expiresAt: string };
  return { src: url.startsWith("/") ? baseOf(client) + url : url, untilMs: Date.parse(expiresAt) };
}

/** Where the client finds it: the server may show a path or its public URL, and whoever forges one any host. */
function addressOf(client: Client, url: string): string {
  return [baseOf(client), ...url.split("/").slice(-3)].join("/");
}

export function baseOf(client: Client): string {
  const { url, path } = client.collection("x").file("x", "x");
  return url.slice(0, -path.length);
}

/** The oldest go when there are too many. */
export function keep<V>(map: Map<string, V>, key: string, value: V, most: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.size > most ? map.keys() : [];
  if (oldest !== undefined) map.delete(oldest);
}
