// The command `docs`: prints a page of the documentation, or the index of all pages.

import { CliError } from "../lib/cli-error.ts";
import { documentationPages } from "../lib/program.ts";
import { isTypo, lettersOf } from "../lib/typo.ts";

const index = "README";

/** The name may be that of a link, such as `tls.md#renewal`. */
export function printPage(wanted = index): void {
  const pages = documentationPages();
  if (pages.size === 0)
    throw new CliError(1, "This package has no documentation in it: see docs/ in the repository.");
  const [name = ""] = wanted.split(/\.md|#/, 1);
  const page = pages.get(name);
  if (page === undefined) {
    const names = [...pages.keys()].sort();
    const meant = names.find((each) => isTypo(lettersOf(name), lettersOf(each)));
    const hint = meant === undefined ? `There are: ${names.join(", ")}.` : `Did you mean ${meant}?`;
    throw new CliError(2, `There is no page ${wanted}. ${hint}`);
  }
  process.stdout.write(page);
}
