// The writer's thread, but death sees each message first.

import "./death.ts";
import "../../../../src/store/sqlite/writer.ts";
