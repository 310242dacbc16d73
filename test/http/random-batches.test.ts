// Random batches, also with upserts and operations, do what their operations do one after the other, or nothing.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import type { Answer } from "./expect.ts";

interface Operation {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: object;
  readonly contentType?: string;
}

const collections = ["alone", "together"] as const;
const operationsType = "application/vnd.restante.operations+json";

for (const store of storesHere("postgres", ["sqlite", "postgres"]))
  describe(`random batches on ${store}`, () => {
    let app: TestApp;
    let client: Client;
    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {});
      client = new Client(app);
      for (const name of collections)
        await client.put(`/-/collections/${name}`, { unique: ["sku"] });
    });
    after(() => app.stop());

    const list = async (name: string): Promise<readonly Readonly<Record<string, unknown>>[]> =>
      (await client.json<{ data: Record<string, unknown>[] }>(`/${name}?limit=1000`)).data;

    /** The resources without the ids that the server makes. */
    const stateOf = async (name: string): Promise<readonly string[]> =>
      (await list(name))
        .map(({ id, sku, n }) => JSON.stringify([`${id}`.length === 1 ? id : "new", sku, n]))
        .toSorted();

    const reset = async (name: string): Promise<void> => {
      for (const { id } of await list(name)) await client.remove(`/${name}/${id}`);
      await client.put(`/${name}/x`, { sku: "A", n: 1 });
      await client.put(`/${name}/y`, { n: 2 });
    };

    const send = ({ method, path, body = {}, contentType }: Operation): Promise<Answer> => {
      if (method === "DELETE") return client.remove(path);
      if (method === "POST") return client.post(path, body);
      if (method === "PUT") return client.put(path, body);
      return client.patch(path, body, contentType ? { "content-type": contentType } : {});
    };

    /** Stops at the first that fails. */
    const statusesOf = async (operations: readonly Operation[]): Promise<readonly number[]> => {
      const statuses: number[] = [];
      for (const operation of operations) {
        const { status } = await send(operation);
        statuses.push(status);
        if (status >= 400) break;
      }
      return statuses;
    };

    it("do what their operations do one after the other, or nothing", async () => {
      const random = randomNumbers(newSeed(`batches on ${store}`));
      const pick = <T>(values: readonly T[]): T =>
        values[Math.floor(random() * values.length)] as T;
      const draw = (name: string): Operation => {
        const [id, sku, n] = [pick(["x", "y", "z"]), pick(["A", "B", "C"]), pick([1, 2, 3])];
        const path = `/${name}/${id}`;
        const byValue = `/${name}?sku=${sku}`;
        return pick<Operation>([
          { method: "PUT", path, body: { sku, n } },
          { method: "PATCH", path, body: { sku } },
          { method: "PATCH", path, body: { increment: { n } }, contentType: operationsType },
          { method: "DELETE", path },
          { method: "POST", path: `/${name}`, body: { sku, n } },
          { method: "PUT", path: byValue, body: { n } },
          { method: "PUT", path: byValue, body: { sku, id } },
        ]);
      };
      for (let round = 0; round < runs(10, 400); round++) {
        for (const name of collections) await reset(name);
        const count = 1 + Math.floor(random() * 5);
        const operations = Array.from({ length: count }, () => draw("alone"));
        const statuses = await statusesOf(operations);
        const failed = statuses.find((status) => status >= 400);
        const before = await stateOf("together");
        const batch = operations.map(({ path, ...rest }) => {
          return { ...rest, path: path.replace("alone", "together") };
        });
        const { status, body } = await client.batch(batch);
        const detail = `${JSON.stringify(operations)} ${statuses} ${body}`;
        // Which of several errors a batch reports is open: unique values are compared last.
        if (failed === undefined) assert.equal(status, 200, detail);
        else assert.ok([404, 409].includes(status), detail);
        const { results } = JSON.parse(body) as { results?: readonly { status: number }[] };
        if (failed === undefined)
          assert.deepEqual(
            results?.map((result) => result.status),
            statuses,
            detail,
          );
        const expected = failed === undefined ? await stateOf("alone") : before;
        assert.deepEqual(await stateOf("together"), expected, detail);
      }
    });
  });
