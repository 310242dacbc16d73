// Copies every collection from one server to another, follows what changes meanwhile, and ends when nothing does.

const from = { url: process.env.FROM, token: process.env.FROM_TOKEN };
const to = { url: process.env.TO, token: process.env.TO_TOKEN };

interface Collection {
  readonly name: string;
  readonly definition: object;
}

interface Feed {
  readonly changes: readonly (
    | { readonly resource: { id: string } }
    | { readonly removed: string }
  )[];
  readonly next: number;
  readonly more: boolean;
}

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

/** Copies what changed in a collection after a revision; how much, and up to which revision. */
async function copy(name: string, since: number): Promise<{ count: number; next: number }> {
  for (let count = 0, next = since; ; ) {
    const feed = await ask<Feed>(from, "GET", `/${name}?since=${next}&limit=100`);
    const operations = [];
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

const { data: collections } = await ask<{ data: readonly Collection[] }>(
  from,
  "GET",
  "/-/collections",
);
// Without rules at first, because they may demand what a copy cannot give.
for (const { name } of collections) await ask(to, "PUT", `/-/collections/${name}`, {});
const reached = new Map<string, number>();
for (let found = 1; found > 0; ) {
  found = 0;
  for (const { name } of collections) {
    const { count, next } = await copy(name, reached.get(name) ?? 0);
    reached.set(name, next);
    found += count;
  }
  console.log(`${found} changes copied`);
}
for (const { name, definition } of collections)
  await ask(to, "PUT", `/-/collections/${name}`, definition);
