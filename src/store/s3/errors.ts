// Says in plain words what is wrong with S3, as an Outage.

import { FileOutage, type Outage } from "../../model/outage.ts";
import type { BucketAddress } from "./bucket-address.ts";

/** What S3 answers instead of a success. */
export interface Failure {
  readonly status: number;
  /** Empty when the answer has no body, as that to HEAD. */
  readonly code: string;
  readonly message: string;
  /** The region of the bucket, if S3 tells it. */
  readonly region: string | undefined;
}

type Description = readonly [
  Outage["reason"],
  (address: BucketAddress, failure: Failure) => string,
];

const accessKey: Description = [
  "unavailable",
  () => "S3 does not know the access key: check AWS_ACCESS_KEY_ID or ~/.aws/credentials",
];
const expired: Description = [
  "unavailable",
  () => "the session token for S3 has expired or is not valid: renew AWS_SESSION_TOKEN",
];
const region: Description = [
  "unavailable",
  ({ bucket, region: used }, { region: right }) =>
    right === undefined || right === used
      ? `the bucket ${bucket} is not in the region ${used}: set the region in --files`
      : `the bucket ${bucket} is in the region ${right}, not ${used}: add region=${right} to --files`,
];
const busy: Description = ["busy", () => "S3 is overloaded and asks for fewer requests"];
const full: Description = ["full", ({ bucket }) => `the storage of the bucket ${bucket} is full`];
const damaged: Description = ["unavailable", () => "bytes were damaged on their way to S3"];

const descriptions: Readonly<Record<string, Description>> = {
  NoSuchBucket: [
    "unavailable",
    ({ bucket, endpoint }) =>
      `there is no bucket ${bucket} at ${endpoint}: create it, or correct --files`,
  ],
  InvalidAccessKeyId: accessKey,
  SignatureDoesNotMatch: [
    "unavailable",
    () => "S3 rejects the signature: check AWS_SECRET_ACCESS_KEY or ~/.aws/credentials",
  ],
  AccessDenied: [
    "unavailable",
    ({ bucket }) =>
      `the credentials do not allow this request in the bucket ${bucket}: see the policy in docs/s3.md`,
  ],
  ExpiredToken: expired,
  InvalidToken: expired,
  RequestTimeTooSkewed: [
    "unavailable",
    () => "the clock of this machine differs from that of S3: set it, for example with NTP",
  ],
  AuthorizationHeaderMalformed: region,
  PermanentRedirect: region,
  TemporaryRedirect: region,
  SlowDown: busy,
  ServiceUnavailable: busy,
  TooManyRequests: busy,
  QuotaExceeded: full,
  XMinioStorageFull: full,
  XMinioAdminBucketQuotaExceeded: full,
  BadDigest: damaged,
  XAmzContentSHA256Mismatch: damaged,
};

const byStatus: Readonly<Record<number, string>> = {
  301: "PermanentRedirect",
  403: "AccessDenied",
  429: "SlowDown",
  503: "SlowDown",
  507: "QuotaExceeded",
};

export function outageOf(address: BucketAddress, failure: Failure): Outage {
  const { status, code, message } = failure;
  const found =
    descriptions[code] ?? (code === "" ? descriptions[byStatus[status] ?? ""] : undefined);
  const [reason, describe] = found ?? ["unavailable", () => "S3 rejects a request"];
  const answer = `${status}${code && ` ${code}`}${message && `: ${message}`}`;
  return new FileOutage(reason, `${describe(address, failure)} (${answer})`);
}

/** For an error of the network, or a deadline that is over. */
export function networkOutage({ endpoint }: BucketAddress, error: unknown): Outage {
  const name = error instanceof Error ? error.name : "";
  const text =
    name === "TimeoutError"
      ? `S3 at ${endpoint} does not answer in time`
      : `S3 at ${endpoint} cannot be reached (${codeOf(error)})`;
  return new FileOutage("unavailable", text, { cause: error });
}

export const incompleteAnswer = (): Outage =>
  new FileOutage("unavailable", "S3 has sent a part of an answer");

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof Error) return codeOf(cause);
  return "code" in error ? String(error.code) : error.message;
}

/** S3's errors are small XML documents. Only code and message are taken: the rest can have credentials. */
export function failureOf(
  { status, headers }: Pick<Response, "status" | "headers">,
  text: string,
): Failure {
  return {
    status,
    code: elementOf(text, "Code") ?? "",
    message: elementOf(text, "Message") ?? "",
    region: headers.get("x-amz-bucket-region") ?? elementOf(text, "Region"),
  };
}

/** Returns the text of the first element with this name. */
export function elementOf(xml: string, name: string): string | undefined {
  const start = xml.indexOf(`<${name}>`);
  const end = xml.indexOf(`</${name}>`, start);
  return start === -1 || end === -1
    ? undefined
    : unescapeXml(xml.slice(start + name.length + 2, end));
}

/** Returns the inner text of all elements with this name. They do not nest. */
export function* elementsOf(xml: string, name: string): Iterable<string> {
  for (const part of xml.split(`<${name}>`).slice(1))
    yield part.slice(0, part.indexOf(`</${name}>`));
}

const entities: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&apos;": "'",
  "&#34;": '"',
  "&#39;": "'",
};

const unescapeXml = (text: string): string =>
  text.replace(/&(?:amp|lt|gt|quot|apos|#34|#39);/g, (entity) => entities[entity] ?? entity);
