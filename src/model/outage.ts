// The error that is thrown when the storage cannot do what is needed now.

/** Nothing of the change was stored, unless `reason` is `unknown`. */
export class Outage extends Error {
  /**
   * `full`: the disk is full; `busy`: too many requests are waiting; `unavailable`: the storage cannot
   * be reached or written; `unknown`: the connection broke during the commit, which may have succeeded;
   * `suspect`: the disk has failed, and writes are rejected until the data is copied to new files;
   * `damaged`: stored data fails its checksum, and the message may be shown to clients;
   * `timeout`: a query has reached its deadline; `crowded`: too many queries are waiting;
   * `cancelled`: the client has left before its query ended.
   */
  readonly reason:
    | ("full" | "busy" | "unavailable" | "unknown" | "suspect" | "damaged")
    | ("timeout" | "crowded" | "cancelled");

  constructor(reason: Outage["reason"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** Whether a query took or would have waited too long, so that nothing is wrong with the store. */
export const isLate = (thrown: unknown): boolean =>
  thrown instanceof Outage && (thrown.reason === "timeout" || thrown.reason === "crowded");

/** The place of the files has the outage. Everything that needs no file goes on. */
export class FileOutage extends Outage {}
