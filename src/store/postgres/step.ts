// Defines a step of the migration of old databases.

import type { Sql } from "./connection.ts";

/** Where the progress of a long migration is reported. */
export type ReportProgress = (message: string) => void;

/**
 * A step runs in one transaction with the update of the version. A function runs in as many transactions
 * as it needs: it returns whether it is done.
 */
export type MigrationStep = string | ((sql: Sql, report: ReportProgress) => Promise<boolean>);
