// Secrets in every position of a request: none is in the log, in a response, in the metrics, the queries or the settings.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { newSecret, type SecretKind } from "../../src/model/secret.ts";
import { send } from "../runtime/raw-connection.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { startApp, type TestApp } from "./app.ts";
import { captureLog } from "./captured-log.ts";

const captured = captureLog();
let app: TestApp;
before(async () => {
  app = await startApp({ adminToken: newSecret() }, captured.log);
  await app.request("/-/collections/files", {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: '{"access":{"read":"anyone","create":"anyone"},"signedUrls":true}',
  });
  await app.post("people", { name: "Ann" });
});
after(() => app.stop());

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Where a secret of any kind can be. A path is logged, so only tokens are recognized in it. */
type Position = (secret: string) => Partial<Sent>;

interface Sent {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly string[];
  readonly body: string;
}

const header =
  (line: (secret: string) => string): Position =>
  (secret) => ({
    headers: [line(secret)],
  });
const query =
  (text: (secret: string) => string): Position =>
  (secret) => ({
    target: `/people?${text(secret)}`,
  });
const posted =
  (type: string, body: (secret: string) => string, target = "/people"): Position =>
  (secret) => ({ method: "POST", target, headers: [`Content-Type: ${type}`], body: body(secret) });

const part = (fields: string, content: string) =>
  `--b\r\nContent-Disposition: form-data; ${fields}\r\n\r\n${content}\r\n--b--\r\n`;

const positions: Readonly<Record<string, Position>> = {
  bearer: header((secret) => `Authorization: Bearer ${secret}`),
  "lower case scheme": header((secret) => `authorization: bearer ${secret}`),
  "no scheme": header((secret) => `Authorization: ${secret}`),
  "other scheme": header((secret) => `Authorization: Token ${secret}`),
  "two spaces": header((secret) => `Authorization: Bearer  ${secret} ${secret}`),
  basic: header((secret) => `Authorization: Basic ${base64(`ann:${secret}`)}`),
  digest: header((secret) => `Authorization: Digest username="ann", response="${secret}"`),
  "two lines": (secret) => ({
    headers: [`Authorization: Bearer ${secret}`, `Authorization: Bearer ${secret}x`],
  }),
  "space before the colon": header((secret) => `Authorization : Bearer ${secret}`),
  "folded line": header((secret) => `Authorization: Bearer\r\n ${secret}`),
  "proxy authorization": header((secret) => `Proxy-Authorization: Basic ${base64(secret)}`),
  cookie: header((secret) => `Cookie: session=${secret}; other=1`),
  "api key": header((secret) => `X-Api-Key: ${secret}`),
  "header name": header((secret) => `X-${secret}: 1`),
  referer: header((secret) => `Referer: http://ann:${secret}@a.test/?token=${secret}`),
  origin: header((secret) => `Origin: http://${secret}.test`),
  "user agent": header((secret) => `User-Agent: ${secret}`),
  "request id": header((secret) => `X-Request-Id: ${secret}`),
  traceparent: header((secret) => `traceparent: 00-${secret}-01`),
  "forwarded for": header((secret) => `X-Forwarded-For: ${secret}`),
  host: header((secret) => `Host: ${secret}@x`),
  expect: header((secret) => `Expect: ${secret}`),
  accept: header((secret) => `Accept: ${secret}/x`),
  "accept encoding": header((secret) => `Accept-Encoding: ${secret}`),
  "if-match": (secret) => ({
    method: "DELETE",
    target: "/people/1",
    headers: [`If-Match: "${secret}"`],
  }),
  prefer: header((secret) => `Prefer: ${secret}`),
  range: header((secret) => `Range: ${secret}=0-1`),
  "idempotency key": (secret) => ({
    ...posted("application/json", () => "{}")(secret),
    headers: ["Content-Type: application/json", `Idempotency-Key: "${secret}"`],
  }),
  "content type": posted("application/json", () => "{}", "/people"),
  "unknown content type": (secret) => posted(`text/${secret}`, () => "x")(secret),
  boundary: (secret) => posted(`multipart/form-data; boundary=${secret}`, () => "x")(secret),
  "user information": (secret) => ({ target: `http://ann:${secret}@localhost/people` }),
  "value of a parameter": query((secret) => `name=${secret}`),
  "value of a page": query((secret) => `limit=${secret}`),
  "value of a cursor": query((secret) => `after=${secret}&before=${secret}`),
  "name of a parameter": query((secret) => `${secret}=1`),
  "name of a field": query((secret) => `sort=${secret}&fields=${secret}`),
  "an operator": query((secret) => `name[${secret}]=1`),
  "a search": query((secret) => `q=${secret}`),
  "access token": query((secret) => `access_token=${secret}&password=${secret}&api_key=${secret}`),
  "signed URL": (secret) => ({ target: `/files/1/a?signature=${secret}&expires=1&key=${secret}` }),
  "redirected query": (secret) => ({ target: `/people/?name=${secret}` }),
  fragment: (secret) => ({ target: `/people#${secret}` }),
  "JSON value": posted("application/json", (secret) => JSON.stringify({ card: secret })),
  "JSON name": posted("application/json", (secret) => JSON.stringify({ [secret]: 1 })),
  "JSON that ends early": posted("application/json", (secret) => `{"card":"${secret}`),
  "JSON with a word": posted("application/json", (secret) => `{"card":${secret}}`),
  "body of no object": posted("application/json", (secret) => JSON.stringify(secret)),
  form: posted("application/x-www-form-urlencoded", (secret) => `card=${secret}`),
  "field of a form": posted(
    "application/x-www-form-urlencoded",
    (secret) => `${secret}=1&${secret}=2`,
  ),
  "part of a form": posted("multipart/form-data; boundary=b", (secret) =>
    part('name="card"', secret),
  ),
  "name of a part": posted("multipart/form-data; boundary=b", (secret) =>
    part(`name="${secret}"`, "1"),
  ),
  "name of a file": posted("multipart/form-data; boundary=b", (secret) =>
    part(`name="card"; filename="${secret}"`, secret),
  ),
  lines: posted("application/x-ndjson", (secret) => `{"card":"${secret}"}\n{"card":${secret}}\n`),
  csv: posted("text/csv", (secret) => `card\n${secret}\n"${secret}\n`),
  batch: posted("application/json", (secret) => JSON.stringify([{ [secret]: secret }]), "/-/batch"),
  definition: (secret) => ({
    ...posted(
      "application/json",
      () => JSON.stringify({ [secret]: { secret } }),
      "/-/collections/x",
    )(secret),
    method: "PUT",
  }),
  "name of a token": posted(
    "application/json",
    (secret) => JSON.stringify({ name: 1, scopes: [secret] }),
    "/-/tokens",
  ),
  "code of a sign-in link": posted(
    "application/json",
    (secret) => JSON.stringify({ code: secret }),
    "/-/console/tokens",
  ),
  upload: (secret) => ({ target: `/-/uploads/${secret.replaceAll(/\W/g, "")}${"0".repeat(20)}` }),
  settings: posted(
    "application/json",
    (secret) => JSON.stringify({ adminToken: secret }),
    "/-/settings",
  ),
};

/** In a path only what the server has made is known to be a secret. */
const inPaths: Readonly<Record<string, Position>> = {
  id: (secret) => ({ target: `/people/${secret}` }),
  "id in capital letters": (secret) => ({
    target: `/people/${secret.slice(0, 4).toUpperCase()}${secret.slice(4)}`,
  }),
  "encoded capital letter": (secret) => ({ target: `/people/r%53${secret.slice(2)}` }),
  "encoded id": (secret) => ({ target: `/people/%72${secret.slice(1)}` }),
  collection: (secret) => ({ target: `/${secret}` }),
  file: (secret) => ({ target: `/people/1/${secret}` }),
  "id of a token": (secret) => ({ target: `/-/tokens/${secret}` }),
  action: (secret) => ({ method: "POST", target: `/-/actions/${secret}` }),
  "malformed path": (secret) => ({ target: `/people/%ff${secret}` }),
  method: (secret) => ({ method: secret }),
};

/** As a request that a client could send; some of them are no HTTP. */
function textOf({
  method = "GET",
  target = "/people",
  headers = [],
  body = "",
}: Partial<Sent>): string {
  const host = headers.some((line) => /^host/i.test(line)) ? [] : ["Host: localhost"];
  const isOwn = headers.some((line) => /^authorization/i.test(line));
  const caller = isOwn ? [] : [`Authorization: Bearer ${app.admin}`];
  const length = body === "" ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  const head = [`${method} ${target} HTTP/1.1`, ...host, ...caller, ...headers, ...length];
  return `${[...head, "Connection: close"].join("\r\n")}\r\n\r\n${body}`;
}

describe("a secret", () => {
  const random = randomNumbers(newSeed("secrets in requests"));
  const letters = (count: number) =>
    Array.from({ length: count }, () => "bcdfghjkmnpqrstvwxz"[Math.floor(random() * 19)]).join("");
  const secrets: string[] = [];
  const make = (kind?: SecretKind): string => {
    const made = kind ? newSecret(kind) : `s3cr3t${letters(12)}`;
    // Without the prefix of its kind, which may be spelled in another way.
    secrets.push(made.replace(/^rs._/, ""), base64(made).replaceAll("=", "").slice(0, -2));
    return made;
  };

  it("is in no line of the log and in no list of the server, wherever a request has it", async () => {
    for (let turn = 0; turn < runs(1, 10); turn++) {
      for (const place of Object.values(positions))
        for (const kind of ["rst", undefined] as const)
          await send(app.port, textOf(place(make(kind))));
      for (const place of Object.values(inPaths))
        for (const kind of ["rst", "rsc"] as const) await send(app.port, textOf(place(make(kind))));
      // Two positions at once, as a careless client sends them.
      const places = Object.values(positions);
      const any = (): Position => places[Math.floor(random() * places.length)] ?? (() => ({}));
      for (let pair = 0; pair < 20; pair++) {
        const [one, other] = [any()(make("rst")), any()(make())];
        const headers = [...(one.headers ?? []), ...(other.headers ?? [])];
        await send(app.port, textOf({ ...other, ...one, headers }));
      }
    }
    await captured.settled();
    const lists = await Promise.all(
      ["/-/queries", "/-/metrics", "/-/settings"].map(async (path) =>
        (await app.request(path)).text(),
      ),
    );
    const shown = {
      log: captured.text(),
      queries: lists[0],
      metrics: lists[1],
      settings: lists[2],
    };
    assert.ok(captured.lines().length > 100);
    for (const [where, text = ""] of Object.entries(shown))
      for (const secret of [...secrets, app.admin])
        assert.ok(!text.includes(secret), `${where}: ${secret}\n${lineWith(text, secret)}`);
  });
});

const lineWith = (text: string, secret: string): string | undefined =>
  text.split("\n").find((line) => line.includes(secret));
