// The writer thread with death.ts loaded first.

import "./death.ts";
import "../../../../src/store/sqlite/writer.ts";
