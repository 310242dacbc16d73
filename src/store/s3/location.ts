// Parses the URL of a place in a bucket: s3://bucket/prefix?endpoint=…&region=….

export interface S3Location {
  readonly bucket: string;
  /** Empty, or with a slash at the end. */
  readonly prefix: string;
  /** Undefined means that the environment decides, or AWS. */
  readonly endpoint: string | undefined;
  readonly region: string | undefined;
  /** Whether the bucket is in the path of a request, not in its host. Undefined means: with an endpoint. */
  readonly isPathStyle: boolean | undefined;
}

const bucketPattern = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
/** Such names need no escapes in URLs, in signatures and in XML. */
const prefixPattern = /^(?:[A-Za-z0-9_-][A-Za-z0-9._-]*\/)*$/;
const regionPattern = /^[a-z0-9-]{1,40}$/;
const parameters = ["endpoint", "region", "pathStyle"];

/** Completes a sentence that begins with "must be". */
export const allowedLocation =
  "a URL such as s3://bucket/prefix?endpoint=https://s3.example.org&region=eu-central-1, without credentials";

export const isS3Url = (text: string): boolean => text.startsWith("s3://");

/** Returns undefined when the text is not allowed. */
export function parseLocation(text: string): S3Location | undefined {
  const url = isS3Url(text) ? URL.parse(text) : null;
  if (url === null || `${url.username}${url.password}${url.port}${url.hash}` !== "")
    return undefined;
  // Dots in the path would lead elsewhere.
  if (!text.startsWith(`s3://${url.hostname}${url.pathname}`)) return undefined;
  const names = [...url.searchParams.keys()];
  if (names.some((name) => !parameters.includes(name)) || new Set(names).size < names.length)
    return undefined;
  const path = url.pathname.slice(1);
  const location: S3Location = {
    bucket: url.hostname,
    prefix: path === "" || path.endsWith("/") ? path : `${path}/`,
    endpoint: url.searchParams.get("endpoint") ?? undefined,
    region: url.searchParams.get("region") ?? undefined,
    isPathStyle: readBoolean(url.searchParams.get("pathStyle")),
  };
  return isAllowed(location, url.searchParams.get("pathStyle")) ? location : undefined;
}

function isAllowed(
  { bucket, prefix, endpoint, region, isPathStyle }: S3Location,
  pathStyle: string | null,
): boolean {
  return (
    bucketPattern.test(bucket) &&
    prefixPattern.test(prefix) &&
    (endpoint === undefined || isEndpoint(endpoint)) &&
    (region === undefined || regionPattern.test(region)) &&
    (pathStyle === null || isPathStyle !== undefined)
  );
}

const readBoolean = (text: string | null): boolean | undefined =>
  text === "true" ? true : text === "false" ? false : undefined;

/** Whether a text is an origin that requests can be sent to. */
export function isEndpoint(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && text.replace(/\/$/, "") === url.origin;
}
