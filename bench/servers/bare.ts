// The limit: a bare server that answers everything with one constant. Arguments: port, status, body.

const [port, status, text = ""] = process.argv.slice(2);

// A 304 has no content, so it has no type of content either.
const body = text === "" ? null : text;
const headers: Record<string, string> = body === null ? {} : { "content-type": "application/json" };
const init = { status: Number(status), headers };

Bun.serve({ hostname: "127.0.0.1", port: Number(port), fetch: () => new Response(body, init) });
