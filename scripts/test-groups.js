// Groups the test files that can share a process, because loading the server is most of the time of a small file.

import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Small enough that the cores have work until the end. */
const maxFiles = 8;

/** Tests in these folders start what they need inside their own process. */
const folders = ["./test/model/", "./test/http/"];

/** These start processes or measure memory, or have hooks that would apply to the tests of other files. */
const needsOwnProcess = /child_process|process\.ts"|memory\.ts"|\b(?:before|after)Each\(/;

/** Returns lists of files; those of one list run in one process. */
export function groupFiles(files, root) {
  const canShare = (file) =>
    folders.some((folder) => file.startsWith(folder)) &&
    !needsOwnProcess.test(readFileSync(join(root, file), "utf8"));
  const groups = folders.flatMap((folder) => {
    const sharing = files.filter((file) => file.startsWith(folder) && canShare(file));
    const count = Math.ceil(sharing.length / maxFiles);
    // One of each group in turn, so that slow files with similar names are apart.
    return Array.from({ length: count }, (_, group) =>
      sharing.filter((_, index) => index % count === group),
    );
  });
  const alone = files.filter((file) => !canShare(file));
  return [...groups, ...alone.map((file) => [file])];
}
