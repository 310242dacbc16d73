// The settings of limits: how large requests are, how many there are, how long queries take, and how long things are stored.

import { type Setting, wholeNumber } from "./setting-values.ts";

export interface LimitConfig {
  readonly maxBodyBytes: number;
  /** The limit of a body with files. */
  readonly maxUploadBytes: number;
  /** The limit of all unfinished uploads together. */
  readonly maxUnfinishedBytes: number;
  /** The limits of the bytes of files; 0 for no limit. */
  readonly maxFileBytes: number;
  readonly maxResourceFileBytes: number;
  readonly maxSubjectFileBytes: number;
  readonly maxTotalFileBytes: number;
  /** How many bytes of rendered pictures are kept in the data folder. */
  readonly pictureCacheBytes: number;
  /** The limit of all requests and responses in flight together. */
  readonly maxInFlightBytes: number;
  /** Requests per minute; 0 for no limit. */
  readonly rateLimitPerAddress: number;
  readonly rateLimitPerToken: number;
  /** How many seconds a query may take, its wait included. */
  readonly queryDeadline: number;
  /** How many index entries and resources a query may look at for an exact total. */
  readonly maxCounted: number;
  /** How many other resources a request may delete or change because they refer to what it deletes. */
  readonly maxCascade: number;
  /** How many days a removal appears in feeds. */
  readonly keepRemovedDays: number;
  /** How many hours an Idempotency-Key is stored. */
  readonly keepKeysHours: number;
  /** How many hours an unfinished upload is stored after its last bytes. */
  readonly keepUploadsHours: number;
}

const fileBytes = (text: string) => wholeNumber(text, 0, 999_999_999_999_999);

export const limitSettings = {
  maxBodyBytes: {
    flag: "--max-body-bytes",
    variable: "RESTANTE_MAX_BODY_BYTES",
    type: "number",
    placeholder: "bytes",
    about: "The maximum size of a request body without files; a larger one is rejected with 413.",
    allowed: "a whole number from 1 to 268435456 (256 MiB)",
    fallback: "1048576",
    isReloadable: true,
    read: (text) => wholeNumber(text, 1, 268_435_456),
  },
  maxUploadBytes: {
    flag: "--max-upload-bytes",
    variable: "RESTANTE_MAX_UPLOAD_BYTES",
    type: "number",
    placeholder: "bytes",
    about:
      "The maximum size of a body with files, all files together; a larger one is rejected with 413.",
    allowed: "a whole number from 1 to 1099511627776 (1 TiB)",
    fallback: "2147483648",
    isReloadable: true,
    read: (text) => wholeNumber(text, 1, 1_099_511_627_776),
  },
  maxUnfinishedBytes: {
    flag: "--max-unfinished-bytes",
    variable: "RESTANTE_MAX_UNFINISHED_BYTES",
    type: "number",
    placeholder: "bytes",
    about:
      "The maximum size of all resumable uploads that are not complete, each counted with its whole length; a new one beyond it is rejected with 507. A caller with several may have half of it.",
    allowed: "a whole number from 1048576 (1 MiB) to 1125899906842624 (1 PiB)",
    fallback: "10737418240",
    isReloadable: true,
    read: (text) => wholeNumber(text, 1_048_576, 1_125_899_906_842_624),
  },
  maxFileBytes: {
    flag: "--max-file-bytes",
    variable: "RESTANTE_MAX_FILE_BYTES",
    type: "number",
    placeholder: "bytes",
    about: "The maximum size of one file; a larger one is rejected with 413.",
    allowed: "a whole number from 0 (no limit) to 999999999999999",
    fallback: "0",
    isReloadable: true,
    read: fileBytes,
  },
  maxResourceFileBytes: {
    flag: "--max-resource-file-bytes",
    variable: "RESTANTE_MAX_RESOURCE_FILE_BYTES",
    type: "number",
    placeholder: "bytes",
    about: "The maximum size of the files of one resource together; more are rejected with 413.",
    allowed: "a whole number from 0 (no limit) to 999999999999999",
    fallback: "0",
    isReloadable: true,
    read: fileBytes,
  },
  maxSubjectFileBytes: {
    flag: "--max-subject-file-bytes",
    variable: "RESTANTE_MAX_SUBJECT_FILE_BYTES",
    type: "number",
    placeholder: "bytes",
    about:
      "The maximum size of the files of all resources of one subject; more are rejected with 507.",
    allowed: "a whole number from 0 (no limit) to 999999999999999",
    fallback: "0",
    read: fileBytes,
  },
  maxTotalFileBytes: {
    flag: "--max-total-file-bytes",
    variable: "RESTANTE_MAX_TOTAL_FILE_BYTES",
    type: "number",
    placeholder: "bytes",
    about: "The maximum size of all files together; more are rejected with 507.",
    allowed: "a whole number from 0 (no limit) to 999999999999999",
    fallback: "0",
    read: fileBytes,
  },
  maxInFlightBytes: {
    flag: "--max-in-flight-bytes",
    variable: "RESTANTE_MAX_IN_FLIGHT_BYTES",
    type: "number",
    placeholder: "bytes",
    about:
      "The maximum number of bytes of request and response bodies that each process holds in memory; a request that needs more is rejected with 503.",
    allowed: "a whole number from 16777216 (16 MiB) to 1099511627776 (1 TiB)",
    fallback: "134217728",
    isReloadable: true,
    read: (text) => wholeNumber(text, 16_777_216, 1_099_511_627_776),
  },
  rateLimitPerAddress: {
    flag: "--rate-limit-per-address",
    variable: "RESTANTE_RATE_LIMIT_PER_ADDRESS",
    type: "number",
    placeholder: "requests",
    about:
      "The maximum number of requests per minute from one client address (IPv6: one /64), in each process; more are rejected with 429.",
    allowed: "a whole number from 0 (no limit) to 1000000",
    fallback: "0",
    isReloadable: true,
    read: (text) => wholeNumber(text, 0, 1_000_000),
  },
  rateLimitPerToken: {
    flag: "--rate-limit-per-token",
    variable: "RESTANTE_RATE_LIMIT_PER_TOKEN",
    type: "number",
    placeholder: "requests",
    about:
      "The maximum number of requests per minute with one token, in each process; more are rejected with 429.",
    allowed: "a whole number from 0 (no limit) to 1000000",
    fallback: "0",
    isReloadable: true,
    read: (text) => wholeNumber(text, 0, 1_000_000),
  },
  queryDeadline: {
    flag: "--query-deadline",
    variable: "RESTANTE_QUERY_DEADLINE",
    type: "number",
    placeholder: "seconds",
    about:
      "How many seconds a query may take, its wait for other queries included; then it is stopped and answered with 504.",
    allowed: "a whole number from 1 to 100",
    fallback: "10",
    isReloadable: true,
    // The runtimes close a connection that is silent for 120 seconds.
    read: (text) => wholeNumber(text, 1, 100),
  },
  maxCounted: {
    flag: "--max-counted",
    variable: "RESTANTE_MAX_COUNTED",
    type: "number",
    placeholder: "entries",
    about:
      "How many index entries and resources a query may look at for an exact total; beyond that the total is null, with a lower limit in totalAtLeast.",
    allowed: "a whole number from 1 to 1000000000",
    fallback: "1000000",
    read: (text) => wholeNumber(text, 1, 1_000_000_000),
  },
  maxCascade: {
    flag: "--max-cascade",
    variable: "RESTANTE_MAX_CASCADE",
    type: "number",
    placeholder: "resources",
    about:
      "How many other resources a request may delete or change because they refer to what it deletes; more are rejected with 409.",
    allowed: "a whole number from 0 to 10000",
    fallback: "1000",
    isReloadable: true,
    read: (text) => wholeNumber(text, 0, 10_000),
  },
  keepRemovedDays: {
    flag: "--keep-removed-days",
    variable: "RESTANTE_KEEP_REMOVED_DAYS",
    type: "number",
    placeholder: "days",
    about:
      "How many days a removed resource appears in change feeds. A client that asks with an older position has to make a new copy.",
    allowed: "a whole number from 1 to 36500",
    fallback: "30",
    read: (text) => wholeNumber(text, 1, 36_500),
  },
  keepKeysHours: {
    flag: "--keep-keys-hours",
    variable: "RESTANTE_KEEP_KEYS_HOURS",
    type: "number",
    placeholder: "hours",
    about: "How many hours an Idempotency-Key is stored with the response of its request.",
    allowed: "a whole number from 1 to 8760",
    fallback: "24",
    isReloadable: true,
    read: (text) => wholeNumber(text, 1, 8_760),
  },
  keepUploadsHours: {
    flag: "--keep-uploads-hours",
    variable: "RESTANTE_KEEP_UPLOADS_HOURS",
    type: "number",
    placeholder: "hours",
    about:
      "How many hours a resumable upload that is not complete is stored after its last bytes, but not longer than an Idempotency-Key.",
    allowed: "a whole number from 1 to 8760",
    fallback: "24",
    isReloadable: true,
    read: (text) => wholeNumber(text, 1, 8_760),
  },
  pictureCacheBytes: {
    flag: "--picture-cache-bytes",
    variable: "RESTANTE_PICTURE_CACHE_BYTES",
    type: "number",
    placeholder: "bytes",
    about:
      "How many bytes of rendered pictures are kept in the data folder; those that were not used for the longest time are removed.",
    allowed: "a whole number from 1048576 (1 MiB) to 1099511627776 (1 TiB)",
    fallback: "1073741824",
    isReloadable: true,
    read: (text) => wholeNumber(text, 1_048_576, 1_099_511_627_776),
  },
} satisfies { readonly [Name in keyof LimitConfig]: Setting<LimitConfig[Name]> };
