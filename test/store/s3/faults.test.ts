// Faults of S3 and of the network: what passes is tried again, and everything else is said in plain words.
// @runtimes node

import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { after, afterEach, before, describe, it } from "node:test";
import type { Files } from "../../../src/store/files.ts";
import { newSeed, randomNumbers, runs } from "../../seeds.ts";
import { bytesOf, hashOf, inChunks, read, saveFile } from "../disk/file-helpers.ts";
import { openFilesAt, quick } from "./open.ts";
import { S3Server, secrets } from "./s3-server.ts";

let server: S3Server;
let files: Files;
before(async () => {
  server = await S3Server.start();
  files = openFilesAt(server.url("files"));
});
afterEach(() => {
  server.fault = () => false;
});
after(() => server.destroy());

const errorXml = (code: string) =>
  `<?xml version="1.0"?><Error><Code>${code}</Code><Message>no &amp; no</Message><StringToSign>secret</StringToSign></Error>`;

/** Answers with an error, `times` times. */
function failWith(status: number, code = "", times = Number.POSITIVE_INFINITY): void {
  let left = times;
  server.fault = (request, response) => {
    if (left-- <= 0) return false;
    request.resume();
    request.on("end", () => response.writeHead(status).end(code === "" ? "" : errorXml(code)));
    return true;
  };
}

const isPut = ({ method, url = "" }: IncomingMessage): boolean =>
  method === "PUT" || (method === "POST" && url.includes("uploadId"));

describe("an error that passes", () => {
  for (const status of [500, 502, 503, 429])
    it(`such as ${status} is tried again`, async () => {
      failWith(status, "", 2);
      const saved = await saveFile(files, bytesOf(1_000));
      failWith(status, "SlowDown", 2);
      assert.equal(hashOf(await read(files, saved.key, 0, 1_000)), saved.sha256);
    });

  it("stays an outage when it does not pass", async () => {
    failWith(503, "SlowDown");
    const start = server.requests.length;
    await assert.rejects(saveFile(files, bytesOf(10)), { reason: "busy", message: /overloaded/ });
    // Three attempts, and three to remove what one of them may have written.
    assert.equal(server.requests.length - start, 2 * quick.attempts);
  });

  it("is an answer that was lost: the file is stored once", async () => {
    for (const size of [1_000, 9_000_000]) {
      const lost = new Set<string>();
      server.fault = (request, response) => {
        const line = `${request.method} ${request.url}`;
        if (!isPut(request) || lost.has(line)) return false;
        lost.add(line);
        // The server does what was asked, and the connection breaks before the answer.
        response.end = () => request.socket.destroy() as never;
        return false;
      };
      const bytes = bytesOf(size);
      const saved = await saveFile(files, bytes);
      assert.ok(lost.size > 0);
      server.fault = () => false;
      assert.equal(hashOf(await read(files, saved.key, 0, size)), hashOf(bytes));
      assert.deepEqual(await server.uploads(), []);
    }
  });
});

describe("a download that is cut", () => {
  it("goes on where it was cut, and has the same bytes", async () => {
    const seed = newSeed("cut downloads from S3", 1);
    const random = randomNumbers(seed);
    const bytes = bytesOf(3_000_000);
    const saved = await saveFile(files, bytes);
    for (let run = 0; run < runs(2, 60); run++) {
      let cuts = 1 + Math.floor(random() * 3);
      server.fault = (request, response) => {
        if (cuts-- > 0) cutAfter(response, 1 + Math.floor(random() * 900_000), request);
        return false;
      };
      const start = Math.floor(random() * 1_000_000);
      const back = await read(files, saved.key, start, saved.size);
      assert.equal(hashOf(back), hashOf(bytes.subarray(start)), `run ${run}`);
    }
  });

  it("fails when it is cut again and again", async () => {
    const saved = await saveFile(files, bytesOf(3_000_000));
    server.fault = (request, response) => {
      cutAfter(response, 1, request);
      return false;
    };
    await assert.rejects(read(files, saved.key, 0, saved.size));
  });

  it("is ended when its reader leaves", async () => {
    const saved = await saveFile(files, bytesOf(5_000_000));
    const stream = await files.read(saved.key, 0, saved.size);
    assert.ok(stream instanceof ReadableStream);
    const reader = stream.getReader();
    await reader.read();
    await reader.cancel();
  });
});

/** The end of the connection is the end of the answer, so a part of it looks complete. */
function sendPart(line: RegExp, part: string, times = Number.POSITIVE_INFINITY): void {
  let left = times;
  server.fault = (request, response) => {
    if (!line.test(`${request.method} ${request.url}`) || left-- <= 0) return false;
    request.resume();
    request.on("end", () => response.writeHead(200).end(part));
    return true;
  };
}

describe("a part of an answer that looks complete", () => {
  const incomplete = { reason: "unavailable", message: "S3 has sent a part of an answer" };
  const [list, xml] = [/^GET .*list-type/, '<?xml version="1.0"?><ListBucketResult>'];
  const large = () => saveFile(files, bytesOf(6_000_000));

  it("of a list hides no object", async () => {
    const id = "0".repeat(32);
    await files.partial.create(id, "{}");
    await files.partial.append(id, 0, inChunks(bytesOf(10)));
    sendPart(list, xml, 1);
    assert.equal((await files.partial.find(id))?.size, 10);
    sendPart(list, xml);
    await assert.rejects(files.partial.find(id), incomplete);
    await assert.rejects(files.partial.append(id, 10, inChunks(bytesOf(10))), incomplete);
  });

  it("completes no upload", async () => {
    const complete = /^POST .*uploadId/;
    sendPart(complete, "\n\n", 1);
    const saved = await large();
    assert.equal(await files.size(saved.key), 6_000_000);
    sendPart(complete, "\n\n");
    await assert.rejects(large(), incomplete);
    assert.deepEqual(await server.uploads(), []);
  });

  it("begins no upload", async () => {
    sendPart(/^POST .*uploads/, "<InitiateMultipartUploadResult><UploadId>1");
    await assert.rejects(large(), incomplete);
  });
});

describe("a lost upload in parts", () => {
  it("is an outage", async () => {
    server.fault = (request, response) => {
      if (!/uploadId/.test(request.url ?? "") || request.method !== "POST") return false;
      request.resume();
      request.on("end", () => response.writeHead(404).end(errorXml("NoSuchUpload")));
      return true;
    };
    await assert.rejects(saveFile(files, bytesOf(6_000_000)), { reason: "unavailable" });
  });
});

describe("an object that is shorter than its file", () => {
  it("is damaged", async () => {
    const { key } = await saveFile(files, bytesOf(10));
    for (const end of [11, 20])
      await assert.rejects(read(files, key, 0, end), { reason: "damaged" });
    await assert.rejects(read(files, key, 15, 20), { reason: "damaged" });
  });
});

/** Breaks the connection after so many bytes of the body; all of the last one is lost. */
function cutAfter(
  response: Parameters<S3Server["fault"]>[1],
  bytes: number,
  request: IncomingMessage,
): void {
  let sent = 0;
  const write = response.write.bind(response) as (chunk: Uint8Array) => boolean;
  response.write = ((chunk: Uint8Array) => {
    sent += chunk.byteLength;
    if (sent >= bytes) request.socket.destroy();
    return write(chunk);
  }) as typeof response.write;
}

describe("an outage", () => {
  it("of the network is unavailable, until it is over", async () => {
    const saved = await saveFile(files, bytesOf(10));
    await server.stop();
    const refused = { reason: "unavailable", message: /cannot be reached/ };
    await assert.rejects(saveFile(files, bytesOf(10)), refused);
    await assert.rejects(files.read(saved.key, 0, 10), refused);
    await assert.rejects(files.remove([saved.key]), refused);
    assert.match((await files.ready?.()) ?? "", /cannot be reached/);
    await server.listen();
    assert.equal(hashOf(await read(files, saved.key, 0, 10)), saved.sha256);
    assert.equal(await files.ready?.(), undefined);
  });

  it("without an answer ends at the deadline", async () => {
    const impatient = { ...quick, deadlineMs: 50, attempts: 2 };
    const hurried = openFilesAt(server.url("files"), impatient);
    server.fault = () => true;
    await assert.rejects(hurried.size("0".repeat(32)), {
      reason: "unavailable",
      message: /does not answer in time/,
    });
  });

  it("in the middle of a body ends at the deadline", async () => {
    const saved = await saveFile(files, bytesOf(3_000_000));
    const impatient = { ...quick, idleMs: 50, attempts: 2 };
    server.fault = (_request, response) => {
      response.writeHead(206, {
        "content-length": 3_000_000,
        "content-range": "bytes 0-2999999/3000000",
      });
      response.write(new Uint8Array(1_000));
      return true;
    };
    const stream = await openFilesAt(server.url("files"), impatient).read(saved.key, 0, saved.size);
    await assert.rejects(new Response(stream).arrayBuffer());
  });

  it("in the middle of an upload leaves nothing", async () => {
    for (const failing of ["partNumber=2", "uploads", "uploadId="]) {
      server.fault = (request, response) => {
        if (request.method === "DELETE" || !request.url?.includes(failing)) return false;
        request.resume();
        request.on("end", () => response.writeHead(500).end());
        return true;
      };
      await assert.rejects(saveFile(files, bytesOf(18_000_000)), { reason: "unavailable" });
      assert.deepEqual(await server.uploads(), [], failing);
    }
  });
});

describe("what is wrong", () => {
  const cases = [
    [403, "AccessDenied", "unavailable", /do not allow .* docs\/s3\.md/],
    [403, "", "unavailable", /do not allow/],
    [403, "RequestTimeTooSkewed", "unavailable", /the clock of this machine/],
    [400, "ExpiredToken", "unavailable", /the session token .* has expired/],
    [400, "AuthorizationHeaderMalformed", "unavailable", /not in the region us-east-1/],
    [301, "PermanentRedirect", "unavailable", /not in the region/],
    [507, "XMinioStorageFull", "full", /is full/],
    [400, "XAmzContentSHA256Mismatch", "unavailable", /damaged on their way/],
    [418, "Teapot", "unavailable", /S3 rejects a request \(418 Teapot: no & no\)/],
  ] as const;
  for (const [status, code, reason, message] of cases)
    it(`is said for ${status} ${code}`, async () => {
      failWith(status, code);
      await assert.rejects(saveFile(files, bytesOf(10)), (error: Error) => {
        assert.match(error.message, message);
        assert.equal((error as { reason?: string }).reason, reason);
        assert.ok(!error.message.includes("secret"));
        return true;
      });
    });

  it("is said for wrong credentials and a wrong bucket", async () => {
    const at = (url: string, changes = {}) =>
      openFilesAt(url, quick, { ...secrets, HOME: "/nonexistent", ...changes });
    const url = server.url("files");
    const wrong = [
      [at(url, { AWS_ACCESS_KEY_ID: "nobody" }), /does not know the access key/],
      [at(url, { AWS_SECRET_ACCESS_KEY: "wrong" }), /rejects the signature/],
      [at(url.replace("restante-test", "no-bucket")), /there is no bucket no-bucket/],
    ] as const;
    for (const [place, message] of wrong) {
      await assert.rejects(saveFile(place, bytesOf(10)), { reason: "unavailable", message });
      assert.match((await place.ready?.()) ?? "", message);
    }
  });
});
