// Decides where requests to a bucket go, from its URL and the environment.

import { type Environment, findSetting } from "./credentials.ts";
import { isEndpoint, type S3Location } from "./location.ts";

export interface BucketAddress {
  readonly bucket: string;
  readonly prefix: string;
  readonly region: string;
  /** The origin, for messages. */
  readonly endpoint: string;
  /** The URL of the bucket, without a slash at the end. */
  readonly url: string;
}

export function bucketAddressOf(location: S3Location, environment: Environment): BucketAddress {
  const { bucket, prefix } = location;
  const region =
    location.region ??
    findSetting(environment, ["AWS_REGION", "AWS_DEFAULT_REGION"], "region") ??
    "us-east-1";
  const given =
    location.endpoint ??
    findSetting(environment, ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"], "endpoint_url");
  if (given !== undefined && !isEndpoint(given))
    throw new Error("the endpoint of S3 must be a URL such as https://s3.example.org");
  const endpoint = new URL(given ?? `https://s3.${region}.amazonaws.com`).origin;
  // A certificate for *.s3.amazonaws.com does not cover a bucket with a dot in its name.
  const isPathStyle = location.isPathStyle ?? (given !== undefined || bucket.includes("."));
  const url = isPathStyle ? `${endpoint}/${bucket}` : endpoint.replace("://", `://${bucket}.`);
  return { bucket, prefix, region, endpoint, url };
}
