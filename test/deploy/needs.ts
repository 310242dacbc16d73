// Says why a test of deploy/ cannot run here: programs of Debian that are missing, or rights.

import { missing } from "../generators/tools.ts";

/** The Debian package of a program, where it has another name. */
const packages: Readonly<Record<string, string>> = {
  promtool: "prometheus",
  "systemd-analyze": "systemd",
  bwrap: "bubblewrap",
  python3: "python3-venv",
};

/** Returns a reason to skip, or false. What tools say does not depend on the runtime, so Node is enough. */
export function unless(programs: readonly string[], needsRoot = false): string | false {
  if ("bun" in process.versions) return "runs under Node only";
  if (needsRoot && process.getuid?.() !== 0) return "needs root";
  const names = missing(programs).map((program) => packages[program] ?? program);
  return names.length > 0 && `missing: apt-get install ${names.join(" ")}`;
}
