// Copies every collection from one server to another, including changes made during the copy.
// Refuses collections with files, owners or writeOnly fields, because the API does not return these completely.

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

/** A position in the change feed of a collection; 0 is the start. */
type Position = number | string;

async function ask<T>(server: typeof from, method: string, path: string, content?: object) {
  const headers = { authorization: `Bearer ${server.token}`, "content-type": "application/json" };
  const body = content === undefined ? null : JSON.stringify(content);
  const response = await fetch(`${server.url}${path}`, { method, headers, body });
  const text = await response.text();
  // A resource that was never copied does not have to be deleted.
  if (response.ok || (method === "DELETE" && response.status === 404))
    return JSON.parse(text || "{}") as T;
  throw new Error(`${method} ${server.url}${path}: ${text}`);
}

/** Exits with the reasons, if there are any. */
function refuse(reasons: readonly string[]): void {
  if (reasons.length === 0) return;
  console.error(["This cannot be copied without losing it:", ...reasons].join("\n- "));
  process.exit(1);
}

/** Whether a schema has `writeOnly: true` anywhere. Such values are never shown, so they cannot be copied. */
const hidesValues = (schema: unknown): boolean =>
  typeof schema === "object" &&
  schema !== null &&
  ("writeOnly" in schema && schema.writeOnly === true
    ? true
    : Object.values(schema).some(hidesValues));

/** What cannot be copied, according to the definition of a collection. */
function lossesOf({ name, definition }: Collection): readonly string[] {
  const hasOwners = Object.values(definition.access ?? {}).includes("owner");
  return [
    ...(hasOwners ? [`${name}: which token owns each resource (access is "owner")`] : []),
    ...(hidesValues(definition) ? [`${name}: the values of its writeOnly fields`] : []),
  ];
}

/** The resources of a page that have files. */
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

/** A file is shown as an object with a URL. A HEAD request tells it from plain data with the same members. */
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

/** Copies the changes of a collection after a position. Returns their number and the new position. */
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

/** Finds the first resource with files; one is enough to refuse the copy. */
async function filesOf({ name }: Collection): Promise<readonly string[]> {
  for (let next: Position = 0; ; ) {
    const feed: Feed = await readFeed(name, next);
    const [first] = await filesIn(name, feed);
    if (first !== undefined) return [`${first}, and perhaps those of others`];
    if (!feed.more) return [];
    next = feed.next;
  }
}

/** Returns all collections, after checking that everything in them can be copied. */
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
  // This includes collections that were created during the copy.
  for (const { name } of await readCollections(reached)) {
    // The definition is applied at the end, because it may require what a copy cannot provide.
    if (!reached.has(name)) await ask(to, "PUT", `/-/collections/${name}`, {});
    const { count, next } = await copy(name, reached.get(name) ?? 0);
    reached.set(name, next);
    found += count;
  }
  console.log(`${found} changes copied`);
}
for (const { name, definition } of await readCollections(reached))
  await ask(to, "PUT", `/-/collections/${name}`, definition);
