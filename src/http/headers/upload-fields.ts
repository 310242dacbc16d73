// Reads and writes the header fields of resumable uploads (draft-ietf-httpbis-resumable-upload).

export interface UploadFields {
  /** Undefined when the field is missing or not a boolean; then it is ignored, as the draft says. */
  readonly isComplete: boolean | undefined;
  readonly offset: number | undefined;
  readonly length: number | undefined;
}

export const partialType = "application/partial-upload";

export const readUploadFields = (headers: Headers): UploadFields => ({
  isComplete: readBoolean(headers.get("upload-complete")),
  offset: readInteger(headers.get("upload-offset")),
  length: readInteger(headers.get("upload-length")),
});

/** The drafts that clients may implement, from version 05 to 11, by the numbers that these give themselves. */
const interopVersions: ReadonlySet<number> = new Set([6, 7, 8]);

/** The draft of the client. Without a draft that is known here, it must not get a 104, which a proxy may not know either. */
export function interopVersionOf(headers: Headers): number | undefined {
  const version = readInteger(headers.get("upload-draft-interop-version"));
  return version !== undefined && interopVersions.has(version) ? version : undefined;
}

/** RFC 9651 §3.3.6. */
const readBoolean = (field: string | null): boolean | undefined =>
  field === "?1" ? true : field === "?0" ? false : undefined;

/** RFC 9651 §3.3.1, not negative. */
const readInteger = (field: string | null): number | undefined =>
  field !== null && /^\d{1,15}$/.test(field) ? Number(field) : undefined;

/** The length of the request content, if Content-Length names it or there is none. */
export function contentLengthOf(headers: Headers): number | undefined {
  if (headers.has("transfer-encoding")) return undefined;
  return Number(headers.get("content-length") ?? 0);
}

export const booleanField = (isTrue: boolean): string => (isTrue ? "?1" : "?0");

export const limitField = (maxBytes: number, seconds?: number): string =>
  `max-size=${maxBytes}${seconds === undefined ? "" : `, max-age=${Math.max(seconds, 0)}`}`;
