// Files in a bucket of MinIO, which checks every signature and hash: the contract, and what s3rver cannot do.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { S3Client } from "../../../src/store/s3/client.ts";
import { abortUpload, listObjects, listUploads, putObject } from "../../../src/store/s3/objects.ts";
import { OtherStore } from "../../../src/store/s3/owner.ts";
import { openS3 } from "../../../src/store/s3/s3.ts";
import { bytesOf, hashOf, saveFile } from "../disk/file-helpers.ts";
import { filesContract } from "../files-contract.ts";
import { findMinio, type Minio, minioSecrets, startMinio } from "./minio.ts";
import { locationOf, openFilesAt, quick } from "./open.ts";

const program = findMinio();
if (program === undefined) console.error("\n  GO OR MINIO MISSING: S3 was not tested with MinIO\n");

let minio: Minio;
let count = 0;
const open = (prefix: string) => openFilesAt(minio.url(prefix), quick, minioSecrets);
const clientAt = (prefix: string) =>
  new S3Client(locationOf(minio.url(prefix)), minioSecrets, quick);

if (program !== undefined) {
  before(async () => {
    minio = await startMinio(program);
  });
  after(() => minio.stop());

  filesContract(
    "minio",
    async () => {
      const prefix = `place/${++count}/`;
      return {
        files: open(prefix),
        second: () => open(prefix),
        async count() {
          let found = 0;
          for await (const objects of listObjects(clientAt(prefix), "")) found += objects.length;
          for await (const uploads of listUploads(clientAt(prefix))) found += uploads.length;
          return found;
        },
        age: () => Promise.reject(new Error("MinIO keeps the time of an object to itself")),
        destroy: async () => undefined,
      };
    },
    { canAge: false },
  );

  describe("MinIO", () => {
    it("gives a link to one file, with the headers that were asked for", async () => {
      const files = open("links");
      const { key, sha256 } = await saveFile(files, bytesOf(1_000));
      const options = {
        expiresInSeconds: 60,
        type: "text/plain; charset=utf-8",
        disposition: "attachment; filename=\"a b.txt\"; filename*=UTF-8''%C3%BC+b.txt",
        cacheControl: "private, no-store",
      };
      const url = (await files.link?.(key, options)) ?? "";
      const response = await fetch(url);
      assert.equal(hashOf(await response.bytes()), sha256);
      assert.equal(response.headers.get("content-type"), options.type);
      assert.equal(response.headers.get("content-disposition"), options.disposition);
      assert.equal(response.headers.get("cache-control"), options.cacheControl);
      assert.equal((await fetch(url.replace("attachment", "inline"))).status, 403);
    });

    it("writes once, lists many, and removes unfinished uploads", async () => {
      const client = clientAt("many/");
      const none = { "if-none-match": "*" };
      const writes = Array.from({ length: 20 }, () => putObject(client, "one", bytesOf(9), none));
      assert.equal((await Promise.all(writes)).filter(Boolean).length, 1);
      const body = new Uint8Array();
      await client.call({ method: "POST", name: "x", query: { uploads: "" }, body });
      for await (const uploads of listUploads(clientAt("many/x")))
        for (const { uploadId } of uploads) await abortUpload(client, "x", uploadId);
      await Promise.all(
        Array.from({ length: 1_050 }, (_, index) => putObject(client, `many/${index}`, body)),
      );
      let found = 0;
      for await (const objects of listObjects(client, "many/")) found += objects.length;
      assert.equal(found, 1_050);
    });

    it("gives a prefix to one of several stores", async () => {
      const location = locationOf(minio.url("owned/"));
      const claims = Array.from({ length: 10 }, (_, store) => {
        const findStore = async () => `${store}`;
        return openS3(location, minioSecrets, { timing: quick, findStore }).claim?.();
      });
      const ends = await Promise.allSettled(claims);
      const refused = ends.flatMap((end) => (end.status === "rejected" ? [end.reason] : []));
      assert.equal(refused.length, 9);
      for (const reason of refused) assert.ok(reason instanceof OtherStore, `${reason}`);
    });

    it("says what is wrong", async () => {
      const at = (changes: Readonly<Record<string, string>>, url = minio.url("x")) =>
        openFilesAt(url, quick, { ...minioSecrets, ...changes });
      const wrong = [
        [at({ AWS_ACCESS_KEY_ID: "nobody" }), /does not know the access key/],
        [at({ AWS_SECRET_ACCESS_KEY: "wrong-secret" }), /rejects the signature/],
        [at({}, minio.url("x").replace("s3://files", "s3://no-bucket")), /there is no bucket/],
      ] as const;
      for (const [files, message] of wrong) {
        await assert.rejects(saveFile(files, bytesOf(10)), { reason: "unavailable", message });
        assert.match((await files.ready?.()) ?? "", message);
      }
    });
  });
}
