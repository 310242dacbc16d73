// Sends one request of every kind, for rules that apply to all responses.

import type { TestApp } from "./app.ts";
import { type Answer, answerOf } from "./expect.ts";

export interface SampleResponse extends Answer {
  /** The request, for messages of assertions. */
  readonly asked: string;
}

const json = { "content-type": "application/json" };
const jsonPatch = { "content-type": "application/json-patch+json" };

/** Returns the URL of a file of a new resource. */
async function upload(app: TestApp, collection: string): Promise<string> {
  const headers = { "content-type": "text/plain" };
  const filed = await app.request(`/${collection}`, { method: "POST", headers, body: "post" });
  const { id } = (await filed.json()) as { id: string };
  return `/${collection}/${id}/file`;
}

/** Returns the path of a new upload, to which bytes can be appended. */
async function beginUpload(app: TestApp): Promise<string> {
  const headers = { "content-type": "image/png", "upload-complete": "?0" };
  const begun = await app.request("/people", { method: "POST", headers });
  // With a base URL it is absolute.
  return new URL(begun.headers.get("location") ?? "", app.url).pathname;
}

/** Sends all requests with the same extra headers. */
export async function requestEverything(
  app: TestApp,
  extra: Readonly<Record<string, string>> = {},
): Promise<readonly SampleResponse[]> {
  const { id } = await app.post("people", { name: "Ada" });
  const scoped = await app.token("people:read");
  const made = await app.request("/-/tokens", {
    method: "POST",
    headers: json,
    body: '{"name":"walker","scopes":["people:read"]}',
  });
  const token = ((await made.json()) as { id: string }).id;
  const { headers } = await app.request(`/people/${id}`);
  const known = { "if-none-match": headers.get("etag") ?? "" };
  // A new id for each call, because an earlier call may have changed or created the resource.
  const own = crypto.randomUUID();
  const key = { ...json, "idempotency-key": `"${own}"` };
  const minimal = { ...json, prefer: "return=minimal" };
  const patch = '[{"op":"test","path":"/name","value":"nobody"}]';
  const rules = '{"preconditions":"required","idempotencyKey":"required"}';
  const operations = `[{"method":"POST","path":"/people","body":{}},{"method":"PUT","path":"/people/b-${own}","body":{}},{"method":"DELETE","path":"/people/b-${own}"}]`;

  await app.request("/-/collections/keyed", {
    method: "PUT",
    headers: json,
    body: '{"unique":["sku"]}',
  });
  await app.request("/-/collections/scans", {
    method: "PUT",
    headers: json,
    body: '{"signedUrls":true}',
  });
  const [file, scan] = [await upload(app, "people"), await upload(app, "scans")];
  const lines = { "content-type": "application/x-ndjson" };
  const [incomplete, cancelled] = [await beginUpload(app), await beginUpload(app)];
  const piece = { "content-type": "application/partial-upload", "upload-offset": "0" };
  const [more, last] = [{ "upload-complete": "?0" }, { "upload-complete": "?1" }];

  const requests: [string, (RequestInit & { token?: string | null })?][] = [
    ["GET /"],
    ["GET /", { token: null }],
    ["GET /people"],
    ["GET /people?page=1&limit=1&sort=-createdAt"],
    ["QUERY /people", { headers: json, body: '{"limit":1}' }],
    ["QUERY /people", { headers: json, body: '{"limit":0}' }],
    ["GET /people", { headers: { "if-none-match": "*" } }],
    ["GET /people", { headers: { accept: "application/x-ndjson" } }],
    ["HEAD /people", { headers: { accept: "application/x-ndjson" } }],
    ["GET /people?limit=1", { headers: { accept: "text/csv" } }],
    ["POST /people", { headers: lines, body: "{}\n{\n" }],
    ["POST /people?atomic=true", { headers: lines, body: "{}\n{}\n" }],
    ["POST /people?atomic=true", { headers: lines, body: "{}\n{\n" }],
    ["POST /people", { headers: { "content-type": "text/csv" }, body: "name\nAda\n" }],
    ["GET /-/lines/people"],
    ["GET /-/lines/people", { headers: { accept: "text/csv" } }],
    ["GET /-/lines/people", { headers: { accept: "application/json" } }],
    ["GET /-/lines/people?since=0"],
    ["POST /-/lines/people", { headers: lines, body: "{}\n{\n" }],
    ["POST /-/lines/people", { headers: json, body: "{}" }],
    ["POST /people?dry-run=true", { headers: { "content-type": "text/csv" }, body: "a,a\n" }],
    [`PUT /keyed?sku=${own}`, { headers: json, body: "{}" }],
    [`PUT /keyed?sku=${own}`, { headers: json, body: "{}" }],
    [`PUT /keyed?sku=${own}`, { headers: minimal, body: "{}" }],
    [`PUT /keyed?sku=${own}`, { headers: json, body: '{"sku":"other"}' }],
    ["PUT /people", { headers: json, body: "{}" }],
    [`GET /people/${id}`],
    [`HEAD /people/${id}`],
    [`GET /people/${id}`, { headers: known }],
    [`GET ${file}`],
    [`HEAD ${file}`],
    [`GET ${file}`, { headers: { range: "bytes=1-2" } }],
    [`GET ${file}`, { headers: { range: "bytes=4-" } }],
    [`GET ${file}`, { headers: { "if-none-match": "*" } }],
    [`GET ${file}.1`],
    [`GET ${file}?signature=x`, { token: null }],
    ["POST /-/signed-urls", { headers: json, body: JSON.stringify({ path: scan }) }],
    ["POST /-/signed-urls", { headers: json, body: JSON.stringify({ path: file }) }],
    ["POST /-/signed-urls", { headers: json, body: "{}" }],
    [`PUT ${file}`, { headers: { "content-type": "text/plain" }, body: "put" }],
    [`PUT ${file}`, { headers: { prefer: "return=representation" }, body: "again" }],
    [`PUT ${file}2`, { headers: { prefer: "return=minimal" }, body: "new" }],
    [`PUT ${file}3`, { headers: { prefer: "return=representation" }, body: "new" }],
    [`DELETE ${file}2`],
    [`DELETE ${file}2`],
    ["POST /people", { headers: { "content-type": "image/png", ...more }, body: "a" }],
    [`HEAD ${incomplete}`],
    [`PATCH ${incomplete}`, { headers: { ...piece, ...more, "upload-offset": "9" }, body: "a" }],
    [`PATCH ${incomplete}`, { headers: { ...piece, ...more, "upload-length": "2" }, body: "a" }],
    [`PATCH ${incomplete}`, { headers: { ...piece, ...last, "upload-offset": "1" }, body: "b" }],
    [`PATCH ${incomplete}`, { headers: { ...piece, ...last } }],
    [`GET ${incomplete}`],
    [`DELETE ${cancelled}`],
    [`DELETE ${cancelled}`],
    ["POST /people", { headers: json, body: "{}" }],
    ["POST /people", { headers: minimal, body: "{}" }],
    ["POST /people", { headers: key, body: "{}" }],
    ["POST /people", { headers: key, body: "{}" }],
    ["POST /people", { headers: key, body: '{"another":1}' }],
    [`PUT /people/${own}`, { headers: json, body: "{}" }],
    [`PUT /people/${own}`, { headers: json, body: '{"name":"Ada"}' }],
    [`PUT /people/${own}`, { headers: minimal, body: '{"name":"Ada"}' }],
    [`PUT /people/${own}`, { headers: { ...json, "if-none-match": "*" }, body: "{}" }],
    [`PUT /people/${own}`, { headers: json, body: '{"id":"another"}' }],
    [`PUT /people/${own}`, { headers: { "content-type": "text/csv" }, body: "a" }],
    [`PATCH /people/${own}`, { headers: json, body: '{"age":36}' }],
    [`PATCH /people/${own}`, { headers: minimal, body: '{"age":37}' }],
    [`PATCH /people/${own}`, { headers: jsonPatch, body: patch }],
    [`PATCH /people/${own}`, { headers: { "content-type": "text/csv" }, body: "a" }],
    ["GET /people?since=0&limit=1"],
    [`DELETE /people/${own}`],
    [`DELETE /people/${own}`],
    ["GET /people?since=0&limit=1000"],
    ["GET /people?since=1.1-1-1"],
    ["POST /-/batch", { headers: json, body: `{"operations":${operations}}` }],
    ["POST /-/batch", { headers: json, body: '{"operations":[]}' }],
    [`PUT /-/collections/${own}`, { headers: json, body: rules }],
    [`PUT /-/collections/${own}`, { headers: json, body: rules }],
    [`GET /-/collections/${own}`],
    [`GET /-/collections/${own}`, { headers: { "if-none-match": "*" } }],
    [`GET /-/collections/${own}/definition`],
    [`GET /-/collections/${own}/definition`, { headers: { "if-none-match": "*" } }],
    [`PUT /-/collections/${own}/definition`, { headers: json, body: rules }],
    [
      `PUT /-/collections/${own}/definition`,
      { headers: { ...json, "if-match": '"none"' }, body: rules },
    ],
    ["GET /-/collections"],
    [`POST /${own}`, { headers: json, body: "{}" }],
    [`PUT /${own}/ada`, { headers: json, body: "{}" }],
    ["GET /-/actions"],
    ["POST /-/actions/echo", { headers: json, body: "{}" }],
    ["PUT /-/access", { headers: json, body: '{"roles":{"reader":["*:read"]}}' }],
    ["PUT /-/access", { headers: { ...json, "if-match": '"none"' }, body: "{}" }],
    ["PUT /-/access", { headers: json, body: '{"roles":1}' }],
    ["GET /-/access"],
    ["GET /-/access", { headers: { "if-none-match": "*" } }],
    ["QUERY /-/access", { headers: json, body: '{"verb":"read","collection":"people"}' }],
    ["GET /-/access/people"],
    [`GET /-/access/people/${id}`, { token: scoped }],
    ["GET /-/queries"],
    ["GET /-/backups"],
    ["GET /-/status"],
    ["GET /-/settings"],
    ["POST /-/settings"],
    ["GET /-/metrics"],
    ["GET /-/me"],
    ["DELETE /-/me/credential", { token: await app.token("people:read") }],
    ["GET /-/tokens"],
    ["POST /-/tokens", { headers: json, body: '{"name":"n","scopes":["*:read"]}' }],
    [`GET /-/tokens/${token}`],
    [`DELETE /-/tokens/${token}`],
    ["GET /-/health", { token: null }],
    ["GET /-/ready", { token: null }],
    ["GET /", { token: null, headers: { accept: "text/html" } }],
    ["GET /-/console", { token: null }],
    ["GET /-/console/icon.svg", { token: null }],
    [
      "POST /-/console/tokens",
      { token: null, headers: json, body: JSON.stringify({ code: await app.code() }) },
    ],
    ["GET /-/docs", { token: null }],
    ["GET /-/created", { token: null }],
    ["GET /-/openapi.json", { token: null }],
    ["GET /-/openapi.json", { token: null, headers: { "if-none-match": "*" } }],
    ["GET /-/problems", { token: null }],
    ["GET /-/problems/not-found", { token: null }],
    ["GET /.well-known/api-catalog", { token: null }],
    ["OPTIONS /people", { token: null }],
    ["OPTIONS /people/x", { token: null, headers: { "access-control-request-method": "PUT" } }],
    ["GET /people/", { token: null }],
    ["GET /people/%ff"],
    ["GET /people?limit=0"],
    ["GET /people?api_key=1"],
    ["GET /people?api_key=1", { token: null }],
    ["POST /people", { headers: json, body: "{" }],
    ["GET /people", { token: null }],
    ["GET /people", { token: "wrong" }],
    ["POST /people", { token: scoped, headers: json, body: "{}" }],
    ["GET /-/tokens", { token: scoped }],
    ["GET /people/no-such-id"],
    ["GET /no/such/address", { token: null }],
    ["DELETE /people", { token: null }],
    ["GET /people", { headers: { accept: "image/png" } }],
    ["POST /people", { headers: json, body: `"${"a".repeat(1_100_000)}"` }],
    [`GET /people/${"a".repeat(8200)}`],
    ["POST /people", { headers: { "content-type": "text/json" }, body: "a" }],
    ["POST /people", { headers: { "content-type": "text/csv" }, body: "a" }],
  ];
  const responses: SampleResponse[] = [];
  for (const [asked, init = {}] of requests) {
    const [method = "", path = ""] = asked.split(" ");
    const fields = { ...Object.fromEntries(new Headers(init.headers)), ...extra };
    const answer = await answerOf(app.request(path, { ...init, method, headers: fields }));
    responses.push({ ...answer, asked: `${asked.slice(0, 80)} → ${answer.status}` });
  }
  return responses;
}
