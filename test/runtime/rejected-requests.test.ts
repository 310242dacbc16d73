// Requests that are rejected before the application: with a problem.
// @runtimes both

import assert from "node:assert/strict";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { send } from "./raw-connection.ts";
import { maxHeaderBytes, start, type TestServer } from "./test-server.ts";

interface Case {
  readonly title: string;
  readonly bytes: string | Uint8Array | readonly string[];
  readonly halfClose?: true;
  readonly status: number;
  /** A part of the detail, where it matters. */
  readonly detail?: RegExp;
}

const get = (target: string, ...fields: string[]) =>
  [`GET ${target} HTTP/1.1`, ...fields, "", ""].join("\r\n");
const post = (...fields: string[]) =>
  ["POST /a HTTP/1.1", "Host: a", ...fields, "", ""].join("\r\n");
const chunked = (body: string) => `${post("Transfer-Encoding: chunked")}${body}`;
const host = "Host: a";

const hosts: readonly Case[] = [
  { title: "no Host", bytes: get("/a"), status: 400 },
  {
    title: "two equal Hosts",
    bytes: get("/a", host, host),
    status: 400,
  },
  {
    title: "Host: a b",
    bytes: get("/a", "Host: a b"),
    status: 400,
  },
  {
    title: "Host: a/b",
    bytes: get("/a", "Host: a/b"),
    status: 400,
  },
  {
    title: "Host: u@h",
    bytes: get("/a", "Host: u@h"),
    status: 400,
  },
  {
    title: "Host: h:99999",
    bytes: get("/a", "Host: h:99999"),
    status: 400,
  },
  {
    title: "Host is empty",
    bytes: get("/a", "Host:"),
    status: 400,
  },
  {
    title: "user information in an absolute target",
    bytes: get("http://u:p@h/", host),
    status: 400,
  },
];

const framing: readonly Case[] = [
  {
    title: "Content-Length and Transfer-Encoding",
    bytes: `${post("Content-Length: 5", "Transfer-Encoding: chunked")}0\r\n\r\n`,
    status: 400,
  },
  ...["+5", "0x5", "-1", "5 6", "abc", ""].map(
    (length): Case => ({
      title: `Content-Length: ${length}`,
      bytes: `${post(`Content-Length: ${length}`)}hello`,
      status: 400,
    }),
  ),
  {
    title: "two different Content-Lengths",
    bytes: `${post("Content-Length: 5", "Content-Length: 6")}hello`,
    status: 400,
  },
  {
    title: "two equal Content-Lengths",
    bytes: `${post("Content-Length: 5", "Content-Length: 5")}hello`,
    status: 400,
  },
  {
    title: "Content-Length: 5, 5",
    bytes: `${post("Content-Length: 5, 5")}hello`,
    status: 400,
  },
  {
    title: "a Content-Length over 64 bits",
    bytes: `${post("Content-Length: 18446744073709551621")}hello`,
    status: 400,
  },
  ...["gzip", "chunked, identity", "xchunked", "chunked, chunked"].map(
    (coding): Case => ({
      title: `Transfer-Encoding: ${coding}`,
      bytes: `${post(`Transfer-Encoding: ${coding}`)}0\r\n\r\n`,
      status: 400,
    }),
  ),
  {
    title: "Transfer-Encoding: gzip, chunked",
    bytes: `${post("Transfer-Encoding: gzip, chunked")}0\r\n\r\n`,
    status: 501,
  },
  {
    title: "the same on two lines",
    bytes: `${post("Transfer-Encoding: gzip", "Transfer-Encoding: chunked")}0\r\n\r\n`,
    status: 501,
  },
  {
    title: "Transfer-Encoding in HTTP/1.0",
    bytes: "POST /a HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    status: 400,
  },
  {
    title: "20,000 bytes of chunk extensions",
    bytes: chunked(`5;${"x".repeat(20_000)}\r\nhello\r\n0\r\n\r\n`),
    status: 413,
  },
  ...["fffffffffffffffff\r\nhello\r\n", "xyz\r\nhello\r\n", "5\nhello\n"].map(
    (chunk): Case => ({
      title: `the chunk ${JSON.stringify(chunk)}`,
      bytes: chunked(`${chunk}0\r\n\r\n`),
      status: 400,
    }),
  ),
  {
    title: "a broken chunk after a good one",
    bytes: [chunked("5\r\nhello\r\n"), "zz\r\n"],
    status: 400,
  },
  {
    title: "a connection that ends before Content-Length does",
    bytes: `${post("Content-Length: 50")}hello`,
    halfClose: true,
    status: 400,
  },
  {
    title: "a connection that ends before the last chunk",
    bytes: chunked("5\r\nhello\r\n"),
    halfClose: true,
    status: 400,
  },
  {
    title: "a connection that ends within the last chunk",
    bytes: chunked("5\r\nhello\r\n0\r\n"),
    halfClose: true,
    status: 400,
  },
];

const fields: readonly Case[] = [
  {
    title: "a folded field",
    bytes: get("/a", host, "X: a", " b"),
    status: 400,
    detail: /folding is not accepted/,
  },
  {
    title: "a space before the colon",
    bytes: get("/a", host, "X : a"),
    status: 400,
  },
  {
    title: "a space after the request line",
    bytes: get("/a", " X: a", host),
    status: 400,
  },
  { title: "NUL in a value", bytes: get("/a", host, "X: a\0b"), status: 400 },
  {
    title: "bare CR in a value",
    bytes: get("/a", host, "X: a\rb"),
    status: 400,
  },
  {
    title: "a control character in a value",
    bytes: get("/a", host, "X: a\x01b"),
    status: 400,
  },
  {
    title: "bare LF after the request line",
    bytes: "GET /a HTTP/1.1\nHost: a\n\n",
    status: 400,
  },
  {
    title: "bare LF after a field",
    bytes: "GET /a HTTP/1.1\r\nHost: a\nX: b\r\n\r\n",
    status: 400,
  },
  {
    title: "an unknown expectation",
    bytes: post("Expect: something-else"),
    status: 417,
  },
  {
    title: "one field over the limit",
    bytes: get("/a", host, `X-Long: ${"x".repeat(maxHeaderBytes)}`),
    status: 431,
    detail: /X-Long/,
  },
  {
    title: "fields over the limit together",
    bytes: get("/a", host, ...Array.from({ length: 150 }, () => `X: ${"x".repeat(120)}`)),
    status: 431,
  },
  {
    title: "one field far over the limit",
    bytes: get("/a", host, `X-Long: ${"x".repeat(200_000)}`),
    status: 431,
  },
  {
    title: "1,001 header lines, Authorization last",
    bytes: get("/a", host, ...Array.from({ length: 999 }, () => "X:y"), "Authorization: Bearer t"),
    status: 431,
  },
];

const targets: readonly Case[] = [
  { title: "a space in the target", bytes: get("/a b", host), status: 400 },
  {
    title: "raw UTF-8 in the target",
    bytes: Buffer.from(get("/ä", host)),
    status: 400,
  },
  {
    title: "a fragment in the target",
    bytes: get("/a#b", host),
    status: 400,
  },
  {
    title: "a target of 20,000 bytes",
    bytes: get(`/${"x".repeat(19_999)}`, host),
    status: 414,
  },
  {
    title: "a target of 200,000 bytes",
    bytes: get(`/${"x".repeat(199_999)}`, host),
    status: 414,
  },
  {
    title: "a long target in several packets",
    bytes: [`GET /${"x".repeat(20_000)}`, "x".repeat(20_000), ` HTTP/1.1\r\n${host}\r\n\r\n`],
    status: 414,
  },
  { title: "GET *", bytes: get("*", host), status: 400 },
];

const methodsAndVersions: readonly Case[] = [
  ...["GET /a HTTP/2.0", "GET /a HTTP/3.7", "GET /a HTTP/1.2", "GET /a HTTP/0.9", "GET /a"].map(
    (line): Case => ({
      title: line,
      bytes: `${line}\r\n${line.endsWith("/a") ? "" : "Host: a\r\n"}\r\n`,
      status: 505,
      detail: /HTTP\/1\.1 and HTTP\/1\.0/,
    }),
  ),
  {
    title: "the preface of HTTP/2",
    bytes: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    status: 505,
  },
  {
    title: "TLS on a plain port",
    bytes: Buffer.from("16030100a5010000a10303", "hex"),
    status: 400,
  },
  {
    title: "FOO /a",
    bytes: "FOO /a HTTP/1.1\r\nHost: a\r\n\r\n",
    status: 501,
  },
  {
    title: "get /a",
    bytes: "get /a HTTP/1.1\r\nHost: a\r\n\r\n",
    status: 501,
  },
  {
    title: "RTSP/1.0",
    bytes: "GET /a RTSP/1.0\r\nHost: a\r\n\r\n",
    status: 505,
  },
  {
    title: "a dot segment",
    bytes: get("/a/b/../c", host),
    status: 400,
    detail: /dot segments/,
  },
  {
    title: "a backslash",
    bytes: get("/a/b\\..\\c", host),
    status: 400,
    detail: /backslash/,
  },
  {
    title: "CONNECT h:443",
    bytes: "CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n",
    status: 501,
  },
];

describe("rejected with a problem", () => {
  let server: TestServer;
  before(async () => {
    server = await start();
  });
  after(() => server.stop(0));

  for (const rejected of [...hosts, ...framing, ...fields, ...targets, ...methodsAndVersions]) {
    const { title, bytes, halfClose = false } = rejected;
    it(`${title} → ${rejected.status}`, async () => {
      const { responses, closed } = await send(server.port, bytes, { halfClose });
      assert.equal(closed, true);
      assert.equal(responses.length, 1);
      const [response] = responses;
      assert.equal(response?.status, rejected.status);
      const problem = JSON.parse(response.body);
      assert.equal(problem.status, rejected.status);
      assert.match(problem.detail, rejected.detail ?? /./);
      assert.equal(response.headers["content-type"], "application/problem+json");
      assert.equal(response.headers["content-length"], String(response.bytes.length));
      assert.equal(response.headers.connection, "close");
      assert.ok(Date.parse(response.headers.date ?? "") > 0);
    });
  }

  it("without a body, when the method is HEAD", async () => {
    const all = [...hosts, ...framing, ...fields, ...targets, ...methodsAndVersions];
    const heads = all.flatMap(({ bytes, status, halfClose = false }) =>
      typeof bytes === "string" && /^(GET|POST) .*HTTP\/1\.1\r\n/.test(bytes)
        ? [{ bytes: bytes.replace(/^\w+/, "HEAD"), status, halfClose }]
        : [],
    );
    assert.ok(heads.length > 20);
    for (const { bytes, status, halfClose } of heads) {
      const socket = connect({ port: server.port, host: "127.0.0.1", allowHalfOpen: true });
      if (halfClose) socket.end(bytes);
      else socket.write(bytes);
      const received = await text(socket);
      socket.destroy();
      assert.equal(received.slice(0, 13), `HTTP/1.1 ${status} `, bytes.slice(0, 200));
      assert.match(received, /\r\nContent-Length: [1-9]/);
      assert.equal(received.indexOf("\r\n\r\n"), received.length - 4, received);
    }
  });
});
