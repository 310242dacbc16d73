// The shapes of the routes for administrators, as the server declares them.

import type { Json } from "./json.ts";

export interface Token {
  readonly id: string;
  readonly name: string;
  readonly subject: string;
  readonly scopes: readonly string[];
  readonly roles: readonly string[];
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly usedAt: string | null;
  readonly revokedAt: string | null;
}

export interface IssuedToken extends Token {
  /** The secret, which the server shows once. */
  readonly token: string;
}

export interface AccessDocument {
  readonly roles: Readonly<Record<string, readonly string[]>>;
}

export interface Action {
  readonly name: string;
}

export interface SlowQuery {
  readonly collection: string;
  readonly where: string;
  readonly sort: readonly string[];
  readonly search: boolean;
  readonly count: number;
  readonly stopped: number;
  readonly lastAt: string;
  readonly longestMs: number;
  readonly totalMs: number;
  readonly checked: number;
  readonly plan: string;
  readonly missingIndexes: readonly Index[];
  readonly undeclaredFields: readonly string[];
}

/** A field, or several in one index. */
export type Index = string | readonly string[];

export interface BackupRun {
  readonly startedAt: string;
  readonly state: "running" | "done" | "failed";
  readonly seconds: number | null;
  readonly bytes: number | null;
  readonly writtenBytes: number | null;
  readonly error: string | null;
}

export interface Backups {
  readonly schedule: {
    readonly to: string;
    readonly everySeconds: number;
    readonly keepSeconds: number | null;
    readonly nextAt: string | null;
  } | null;
  readonly data: readonly BackupRun[];
}

export interface Setting {
  readonly name: string;
  readonly value: Json;
  readonly source: string;
  readonly from: string | null;
  readonly reloadable: boolean;
}

export interface Reloaded {
  readonly changed: readonly string[];
  readonly needRestart: readonly string[];
  readonly defined: readonly string[];
}

export interface Ready {
  readonly status: string;
  readonly files?: string;
}

/** A list that is not paged. */
export interface List<Item> {
  readonly data: readonly Item[];
}

export interface AdminPage<Item> extends List<Item> {
  readonly total: number;
  readonly pages: number;
}
