// Stores a copy in IndexedDB: one object store of records.

import type { StoredRecord, SyncStorage } from "./storage.ts";

/** What is used of IndexedDB, also where the types of browsers are not known. */
interface Request<T> {
  readonly result: T;
  readonly error: unknown;
  onupgradeneeded: () => void;
  onsuccess: () => void;
  onerror: () => void;
}
interface Table {
  getAllKeys(): Request<readonly string[]>;
  getAll(): Request<readonly object[]>;
  put(value: object, key: string): void;
  delete(key: string): void;
}
interface Transaction {
  readonly error: unknown;
  oncomplete: () => void;
  onabort: () => void;
  objectStore(name: string): Table;
}
interface Database {
  onclose: () => void;
  onversionchange: () => void;
  createObjectStore(name: string): void;
  transaction(name: string, mode?: string, options?: object): Transaction;
  close(): void;
}
declare const indexedDB: { open(name: string, version: number): Request<Database> };

const table = "records";

/** All tabs of an origin that use the same name share it. */
export function indexedDb(name: string): SyncStorage {
  let opened: Database | undefined;
  return {
    name,
    load: async () => {
      opened ??= await openDatabase(`restante/${name}`, () => {
        opened = undefined;
      });
      return load(opened);
    },
    save: async (records) => {
      if (!opened) throw new Error("The browser has closed or deleted the database.");
      await save(opened, records);
    },
    close: () => {
      opened?.close();
      opened = undefined;
    },
  };
}

/** `onLost` is called when the browser closes it, or somebody deletes it. */
function openDatabase(name: string, onLost: () => void): Promise<Database> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(table);
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const { result } = request;
      result.onclose = onLost;
      result.onversionchange = () => {
        onLost();
        result.close();
      };
      resolve(result);
    };
  });
}

async function load(database: Database): Promise<readonly StoredRecord[]> {
  const transaction = database.transaction(table);
  const records = transaction.objectStore(table);
  const [keys, values] = [records.getAllKeys(), records.getAll()];
  await ended(transaction);
  return keys.result.map((key, at) => [key, values.result[at]]);
}

async function save(database: Database, changes: readonly StoredRecord[]): Promise<void> {
  const transaction = database.transaction(table, "readwrite", { durability: "strict" });
  const records = transaction.objectStore(table);
  for (const [key, value] of changes)
    if (value) records.put(value, key);
    else records.delete(key);
  await ended(transaction);
}

const ended = (transaction: Transaction): Promise<void> =>
  new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
  });
