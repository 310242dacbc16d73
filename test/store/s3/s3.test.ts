// Files in a bucket: the contract of files, and what is special to S3.

import { after, before } from "node:test";
import { parseLocation } from "../../../src/store/s3/location.ts";
import { openS3 } from "../../../src/store/s3/s3.ts";
import { filesContract } from "../files-contract.ts";
import { S3Server, secrets } from "./s3-server.ts";

let server: S3Server;
let count = 0;
before(async () => {
  server = await S3Server.start();
});
after(() => server.destroy());

const timing = { deadlineMs: 5_000, idleMs: 5_000, attempts: 3, pauseMs: 10 };

function open(prefix: string) {
  const location = parseLocation(server.url(prefix));
  if (location === undefined) throw new Error("not a location");
  return openS3(location, secrets, timing);
}

filesContract("s3", async () => {
  const prefix = `contract/${++count}/`;
  return {
    files: open(prefix),
    second: () => open(prefix),
    count: async () => (await server.keys(prefix)).length,
    age: (key) => server.age(`${prefix}files/${key}`, 3_600_000),
    destroy: async () => undefined,
  };
});
