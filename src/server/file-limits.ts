// Reads the limits of files from a config, in which 0 means no limit.

import type { FileLimits } from "../domain/file-limits.ts";
import type { FileQuotas } from "../store/core/file-use.ts";
import type { Config } from "./config.ts";

export const fileLimitsOf = (config: Config): FileLimits => ({
  perFile: config.maxFileBytes || undefined,
  perResource: config.maxResourceFileBytes || undefined,
  perSubject: config.maxSubjectFileBytes || undefined,
  total: config.maxTotalFileBytes || undefined,
});

/** Undefined without quotas, so that the store counts nothing. */
export function fileQuotasOf(config: Config): FileQuotas | undefined {
  const { perSubject, total } = fileLimitsOf(config);
  return perSubject === undefined && total === undefined ? undefined : { perSubject, total };
}
