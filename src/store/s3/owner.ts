// Keeps two stores out of one prefix, where each would remove the files of the other: the first one writes its id there.

import { FileOutage } from "../../model/outage.ts";
import type { S3Client } from "./client.ts";
import { ifNone, putObject, readText } from "./objects.ts";

const ownerName = "restante.json";

/** Returns the id of a store. */
export type FindStore = () => Promise<string>;

/** The place belongs to another store. */
export class OtherStore extends FileOutage {}

export class Owner {
  readonly #client: S3Client;
  readonly #findStore: FindStore | undefined;
  #claim: Promise<void> | undefined;

  /** Without a store, nothing is checked. */
  constructor(client: S3Client, findStore: FindStore | undefined) {
    this.#client = client;
    this.#findStore = findStore;
  }

  /** Looks until it has found that the prefix belongs to the store. Rejects with `OtherStore` when it does not. */
  claim(): Promise<void> {
    this.#claim ??= this.#claimNow().catch((error) => {
      this.#claim = undefined;
      throw error;
    });
    return this.#claim;
  }

  async #claimNow(): Promise<void> {
    const store = await this.#findStore?.();
    if (store === undefined) return;
    const owner = `${JSON.stringify({ store })}\n`;
    if (((await this.#read()) ?? (await this.#write(owner))) === owner) return;
    const { bucket, prefix } = this.#client.address;
    throw new OtherStore(
      "unavailable",
      `s3://${bucket}/${prefix} has the files of another store: choose another prefix, or, if that store is gone for ever, delete ${prefix}${ownerName}`,
    );
  }

  #read = (): Promise<string | undefined> => readText(this.#client, ownerName);

  /** Another store may be faster. */
  async #write(owner: string): Promise<string | undefined> {
    await putObject(this.#client, ownerName, Buffer.from(owner), ifNone);
    return this.#read();
  }
}
