// Opens files in a bucket of a test server.

import assert from "node:assert/strict";
import type { Files } from "../../../src/store/files.ts";
import type { S3Timing } from "../../../src/store/s3/client.ts";
import type { Environment } from "../../../src/store/s3/credentials.ts";
import { parseLocation, type S3Location } from "../../../src/store/s3/location.ts";
import { openS3 } from "../../../src/store/s3/s3.ts";
import { secrets } from "./s3-server.ts";

/** A server that answers does so in this time, on any machine. */
export const quick: S3Timing = { deadlineMs: 300_000, idleMs: 300_000, attempts: 3, pauseMs: 5 };

export function locationOf(url: string): S3Location {
  const location = parseLocation(url);
  assert.ok(location, url);
  return location;
}

export const openFilesAt = (
  url: string,
  timing = quick,
  environment: Environment = { ...secrets, HOME: "/nonexistent" },
): Files => openS3(locationOf(url), environment, { timing });
