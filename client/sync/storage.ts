// Where a copy and its writes are stored: the contract, and a storage in memory.

/** A key and its value; undefined deletes it. */
export type StoredRecord = readonly [key: string, value: object | undefined];

export interface SyncStorage {
  /** Set where several tabs can open it at the same time: they share a lock and a channel of this name. */
  readonly name?: string;
  /** Everything that is stored. It is called again after a failure. */
  load(): Promise<readonly StoredRecord[]>;
  /** All of it, or nothing: then it rejects. What was saved is there after a crash. */
  save(records: readonly StoredRecord[]): Promise<void>;
  close?(): void;
}

/** Lasts as long as the program; who keeps it can open it again. */
export function memory(): SyncStorage {
  const records = new Map<string, object>();
  return {
    load: async () => structuredClone([...records]),
    save: async (changes) => {
      for (const [key, value] of structuredClone(changes))
        if (value) records.set(key, value);
        else records.delete(key);
    },
  };
}
