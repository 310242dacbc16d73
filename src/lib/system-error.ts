// Reads failed system calls: their code, such as ENOENT, and the reason in words.

/** Returns an empty text when the error has no code. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "";

/** Returns why a file cannot be used, for a sentence that names the file; other errors keep their message. */
export function reasonOf(error: unknown): string {
  const reason = reasons.get(codeOf(error));
  return reason ?? (error instanceof Error ? error.message : String(error));
}

const reasons: ReadonlyMap<string, string> = new Map([
  ["ENOENT", "there is no such file or folder"],
  ["EACCES", "permission denied"],
  ["EPERM", "permission denied"],
  ["EISDIR", "it is a folder"],
  ["ENOTDIR", "a part of the path is no folder"],
  ["EEXIST", "it exists already"],
  ["ELOOP", "a symbolic link points to itself"],
  ["ENAMETOOLONG", "the name is too long"],
  ["ENOSPC", "the disk is full"],
  ["EDQUOT", "the quota of the disk is used up"],
  ["EROFS", "the file system is read-only"],
  ["EMFILE", "too many files are open"],
]);
