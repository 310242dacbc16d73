// The settings of limits: how large requests are, how many there are, how long queries take, and how long things are stored.

import type { FileLimits } from "../domain/file-limits.ts";
import type { FileQuotas } from "../store/core/file-use.ts";
import { limitUpTo, type SettingEntry, wholeNumbers } from "./setting-values.ts";

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

export const limitSettings = {
  maxBodyBytes: {
    about: "The maximum size of a request body without files; a larger one is rejected with 413.",
    fallback: "1048576",
    isReloadable: true,
    ...wholeNumbers("bytes", 1, 268_435_456),
  },
  maxUploadBytes: {
    about:
      "The maximum size of a body with files, all files together; a larger one is rejected with 413.",
    fallback: "2147483648",
    isReloadable: true,
    ...wholeNumbers("bytes", 1, 1_099_511_627_776),
  },
  maxUnfinishedBytes: {
    about:
      "The maximum size of all resumable uploads that are not complete, each counted with its whole length until five minutes after its last byte; a new one beyond it is rejected with 507. One subject may have half of it, and all callers without a token together a quarter.",
    fallback: "10737418240",
    isReloadable: true,
    ...wholeNumbers("bytes", 1_048_576, 1_125_899_906_842_624),
  },
  maxFileBytes: {
    about: "The maximum size of one file; a larger one is rejected with 413.",
    fallback: "0",
    isReloadable: true,
    ...limitUpTo("bytes", 999_999_999_999_999),
  },
  maxResourceFileBytes: {
    about: "The maximum size of the files of one resource together; more are rejected with 413.",
    fallback: "0",
    isReloadable: true,
    ...limitUpTo("bytes", 999_999_999_999_999),
  },
  maxSubjectFileBytes: {
    about:
      "The maximum size of the files of all resources of one subject; more are rejected with 507.",
    fallback: "0",
    ...limitUpTo("bytes", 999_999_999_999_999),
  },
  maxTotalFileBytes: {
    about: "The maximum size of all files together; more are rejected with 507.",
    fallback: "0",
    ...limitUpTo("bytes", 999_999_999_999_999),
  },
  maxInFlightBytes: {
    about:
      "The maximum number of bytes of request and response bodies that each process holds in memory; a request that needs more is rejected with 503.",
    fallback: "134217728",
    isReloadable: true,
    ...wholeNumbers("bytes", 16_777_216, 1_099_511_627_776),
  },
  rateLimitPerAddress: {
    about:
      "The maximum number of requests per minute from one client address (IPv6: one /64), in each process; more are rejected with 429.",
    fallback: "0",
    isReloadable: true,
    ...limitUpTo("requests", 1_000_000),
  },
  rateLimitPerToken: {
    about:
      "The maximum number of requests per minute with one token, in each process; more are rejected with 429.",
    fallback: "0",
    isReloadable: true,
    ...limitUpTo("requests", 1_000_000),
  },
  queryDeadline: {
    about:
      "How many seconds a query may take, its wait for other queries included; then it is stopped and answered with 504.",
    fallback: "10",
    isReloadable: true,
    // The runtimes close a connection that is silent for 120 seconds.
    ...wholeNumbers("seconds", 1, 100),
  },
  maxCounted: {
    about:
      "How many index entries and resources a query may look at for an exact total; beyond that the total is null, with a lower limit in totalAtLeast.",
    fallback: "1000000",
    ...wholeNumbers("entries", 1, 1_000_000_000),
  },
  maxCascade: {
    about:
      "How many other resources a request may delete or change because they refer to what it deletes; more are rejected with 409.",
    fallback: "1000",
    isReloadable: true,
    ...wholeNumbers("resources", 0, 10_000),
  },
  keepRemovedDays: {
    about:
      "How many days a removed resource appears in change feeds. A client that asks with an older position has to make a new copy.",
    fallback: "30",
    ...wholeNumbers("days", 1, 36_500),
  },
  keepKeysHours: {
    about: "How many hours an Idempotency-Key is stored with the response of its request.",
    fallback: "24",
    isReloadable: true,
    ...wholeNumbers("hours", 1, 8_760),
  },
  keepUploadsHours: {
    about:
      "How many hours a resumable upload that is not complete is stored after its last bytes, but not longer than an Idempotency-Key.",
    fallback: "24",
    isReloadable: true,
    ...wholeNumbers("hours", 1, 8_760),
  },
  pictureCacheBytes: {
    about:
      "How many bytes of rendered pictures are kept in the data folder; those that were not used for the longest time are removed.",
    fallback: "1073741824",
    isReloadable: true,
    ...wholeNumbers("bytes", 1_048_576, 1_099_511_627_776),
  },
} satisfies { readonly [Name in keyof LimitConfig]: SettingEntry<LimitConfig[Name]> };

/** In a config, 0 means no limit. */
export const fileLimitsOf = (config: LimitConfig): FileLimits => ({
  perFile: config.maxFileBytes || undefined,
  perResource: config.maxResourceFileBytes || undefined,
  perSubject: config.maxSubjectFileBytes || undefined,
  total: config.maxTotalFileBytes || undefined,
});

/** Undefined without quotas, so that the store counts nothing. */
export function fileQuotasOf(config: LimitConfig): FileQuotas | undefined {
  const { perSubject, total } = fileLimitsOf(config);
  return perSubject === undefined && total === undefined ? undefined : { perSubject, total };
}
