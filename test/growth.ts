// How the steps of a request grow with what is sent: prints them for n, 2n and 4n, a JSON array on each line. For Node.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { responseOf } from "../src/lib/reply.ts";
import { addFileMembers } from "../src/model/file.ts";
import { system } from "../src/model/principal.ts";
import { separateFiles } from "../src/model/retained-files.ts";
import { assemble } from "../src/server/app.ts";
import { defaultConfig } from "../src/server/config.ts";
import { createLog } from "../src/server/log.ts";
import { randomNumbers } from "./seeds.ts";
import { StepCounter } from "./step-counter.ts";

/** How a request is made of a text. */
type Shape = (text: string) => { readonly path: string; readonly init?: RequestInit };

const json = { "content-type": "application/json" };
const form = { "content-type": "application/x-www-form-urlencoded" };
const multipart = { "content-type": "multipart/form-data; boundary=b" };
/** A part that makes the form invalid at its end. */
const refusedPart = '--b\r\nContent-Disposition: form-data; name="id"\r\n\r\n1\r\n';
const partHeader = '--b\r\nContent-Disposition: form-data; name="a"';
const wrongDigest = { "content-digest": `sha-256=:${"A".repeat(43)}=:` };
const post = (
  headers: Readonly<Record<string, string>>,
  body: string,
  path = "/things",
): ReturnType<Shape> => ({
  path,
  init: { method: "POST", headers, body },
});
const get = (headers: Readonly<Record<string, string>>, path = "/things/a"): ReturnType<Shape> => ({
  path,
  init: { headers },
});
const query = (question: unknown): ReturnType<Shape> => ({
  path: "/things",
  init: { method: "QUERY", headers: json, body: JSON.stringify(question) },
});
const patch = (kind: string, body: string): ReturnType<Shape> => ({
  path: "/things/a",
  init: { method: "PATCH", headers: { "content-type": `application/${kind}+json` }, body },
});

/** Every field, parameter and body that a request may have, with a text that is read there. */
const shapes: Readonly<Record<string, readonly [sample: string, shape: Shape]>> = {
  accept: ["text/html;q=0.5,*/*", (text) => get({ accept: text })],
  "accept of a form": ["text/html", (text) => post({ ...form, accept: text }, "a=1&id=2")],
  "accept-encoding": ["gzip;q=0.5, br", (text) => get({ "accept-encoding": text })],
  authorization: ["Bearer a, b", (text) => get({ authorization: text })],
  "content-digest": [
    "sha-256=:YQ==:;a=b",
    (text) => post({ ...json, "content-digest": text }, "{}"),
  ],
  "content-disposition": [
    "attachment; filename=\"a.png\"; filename*=UTF-8''a",
    (text) => post({ "content-type": "image/png", "content-disposition": text }, "a"),
  ],
  "content-encoding": ["gzip, br", (text) => post({ ...json, "content-encoding": text }, "{}")],
  "content-type": [
    'application/json; charset="utf-8"',
    (text) => post({ "content-type": text }, "{}"),
  ],
  "content-type of a file": ["image/png; a=b", (text) => post({ "content-type": text }, "a")],
  cookie: ["a=b", (text) => get({ cookie: text })],
  forwarded: ['for="[::1]";proto=http', (text) => get({ forwarded: text })],
  "x-forwarded-for": ["1.2.3.4, 127.0.0.1", (text) => get({ "x-forwarded-for": text })],
  "x-forwarded-host": ["a.example", (text) => get({ "x-forwarded-host": text })],
  "x-forwarded-proto": ["https, http", (text) => get({ "x-forwarded-proto": text })],
  "idempotency-key": ['"a"', (text) => post({ ...json, "idempotency-key": text }, "[]")],
  "if-match": ['"a", W/"b"', (text) => get({ "if-match": text })],
  "if-none-match": ['"a", W/"b"', (text) => get({ "if-none-match": text })],
  "if-modified-since": [
    "Sun, 06 Nov 1994 08:49:37 GMT",
    (text) => get({ "if-modified-since": text }),
  ],
  "if-range": ['"a"', (text) => get({ range: "bytes=0-", "if-range": text })],
  origin: ["https://a.example", (text) => get({ origin: text })],
  prefer: ['return="minimal"; a=b, c', (text) => post({ ...json, prefer: text }, "[]")],
  range: ["bytes=0-1", (text) => get({ range: text })],
  "preflight headers": [
    "a, b",
    (text) => ({
      path: "/things/a",
      init: {
        method: "OPTIONS",
        headers: {
          origin: "https://a.example",
          "access-control-request-method": "PUT",
          "access-control-request-headers": text,
        },
      },
    }),
  ],
  "x-request-id": ["a", (text) => get({ "x-request-id": text })],
  path: ["a", (text) => get({}, `/things/${encodeURI(text)}`)],
  "query string": ["a=b&c", (text) => get({}, `/things?${encodeURI(text)}`)],
  "name of a filter": ["a[like]", (text) => get({}, `/things?${encodeURIComponent(text)}=1`)],
  "feed with others": ["a&b", (text) => get({}, `/things?since=0&${encodeURI(text)}`)],
  filter: ["a*b", (text) => get({}, `/things?text[like]=${encodeURIComponent(text)}`)],
  "in filter": ["1,2", (text) => get({}, `/things?text[in]=${encodeURIComponent(text)}`)],
  "number filter": ["1e5", (text) => get({}, `/things?a=${encodeURIComponent(text)}`)],
  sort: ["a,-b", (text) => get({}, `/things?sort=${encodeURIComponent(text)}`)],
  fields: ["a.b,c", (text) => get({}, `/things?fields=${encodeURIComponent(text)}`)],
  cursor: ["abc", (text) => get({}, `/things?cursor=${encodeURIComponent(text)}`)],
  search: ["a b*", (text) => get({}, `/things?q=${encodeURIComponent(text)}`)],
  "like in a body": ["*a", (text) => query({ where: { text: { like: text } } })],
  "fields in a body": ["a.b", (text) => query({ fields: [text] })],
  "sort in a body": ["a.b", (text) => query({ sort: text })],
  "field in a body": ["a.b", (text) => query({ where: { [text]: 1 } })],
  "search in a body": ["a b", (text) => query({ q: text })],
  "cursor in a body": ["abc", (text) => query({ cursor: text })],
  json: ['{"a":[1,{"b":"c"}]}', (text) => post(json, text)],
  "a text in json": ["a", (text) => post(json, JSON.stringify({ text, id: 1 }))],
  "a name in json": ["a", (text) => post(json, JSON.stringify({ [text]: 1, id: 1 }))],
  "a number in json": ["1.5e3", (text) => post(json, `{"n":${text}}`)],
  form: ["a[b]=c&d.e=1", (text) => post(form, `${text}&id=1`, "/typed")],
  "a name in a form": [
    "a[b].c",
    (text) => post(form, `${encodeURIComponent(text)}=1&id=1`, "/typed"),
  ],
  multipart: [
    `${partHeader}\r\n\r\nx\r\n`,
    (text) => post(multipart, `${refusedPart}${text}--b--`),
  ],
  "header of a part": [
    "\r\nX: y",
    (text) => post(multipart, `${refusedPart}${partHeader}${text}\r\n\r\n\r\n--b--`),
  ],
  "disposition of a part": [
    '; filename="a"',
    (text) => post(multipart, `${refusedPart}${partHeader}${text}\r\n\r\n\r\n--b--`),
  ],
  "text of a part": [
    "\r\n--",
    (text) => post(multipart, `${refusedPart}${partHeader}\r\n\r\n${text}\r\n--b--`),
  ],
  "plain text": [
    '{"a":1}\n',
    (text) => post({ "content-type": "text/plain", ...wrongDigest }, text),
  ],
  ndjson: ['{"id":1}\n', (text) => post({ "content-type": "application/x-ndjson" }, text)],
  "merge patch": ['{"a":{"b":null}}', (text) => patch("merge-patch", text)],
  "json patch": ['[{"op":"test","path":"/a~1b","value":1}]', (text) => patch("json-patch", text)],
  "json pointer": [
    "/a/b",
    (text) => patch("json-patch", JSON.stringify([{ op: "test", path: text, value: 1 }])),
  ],
  batch: [
    '{"operations":[{"method":"DELETE","path":"/things/none"}]}',
    (text) => post(json, text, "/-/batch"),
  ],
  "path in a batch": [
    "/things/none",
    (text) =>
      post(json, JSON.stringify({ operations: [{ method: "DELETE", path: text }] }), "/-/batch"),
  ],
  "query in a batch": [
    "text=a",
    (text) => {
      const path = `/things?${encodeURI(text)}`;
      return post(
        json,
        JSON.stringify({ operations: [{ method: "PUT", path, body: {} }] }),
        "/-/batch",
      );
    },
  ],
  definition: [
    '{"schema":{"properties":{"a":{}}}}',
    (text) => ({
      path: "/-/collections/others",
      init: { method: "PUT", headers: json, body: text },
    }),
  ],
};

/** What repeats. Together they hold what any parser here looks at. */
const units = [
  ...[
    " ",
    "\t",
    ",",
    ";",
    "=",
    '"',
    "\\",
    "a",
    "1",
    "0",
    "*",
    "/",
    ".",
    "-",
    ":",
    "&",
    "%",
    "[",
    "{",
  ],
  ...[
    "a,",
    "a;",
    "a=",
    "a=b,",
    "a=b;",
    ' "',
    '",',
    '";',
    '\\"',
    '"a"',
    '"a",',
    '"a',
    "a ",
    " ,",
    ", ",
  ],
  ...[
    "a/b,",
    "a/b;q=1,",
    "a.",
    "a*",
    "*a",
    "[a]",
    "%41",
    "~1",
    "/a",
    "1,",
    "00",
    "e1",
    "a&",
    "a=1&",
  ],
  ...[
    "[1,",
    '{"a":',
    '"b":1,',
    "\\u0041",
    "\n",
    "\r\n",
    "\r\n--",
    "\r\n--b",
    "X: y\r\n",
    "1.2.3.4,",
    "http,",
    "W/",
    "rst_",
    "::",
    "é",
    "^a+",
  ],
];

/** Before, within and behind the sample; or alone. */
const placements: readonly ((sample: string, long: string) => string)[] = [
  (_, long) => long,
  (sample, long) => sample + long,
  (sample, long) => long + sample,
  (sample, long) => sample.slice(0, sample.length / 2) + long + sample.slice(sample.length / 2),
  (sample, long) => `${long}!${sample}`,
  (sample, long) => `${sample}${long}\u007f`,
];

const [seedText = "1", countText = "100", only] = process.argv.slice(2);
const random = randomNumbers(Number(seedText));
const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;

const data = await mkdtemp(join(tmpdir(), "restante-growth-"));
const config = {
  ...defaultConfig,
  data,
  logLevel: "silent",
  trustedProxies: ["127.0.0.1"],
} as const;
const app = await assemble(config, createLog("silent"), undefined, undefined);
const made = await app.tokens.create(system, {
  name: "growth",
  scopes: ["admin"],
  expiresAt: null,
});
const authorization = `Bearer ${"secret" in made ? made.secret : ""}`;

async function send(path: string, init: RequestInit = {}): Promise<void> {
  const headers = new Headers(init.headers);
  if (!headers.has("authorization")) headers.set("authorization", authorization);
  const { body } = init;
  if (typeof body === "string") headers.set("content-length", `${Buffer.byteLength(body)}`);
  const request = new Request(`http://localhost${path}`, { ...init, headers });
  const reply = await app.fetch(request, { peerAddress: () => "127.0.0.1" });
  await responseOf(reply).text();
}

/** Undefined for what no request can hold. */
async function tryToSend(shape: Shape, text: string): Promise<"sent" | undefined> {
  try {
    const { path, init } = shape(text);
    new Request(`http://localhost${path}`, init);
    await send(path, init);
    return "sent";
  } catch (error) {
    if (error instanceof TypeError || error instanceof URIError) return undefined;
    throw error;
  }
}

const schema = {
  properties: {
    text: { type: "string" },
    a: { type: ["object", "number"], properties: { b: { type: "object", properties: { c: {} } } } },
    id: false,
  },
};
const define = (name: string, definition: object) =>
  send(`/-/collections/${name}`, {
    method: "PUT",
    headers: json,
    body: JSON.stringify(definition),
  });
await define("things", { searchable: ["text"], indexed: ["text"] });
await define("typed", { schema });
await send("/things/a", {
  method: "PUT",
  headers: json,
  body: JSON.stringify({ text: "a".repeat(50), a: 1 }),
});

const counter = new StepCounter((url) => /\/src\/|\/node_modules\/|\/growth\.ts$/.test(url));
const sizes = [250, 500, 1_000];

/** A parser that goes back to the start for every character: the counter must find it out. */
async function slowParser(text: string): Promise<number> {
  let found = 0;
  for (let end = 0; end < text.length; end++)
    for (let at = 0; at < end; at++) if (text[at] === ",") found++;
  return found;
}

/** The same with a built-in function. */
async function slowSearch(text: string): Promise<number> {
  let found = 0;
  for (let size = 0; size < text.length; size++) found += text.indexOf("!") + size;
  return found;
}

for (const slow of [slowParser, slowSearch]) {
  const steps: number[] = [];
  for (const size of sizes) steps.push(await counter.count(() => slow("a".repeat(size))));
  console.log(JSON.stringify([slow.name, "a", 0, ...steps]));
}

/** A list of files that a client sends back as it was shown, the last one first. */
async function filesSentBack(count: number, isEqual: boolean): Promise<void> {
  const files = Array.from({ length: count }, (_, index) => ({
    ...{ slot: `docs.${index + 1}`, name: isEqual ? "a" : `${index}`, type: "text/css", size: 1 },
    ...{ sha256: "a".repeat(64), key: `${index}` },
  }));
  const fields = addFileMembers("{}", files.toReversed(), "/things/a");
  const { length } = separateFiles(fields, files).files;
  if (length !== count) throw new Error(`${length} of ${count} files were recognized`);
}

for (const isEqual of [false, true]) {
  const steps: number[] = [];
  for (const size of sizes) steps.push(await counter.count(() => filesSentBack(size, isEqual)));
  console.log(JSON.stringify(["files", isEqual ? "equal" : "other", 0, ...steps]));
}

const names = only === undefined ? Object.keys(shapes) : [only];
const cases =
  countText === "all"
    ? names.flatMap((name) =>
        units.flatMap((unit) => placements.map((_, at) => [name, unit, at] as const)),
      )
    : Array.from(
        { length: Number(countText) },
        () => [pick(names), pick(units), Math.floor(random() * placements.length)] as const,
      );
for (const [name, unit, at] of cases) {
  const [sample, shape] = shapes[name] ?? ["", () => ({ path: "/" })];
  const textOf = (size: number) => placements[at]?.(sample, unit.repeat(size)) ?? "";
  // What is made once is made before anything is counted.
  if ((await tryToSend(shape, textOf(10))) === undefined) continue;
  const steps: number[] = [];
  for (const size of sizes) steps.push(await counter.count(() => tryToSend(shape, textOf(size))));
  console.log(JSON.stringify([name, unit, at, ...steps]));
}
await app.close();
await rm(data, { recursive: true });
