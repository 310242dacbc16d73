// The shapes of the routes for administrators, as the server declares them.

import type { FromSchema } from "../../src/lib/schema/from-schema.ts";
import type { reloadedSchema, settingSchema } from "../../src/model/schemas/setting.ts";

export type {
  BackupListView as Backups,
  BackupRunView as BackupRun,
} from "../../src/model/schemas/backup.ts";

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
  readonly relatedIndexes: Readonly<Record<string, readonly Index[]>>;
  readonly undeclaredFields: readonly string[];
}

/** A field, or several in one index. */
export type Index = string | readonly string[];

export type Setting = FromSchema<typeof settingSchema>;
export type Reloaded = FromSchema<typeof reloadedSchema>;

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
