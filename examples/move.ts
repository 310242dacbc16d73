// Copies every collection from one server to another, follows what changes meanwhile, and ends when nothing does.
// It refuses collections with files, owners or writeOnly fields, which the API does not give out whole.

const from = { url: process.env.FROM, token: process.env.FROM_TOKEN };
const to = { url: process.env.TO, token: process.env.TO_TOKEN };

interface Collection {
  readonly name: string;
  readonly definition: { readonly access?: Readonly<Record<string, unknown>> };
}

interface Resource {
  readonly id: string;
  readonly [member: string]: unknown;
}

interface Feed {
  readonly changes: readonly ({ readonly resource: Resource } | { readonly removed: string })[];
  readonly next: Position;
  readonly more: boolean;
}

/** How far the feed of a collection was read; 0 is its beginning. */
type Position = number | string;

async function ask<T>(server: typeof from, method: string, path: string, content?: object) {
  const headers = { authorization: `Bearer ${server.token}`, "content-type": "application/json" };
  const body = content === undefined ? null : JSON.stringify(content);
  const response = await fetch(`${server.url}${path}`, { method, headers, body });
  const text = await response.text();
  // What the copy never had need not be removed from it.
  if (response.ok || (method === "DELETE" && response.status === 404))
    return JSON.parse(text || "{}") as T;
  throw new Error(`${method} ${server.url}${path}: ${text}`);
}

/** Ends the program before anything of it is lost. */
function refuse(reasons: readonly string[]): void {
  if (reasons.length === 0) return;
  console.error(["This cannot be copied without losing it:", ...reasons].join("\n- "));
  process.exit(1);
}

/** Whether a schema has `writeOnly: true` anywhere: such values are never shown, so they cannot be copied. */
const hidesValues = (schema: unknown): boolean =>
  typeof schema === "object" &&
  schema !== null &&
  ("writeOnly" in schema && schema.writeOnly === true
    ? true
    : Object.values(schema).some(hidesValues));

/** What a collection's definition says cannot be copied. */
function lossesOf({ name, definition }: Collection): readonly string[] {
  const hasOwners = Object.values(definition.access ?? {}).includes("owner");
  return [
    ...(hasOwners ? [`${name}: which token owns each resource (access is "owner")`] : []),
    ...(hidesValues(definition) ? [`${name}: the values of its writeOnly fields`] : []),
  ];
}

/** The files that the resources of a page have. */
async function filesIn(name: string, { changes }: Feed): Promise<readonly string[]> {
  const found: string[] = [];
  for (const change of changes) {
    if ("removed" in change) continue;
    const { id, ...members } = change.resource;
    for (const value of Object.values(members).flat())
      if (await isFile(value, `/${name}/${id}/`)) found.push(`${name}/${id}: its files`);
  }
  return [...new Set(found)];
}

/** A file is shown as an object with its address; the same members may also be plain data. */
async function isFile(value: unknown, folder: string): Promise<boolean> {
  if (typeof value !== "object" || value === null || !("url" in value && "sha256" in value))
    return false;
  const at = String(value.url).lastIndexOf(folder);
  if (at < 0) return false;
  const headers = { authorization: `Bearer ${from.token}` };
  const path = String(value.url).slice(at);
  return (await fetch(`${from.url}${path}`, { method: "HEAD", headers })).ok;
}

const readFeed = (name: string, position: Position): Promise<Feed> =>
  ask<Feed>(from, "GET", `/${name}?since=${encodeURIComponent(position)}&limit=100`);

/** Copies what changed in a collection after a position; how much, and how far it came. */
async function copy(name: string, since: Position): Promise<{ count: number; next: Position }> {
  for (let count = 0, next = since; ; ) {
    const feed = await readFeed(name, next);
    const operations = [];
    refuse(await filesIn(name, feed));
    for (const change of feed.changes)
      if ("removed" in change) await ask(to, "DELETE", `/${name}/${change.removed}`);
      else
        operations.push({
          method: "PUT",
          path: `/${name}/${change.resource.id}`,
          body: change.resource,
        });
    if (operations.length > 0) await ask(to, "POST", "/-/batch", { operations });
    count += feed.changes.length;
    next = feed.next;
    if (!feed.more) return { count, next };
  }
}

/** The first resource with files, which is enough to know. */
async function filesOf({ name }: Collection): Promise<readonly string[]> {
  for (let next: Position = 0; ; ) {
    const feed: Feed = await readFeed(name, next);
    const [first] = await filesIn(name, feed);
    if (first !== undefined) return [`${first}, and perhaps those of others`];
    if (!feed.more) return [];
    next = feed.next;
  }
}

/** All collections, once it is sure that nothing in them would be lost. */
async function readCollections(
  known: ReadonlyMap<string, Position>,
): Promise<readonly Collection[]> {
  const { data } = await ask<{ data: readonly Collection[] }>(from, "GET", "/-/collections");
  const losses = data.flatMap(lossesOf);
  for (const one of data) if (!known.has(one.name)) losses.push(...(await filesOf(one)));
  refuse(losses);
  return data;
}

const reached = new Map<string, Position>();
for (let found = 1; found > 0; ) {
  found = 0;
  // Also those that were made meanwhile.
  for (const { name } of await readCollections(reached)) {
    // Without rules at first, because they may demand what a copy cannot give.
    if (!reached.has(name)) await ask(to, "PUT", `/-/collections/${name}`, {});
    const { count, next } = await copy(name, reached.get(name) ?? 0);
    reached.set(name, next);
    found += count;
  }
  console.log(`${found} changes copied`);
}
for (const { name, definition } of await readCollections(reached))
  await ask(to, "PUT", `/-/collections/${name}`, definition);
