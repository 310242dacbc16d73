// Loaded by Bun for a test file that is started by hand: ends a test that hangs, and none that is slow. Bun limits a test to five seconds; the runner passes a limit itself.

import { setDefaultTimeout } from "bun:test";
import { within } from "./seeds.ts";

setDefaultTimeout(within(600_000).timeout);
