// Loaded by Bun before each test file: ends a test that hangs, and none that is slow. Bun's own limit is five seconds.

import { setDefaultTimeout } from "bun:test";
import { within } from "./seeds.ts";

setDefaultTimeout(within(600_000).timeout);
