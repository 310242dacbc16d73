// What the scripts of this folder do in Restante: define collections, import resources and files, and count.

/** The members that a server sets. A collection has no fields of these names. */
const reserved = { createdAt: "created", updatedAt: "updated" };

/** A name that Restante takes for a collection: `blogPosts` becomes `blog-posts`. */
export const collectionName = (name) =>
  name
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, "-")
    .replace(/^[-_]+/, "")
    .slice(0, 63);

/** The name of a field: `createdAt` becomes `created`, because Restante has a `createdAt` of its own. */
export const fieldName = (name) =>
  reserved[name] ?? name.replace(/^(?=_(?:etag|expanded|owner)$)/, "x");

export class Restante {
  #origin;
  #token;

  constructor(origin, token) {
    this.#origin = origin.replace(/\/$/, "");
    this.#token = token;
  }

  /** Throws an error that says what was wrong. */
  async send(method, path, body, headers = {}) {
    const answer = await fetch(this.#origin + path, {
      method,
      headers: { authorization: `Bearer ${this.#token}`, ...headers },
      body,
    });
    if (answer.ok) return answer;
    const { title, detail, errors = [] } = await answer.json();
    const reasons = errors.map(({ pointer, detail }) => `\n  ${pointer} ${detail}`);
    throw new Error(`${method} ${path}: ${answer.status} ${detail ?? title}${reasons.join("")}`);
  }

  /** Returns how many stored resources do not match the definition, and the first of them. */
  async define(name, definition) {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify(definition);
    const answer = await this.send("PUT", `/-/collections/${name}`, body, headers);
    return (await answer.json()).violations;
  }

  /** Creates resources, or replaces those with the same ids. Returns the problems of rejected lines. */
  async import(name, resources) {
    if (resources.length === 0) return [];
    const headers = { "content-type": "application/x-ndjson", prefer: "return=minimal" };
    const body = resources.map((resource) => `${JSON.stringify(resource)}\n`).join("");
    const answer = await this.send("POST", `/${name}?key=id`, body, headers);
    const lines = (await answer.text())
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    const end = lines.at(-1);
    if (end.lines !== resources.length) throw new Error(`${name}: the import ended early`);
    return lines
      .filter(({ problem }) => problem !== undefined)
      .map(({ line, problem }) => ({ id: resources[line - 1].id, problem }));
  }

  async upload(path, type, name, bytes) {
    const disposition = `attachment; filename*=UTF-8''${encodeURIComponent(name)}`;
    await this.send("PUT", path, bytes, {
      "content-type": type,
      "content-disposition": disposition,
    });
  }

  async count(name) {
    const answer = await this.send("GET", `/${name}?limit=1`);
    return (await answer.json()).total;
  }
}

/**
 * Moves collections of `{ name, from, definition, resources, files }`: first the resources, then the
 * rules, so that references hold in any order. Prints counts of both sides; false if they differ.
 */
export async function move(restante, collections) {
  let isComplete = true;
  const complain = (text) => {
    isComplete = false;
    console.error(text);
  };
  for (const { name } of collections) await restante.define(name, {});
  for (const { name, resources, files = [] } of collections) {
    for (const { id, problem } of await restante.import(name, resources))
      complain(`${name}/${id} was rejected: ${problem.detail ?? problem.title}`);
    for (const file of files) {
      const { type, name: fileName, bytes } = await file.read();
      await restante.upload(file.path, type, fileName, bytes);
    }
  }
  for (const { name, definition } of collections) {
    const { count, first } = await restante.define(name, definition);
    for (const { id, errors } of first)
      console.error(
        `${name}/${id} stays, but does not match: ${errors[0].pointer} ${errors[0].detail}`,
      );
    if (count > first.length) console.error(`${name}: ${count} resources do not match`);
  }
  const rows = [];
  for (const { name, from, resources } of collections) {
    const total = await restante.count(name);
    rows.push(`${from} → /${name}: ${resources.length} there, ${total} here`);
    if (total !== resources.length)
      complain(`/${name} has ${total} resources, not ${resources.length}`);
  }
  console.log(rows.join("\n"));
  return isComplete;
}

/** The two addresses of the command line, and the admin token. Exits with 2 when one is missing. */
export function argumentsOf(usage) {
  const [source, target] = process.argv.slice(2);
  const token = process.env.RESTANTE_TOKEN;
  if (source === undefined || target === undefined || token === undefined) {
    console.error(`${usage}\nThe variable RESTANTE_TOKEN holds an admin token.`);
    process.exit(2);
  }
  return { source, restante: new Restante(target, token) };
}
