// Makes and recognizes the keys under which files are stored.

import { randomBytes } from "node:crypto";

const keyPattern = /^[0-9a-f]{32}$/;

/**
 * Keys are random, not content hashes: with hashes two resources could share one file, and deleting it
 * would need a reference count that survives every crash.
 */
export const newKey = (): string => randomBytes(16).toString("hex");

export const isKey = (key: string): boolean => keyPattern.test(key);
