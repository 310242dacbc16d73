// The URL of a bucket, and where credentials, region and endpoint come from.

import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { bucketAddressOf } from "../../../src/store/s3/bucket-address.ts";
import { findCredentials } from "../../../src/store/s3/credentials.ts";
import { parseLocation } from "../../../src/store/s3/location.ts";
import { inDirectory } from "../sqlite/test-directory.ts";
import { locationOf } from "./open.ts";

describe("the URL of a bucket", () => {
  it("has a bucket, a prefix and parameters", () => {
    assert.deepEqual(parseLocation("s3://photos"), {
      bucket: "photos",
      prefix: "",
      endpoint: undefined,
      region: undefined,
      isPathStyle: undefined,
    });
    const url =
      "s3://my.photos/a/b?endpoint=http://localhost:9000&region=eu-west-1&pathStyle=false";
    assert.deepEqual(parseLocation(url), {
      bucket: "my.photos",
      prefix: "a/b/",
      endpoint: "http://localhost:9000",
      region: "eu-west-1",
      isPathStyle: false,
    });
  });

  for (const url of [
    "s3://",
    "s3://ab",
    "s3://Photos",
    "s3://photos/a b",
    "s3://photos/../x",
    "s3://photos/a//b",
    "s3://photos/é",
    "s3://key:secret@photos",
    "s3://photos:9000",
    "s3://photos#x",
    "s3://photos?regoin=eu-west-1",
    "s3://photos?region=eu-west-1&region=eu-west-2",
    "s3://photos?region=EU West",
    "s3://photos?endpoint=localhost:9000",
    "s3://photos?endpoint=ftp://localhost",
    "s3://photos?endpoint=http://localhost:9000/path",
    "s3://photos?endpoint=http://user:password@localhost:9000",
    "s3://photos?pathStyle=yes",
    "http://photos",
  ])
    it(`is not ${url}`, () => assert.equal(parseLocation(url), undefined));
});

const home = { HOME: "/nonexistent" };

describe("requests", () => {
  it("go to AWS, or to an endpoint", () => {
    const urlOf = (url: string, environment = {}) =>
      bucketAddressOf(locationOf(url), { ...home, ...environment }).url;
    assert.equal(urlOf("s3://photos"), "https://photos.s3.us-east-1.amazonaws.com");
    assert.equal(
      urlOf("s3://photos", { AWS_REGION: "eu-west-1" }),
      "https://photos.s3.eu-west-1.amazonaws.com",
    );
    assert.equal(
      urlOf("s3://my.photos?region=eu-west-1", { AWS_REGION: "us-west-2" }),
      "https://s3.eu-west-1.amazonaws.com/my.photos",
    );
    const endpoint = { AWS_ENDPOINT_URL: "http://a:1", AWS_ENDPOINT_URL_S3: "http://b:2/" };
    assert.equal(urlOf("s3://photos", endpoint), "http://b:2/photos");
    assert.equal(urlOf("s3://photos?endpoint=http://c:3", endpoint), "http://c:3/photos");
    assert.equal(urlOf("s3://photos?pathStyle=false", endpoint), "http://photos.b:2");
    assert.throws(() => urlOf("s3://photos", { AWS_ENDPOINT_URL: "b:2" }), /must be a URL/);
  });
});

describe("credentials", () => {
  const inHome = (test: (folder: string, environment: { HOME: string }) => Promise<void>) =>
    inDirectory(async (path) => {
      await mkdir(join(path, ".aws"));
      await test(join(path, ".aws"), { HOME: path });
    });
  const variables = { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "key" };

  it("come from variables first", () => {
    assert.deepEqual(findCredentials({ ...variables, AWS_SESSION_TOKEN: "token" }), {
      accessKeyId: "id",
      secretAccessKey: "key",
      sessionToken: "token",
    });
    assert.equal(findCredentials({ ...variables, AWS_SESSION_TOKEN: "" }).sessionToken, undefined);
    assert.throws(() => findCredentials(home), /there are no credentials for S3: set AWS_ACCESS/);
  });

  it("come from the files of a profile", () =>
    inHome(async (folder, environment) => {
      await writeFile(
        join(folder, "credentials"),
        "# mine\r\n[default]\r\naws_access_key_id = one\r\naws_secret_access_key=a=b/c+d==\r\n[ other ]\naws_access_key_id=two\naws_secret_access_key=x\naws_session_token=t\n",
      );
      await writeFile(
        join(folder, "config"),
        "[default]\nregion = eu-north-1\n[profile third]\naws_access_key_id=three\naws_secret_access_key=y\nendpoint_url=http://c:9\n[profile role]\nrole_arn=arn\n",
      );
      const of = (profile: string) => ({ ...environment, AWS_PROFILE: profile });
      assert.equal(findCredentials(environment).secretAccessKey, "a=b/c+d==");
      assert.equal(findCredentials(of("other")).sessionToken, "t");
      assert.equal(findCredentials(of("third")).accessKeyId, "three");
      assert.equal(bucketAddressOf(locationOf("s3://photos"), environment).region, "eu-north-1");
      assert.equal(
        bucketAddressOf(locationOf("s3://photos"), of("third")).url,
        "http://c:9/photos",
      );
      assert.throws(() => findCredentials(of("role")), /has role_arn, which is not supported/);
      assert.throws(() => findCredentials(of("none")), /the profile none in/);
      const file = join(folder, "elsewhere");
      await writeFile(file, "[default]\naws_access_key_id=four\naws_secret_access_key=z\n");
      const elsewhere = { ...environment, AWS_SHARED_CREDENTIALS_FILE: file };
      assert.equal(findCredentials(elsewhere).accessKeyId, "four");
    }));
});
