// Makes a place of a file bad for good: the first file with this end of its path that is written there fails
// from then on, at each write that touches the place. A file that takes its name has other blocks.
// BAD_NAME is the end of the path, BAD_FROM and BAD_TO are offsets. Only for writes of SQLite: Bun makes others itself.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** A number of an inode is used again, its birth is not. */
static struct statx bad;

static int fails(int fd, off_t at, size_t length) {
  const char *name = getenv("BAD_NAME");
  if (!name || at >= atoll(getenv("BAD_TO")) || at + (off_t)length <= atoll(getenv("BAD_FROM")))
    return 0;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t read = readlink(link, path, sizeof path - 1);
  if (read < 0) return 0;
  path[read] = 0;
  // A file that was deleted under its name keeps its blocks.
  char *deleted = strstr(path, " (deleted)");
  if (deleted) *deleted = 0;
  size_t whole = strlen(path), end = strlen(name);
  if (whole < end || strcmp(path + whole - end, name) != 0) return 0;
  struct statx found;
  if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &found) != 0) return 0;
  if (!bad.stx_ino) bad = found;
  if (found.stx_ino != bad.stx_ino) return 0;
  if (memcmp(&found.stx_btime, &bad.stx_btime, sizeof bad.stx_btime) != 0) return 0;
  errno = EIO;
  return 1;
}

typedef ssize_t (*Write)(int, const void *, size_t, off_t);

static ssize_t write_at(const char *name, int fd, const void *bytes, size_t length, off_t at) {
  return fails(fd, at, length) ? -1 : ((Write)dlsym(RTLD_NEXT, name))(fd, bytes, length, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) {
  return write_at("pwrite", fd, bytes, length, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t at) {
  return write_at("pwrite64", fd, bytes, length, at);
}
