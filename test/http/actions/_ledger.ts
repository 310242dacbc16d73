// State that the test actions share. Its name begins with `_`, so it is not an action.

import { EventEmitter } from "node:events";

/** What was recorded after the response. */
export const seen: string[] = [];

/** Says `written` when an action that will exceed its deadline has written what it may. */
export const steps = new EventEmitter();
