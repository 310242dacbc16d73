// The log: one line per request, without secrets.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { newSecret } from "../../src/model/secret.ts";
import { send } from "../runtime/raw-connection.ts";
import { isLong } from "../seeds.ts";
import { startApp, type TestApp } from "./app.ts";
import { captureLog } from "./captured-log.ts";
import { requestEverything } from "./every-response.ts";
import { answerOf } from "./expect.ts";

const captured = captureLog();
let app: TestApp;
before(async () => {
  app = await startApp({}, captured.log);
});
after(() => app.stop());

const percent = (character: string): string =>
  `%${character.charCodeAt(0).toString(16).padStart(2, "0")}`;

/** What hides a secret from who looks for its characters alone. */
const encodings: readonly ((secret: string) => string)[] = [
  (secret) => [...secret].map(percent).join(""),
  (secret) => percent(secret[0] ?? "") + secret.slice(1),
  (secret) => secret.slice(0, 20) + percent(secret[20] ?? "").toUpperCase() + secret.slice(21),
  (secret) => `${secret.slice(0, 3)}%5F${secret.slice(4)}`,
  (secret) => percent(secret[0] ?? "").replace("%", "%25") + secret.slice(1),
  (secret) => [...secret].map((each) => percent(each).replace("%", "%252525")).join(""),
];

function decodedFully(text: string): string {
  let decoded = text;
  for (let times = 0; times < 6; times++)
    decoded = decoded.replaceAll(/%([2-7][0-9a-f])/gi, (_, hex) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
  return decoded;
}

async function lineOf(requestId: string | null | undefined) {
  await captured.settled();
  return captured.lines().find((line) => line.requestId === requestId);
}

describe("the log", () => {
  it("has a line for each request, with the id of the response", async () => {
    const { headers } = await app.request("/people/ada?page=1");
    const { level, time, requestId, method, path, token, ms, status, client, ...rest } =
      (await lineOf(headers.get("x-request-id"))) ?? {};
    assert.deepEqual([method, path, status], ["GET", "/people/ada", 400]);
    assert.ok(typeof token === "string" && typeof ms === "number" && ms >= 0);
    assert.ok(level && time && requestId);
    assert.equal(client, "127.0.0.1");
    assert.deepEqual(rest, { problem: "invalid-parameter" });
  });

  it("says why a request was rejected, and who the caller is", async () => {
    const made = await app.request("/-/tokens", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"name":"named","subject":"ann \\"1\\"","scopes":["people:read"]}',
    });
    const { id, token } = (await made.json()) as { id: string; token: string };
    await app.post("people", { name: "Ada" });
    const answer = await answerOf(app.request("/people?limit=abc", { token }));
    const line = await lineOf(answer.headers.get("x-request-id") ?? undefined);
    assert.equal(line?.status, 400);
    assert.equal(line?.problem, "invalid-parameter");
    assert.equal(line?.token, id);
    assert.equal(line?.subject, 'ann "1"');
  });

  it("has a line for what the parser rejects", async () => {
    const { responses } = await send(app.port, "GET / HTTP/1.1\r\nHost : x\r\n\r\n");
    const line = await lineOf(responses[0]?.headers["x-request-id"]);
    assert.equal(line?.status, 400);
  });

  it("has a line for OPTIONS *, whose response has the fields of every response", async () => {
    const { responses } = await send(app.port, "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
    const [{ status, headers } = assert.fail("no response")] = responses;
    const line = await lineOf(headers["x-request-id"]);
    assert.deepEqual([line?.method, line?.path, line?.status], ["OPTIONS", "*", 204]);
    assert.deepEqual(
      [status, headers["cache-control"], headers.allow],
      [204, "no-store", undefined],
    );
    assert.equal(headers["access-control-allow-origin"], "*");
  });

  it("never contains a token, a query or a body", async () => {
    const strange = newSecret();
    const made = await app.request("/-/tokens", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"name":"made","scopes":["admin"]}',
    });
    const { token } = (await made.json()) as { token: string };
    const secrets = [app.admin, strange, token];
    for (const secret of secrets) {
      const targets = [
        `/people?access_token=${secret}`,
        `/people/?token=${secret}`,
        `/people?${secret}`,
        `/people/${secret}`,
        `/${secret}/${secret}`,
        `/-/tokens/${secret}`,
        `/nowhere/at/all/${secret}`,
        ...encodings.flatMap((encode) => [
          `/people/${encode(secret)}`,
          `/${encode(secret)}/a`,
          `/people/a/${encode(secret)}`,
          `/people/${encode(secret)}/`,
          `/-/tokens/${encode(secret)}`,
          `/people?name=${encode(secret)}`,
          `/people?${encode(secret)}=1`,
        ]),
      ];
      for (const [index, target] of targets.entries()) {
        for (const method of ["GET", "OPTIONS", "DELETE"]) {
          const tokens = [undefined, null, strange];
          // One of them for each target in `npm test`: each is in turn with each spelling.
          const tried = isLong ? tokens : [tokens[index % tokens.length]];
          for (const token of tried) {
            const answer = await answerOf(
              app.request(target, { method, ...(token === undefined ? {} : { token }) }),
            );
            const reported = decodedFully(JSON.stringify([...answer.headers]) + answer.body);
            assert.ok(!reported.includes(secret), `${method} ${target}: ${reported}`);
          }
        }
      }
      const lines = [
        `GET /people HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\nAuthorization: Bearer ${secret}\r\n\r\n`,
        `GET /people/%ff${secret} HTTP/1.1\r\nHost: x\r\n\r\n`,
        `GET http://${secret}@localhost/people HTTP/1.1\r\nHost: ${secret}@x\r\n\r\n`,
        `GET /people?q=hunter2 HTTP/1.1\r\nHost: x\r\nAuthorization : ${secret}\r\n\r\n`,
      ];
      for (const line of lines) await send(app.port, line);
    }
    await app.request("/people?password=hunter2");
    await app.request("/people?q=hunter2&limit=hunter2");
    await app.post("people", { card: "hunter2" });
    await requestEverything(app);
    await captured.settled();
    const text = decodedFully(captured.text());
    assert.ok(captured.lines().length > 100);
    for (const secret of [...secrets, "hunter2"]) assert.ok(!text.includes(secret), secret);
  });

  it("has a line for a probe only when it fails", async () => {
    const lines: unknown[] = [];
    for (const path of ["/-/health", "/-/ready"])
      for (const method of ["GET", "HEAD", "OPTIONS", "DELETE"]) {
        const { headers } = await app.request(path, { method });
        lines.push((await lineOf(headers.get("x-request-id")))?.status);
      }
    const each = [undefined, undefined, undefined, 405];
    assert.deepEqual(lines, [...each, ...each]);
  });

  it("has a request id of its own for each request, whatever the client sends", async () => {
    const ids = new Set<string>();
    const questions = Array.from({ length: 300 }, () =>
      answerOf(app.request("/-/health", { headers: { "x-request-id": "mine" } })),
    );
    for (const { headers } of await Promise.all(questions))
      ids.add(headers.get("x-request-id") ?? "");
    for (const { headers } of await requestEverything(app))
      ids.add(headers.get("x-request-id") ?? "");
    assert.ok(ids.size > 330, `${ids.size}`);
    assert.ok(!ids.has("mine") && !ids.has(""));
  });
});
