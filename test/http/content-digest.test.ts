// Content-Digest (RFC 9530): a body that does not match its digest is rejected.
// @runtimes node

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { assertProblem } from "./expect.ts";
import { rawRequest } from "./raw-request.ts";

const digestOf = (algorithm: "sha-256" | "sha-512", bytes: string | Uint8Array): string =>
  `${algorithm}=:${createHash(algorithm.replace("-", "")).update(bytes).digest("base64")}:`;

let app: TestApp;
let client: Client;
before(async () => {
  app = await startApp();
  client = new Client(app);
  await client.putAndReadTag("/notes/a", { n: 0 });
});
after(() => app.stop());

type Fields = Readonly<Record<string, string>>;

const post = (body: string | Uint8Array | string[], digest: string, fields: Fields = {}) =>
  rawRequest(app, "/notes", {
    method: "POST",
    headers: { "content-type": "application/json", "content-digest": digest, ...fields },
    body,
  });

describe("Content-Digest", () => {
  const body = '{"name":"Zoë"}';
  const right = digestOf("sha-256", body);
  const other = digestOf("sha-256", `${body} `);

  it("that matches is accepted", async () => {
    for (const digest of [
      right,
      digestOf("sha-512", body),
      `${right}, ${digestOf("sha-512", body)}`,
      `${other},${right}`,
      `${right};a=1;b`,
      right.replace(/=+:$/, ":"),
    ]) {
      const answer = await post(body, digest);
      assert.equal(answer.status, 201, `${digest} ${answer.body}`);
    }
    const pieces = [...body];
    assert.equal((await post(pieces, right)).status, 201);
  });

  it("that does not match prevents the write", async () => {
    for (const digest of [
      other,
      digestOf("sha-512", "{}"),
      `${right}, ${digestOf("sha-512", "{}")}`,
      `${right}, ${other}`,
      "sha-256=:YQ==:",
      "sha-256=::",
    ]) {
      const ask = () => post(body, digest);
      const { detail, errors } = await client.rejects("notes", "invalid-body", ask);
      assert.match(detail, /Content-Digest/);
      assert.match(errors?.[0]?.detail ?? "", /sha-(256|512)=:/);
    }
  });

  it("that is malformed is rejected", async () => {
    for (const digest of [
      "",
      "sha-256",
      `sha-256=${right}`,
      "sha-256=abc",
      "sha-256=:a b:",
      `${right},`,
      // An expression that tries every way to divide it would never end.
      `${right}${";a=b".repeat(60)}"${";a=b".repeat(15)},`,
      `${right}${"; ".repeat(150)}`,
    ]) {
      await client.rejects("notes", "malformed-request", () => post(body, digest));
    }
  });

  it("of an unknown or insecure algorithm is ignored", async () => {
    for (const digest of ["md5=:AAAA:", "sha-999=:AAAA:", "unixsum=:AAAA:, crc32c=:AAAA:"]) {
      assert.equal((await post(body, digest)).status, 201);
    }
    await client.rejects("notes", "invalid-body", () => post(body, `md5=:AAAA:, ${other}`));
  });

  it("is of the content as it was sent, before decoding", async () => {
    const encoded = gzipSync(body);
    const fields = { "content-encoding": "gzip" };
    assert.equal((await post(encoded, digestOf("sha-256", encoded), fields)).status, 201);
    await client.rejects("notes", "invalid-body", () => post(encoded, right, fields));
  });

  it("is checked for every kind of body", async () => {
    const asked = (method: string, path: string, text: string, digest: string) =>
      rawRequest(app, path, {
        method,
        headers: { "content-type": "application/json", "content-digest": digest },
        body: text,
      });
    const bodies: readonly (readonly [string, string, string])[] = [
      ["PUT", "/notes/a", '{"n":1}'],
      ["PATCH", "/notes/a", '{"n":2}'],
      ["QUERY", "/notes", "{}"],
      ["POST", "/-/batch", '{"operations":[{"method":"POST","path":"/notes","body":{}}]}'],
    ];
    for (const [method, path, text] of bodies) {
      const wrong = () => asked(method, path, text, other);
      await client.rejects("notes", "invalid-body", wrong);
      assert.ok((await asked(method, path, text, digestOf("sha-256", text))).status < 300, method);
    }
  });

  it("of NDJSON is checked before anything is stored, or reported at the end", async () => {
    const lines = '{"n":1}\n{"n":2}\n';
    const many = (path: string, digest: string) =>
      rawRequest(app, path, {
        method: "POST",
        headers: { "content-type": "application/x-ndjson", "content-digest": digest },
        body: lines,
      });
    await client.rejects("notes", "invalid-body", () => many("/notes?atomic=true", other));
    assert.equal((await many("/notes?atomic=true", digestOf("sha-256", lines))).status, 200);

    const { status, body: text } = await many("/lines", other);
    assert.equal(status, 200);
    const reported = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      reported.map(({ line, status }) => [line, status]),
      [
        [1, 201],
        [2, 201],
        [undefined, 400],
      ],
    );
    assert.match(reported[2].problem.detail, /Content-Digest/);
    assert.equal(await app.total("lines"), 2);
  });

  it("that is malformed is rejected for NDJSON, too", async () => {
    const answer = await rawRequest(app, "/lines", {
      method: "POST",
      headers: { "content-type": "application/x-ndjson", "content-digest": "sha-256" },
      body: "{}\n",
    });
    assertProblem(answer, "malformed-request");
  });
});
