// The client against a real server: every call, ETags, conflicts, retries that write nothing twice, uploads and feeds.
// @runtimes both

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, type ClientOptions, Conflict, etagOf, Problem } from "../../client/index.ts";
import { problemType } from "../../src/http/response/problem.ts";
import { type ProblemKind, problemKinds } from "../../src/model/problem.ts";
import { startApp, type TestApp } from "../http/app.ts";

interface Product {
  readonly id: string;
  readonly name: string;
  readonly price: number;
  readonly tags?: readonly string[];
  readonly maker?: string;
  readonly photo?: { readonly sha256?: string; readonly name?: string };
  readonly size?: { readonly width: number };
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly _expanded?: { readonly maker?: Maker | null };
}

interface Maker {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

interface Shop {
  readonly products: {
    readonly resource: Product;
    readonly draft: Omit<Product, "id" | "createdAt" | "updatedAt" | "_expanded">;
  };
  readonly makers: { readonly resource: Maker; readonly draft: { readonly name: string } };
}

let app: TestApp;
before(async () => {
  app = await startApp();
  const api = client();
  await api.collection("makers").create({ name: "Acme" });
  const definition = {
    schema: {
      type: "object",
      required: ["name", "price"],
      properties: {
        name: { type: "string" },
        price: { type: "number", minimum: 0 },
        tags: { type: "array", items: { type: "string" } },
        maker: { type: "string" },
        size: { type: "object", properties: { width: { type: "number" } } },
        photo: { type: "object" },
      },
    },
    references: { maker: { collection: "makers" } },
    searchable: ["name"],
  };
  const path = "/-/collections/products";
  await api.send({ method: "PUT", path, body: definition });
});
after(() => app.stop());

const client = (options: ClientOptions = {}) =>
  new Client<Shop>(app.url, { token: app.admin, waitMs: 1, ...options });

const products = (options: ClientOptions = {}) => client(options).collection("products");

const unexpected = (): never => assert.fail("it should have failed");

const clear = async () => {
  for await (const one of products().all()) await products().remove(one);
};

/** A fetch that fails as often as the list says, before or after the server has worked. */
function failing(...faults: ("before" | "after" | number)[]): typeof fetch {
  const attempt = async (input: string | URL | Request, init?: RequestInit) => {
    const fault = faults.shift();
    if (fault === "before") throw new TypeError("fetch failed");
    const response = await fetch(input, init);
    if (fault === "after") throw new TypeError("fetch failed");
    return typeof fault === "number"
      ? new Response(null, { status: fault, headers: { "retry-after": "0" } })
      : response;
  };
  return attempt as typeof fetch;
}

describe("a problem", () => {
  it("has the kind that the server gave it", () => {
    for (const kind of Object.keys(problemKinds) as ProblemKind[])
      for (const base of ["", "https://example.org/api"]) {
        const body = { type: problemType(kind, base) };
        assert.equal(new Problem(400, body).kind, kind);
      }
  });
});

describe("the client", () => {
  it("creates, reads, changes and deletes, and remembers tags", async () => {
    const made = await products().create({ name: "Mug", price: 8 });
    assert.equal(made.name, "Mug");
    assert.match(etagOf(made) ?? "", /^".+"$/);
    assert.deepEqual(Object.keys(made), ["id", "name", "price", "createdAt", "updatedAt"]);
    const changed = await products().update(made, { price: 9, size: { width: 3 } });
    assert.deepEqual([changed.price, changed.size], [9, { width: 3 }]);
    const replaced = await products().replace(changed, { name: "Cup", price: 7 });
    assert.deepEqual([replaced.name, replaced.size], ["Cup", undefined]);
    assert.equal(await products().refresh(replaced), replaced);
    assert.equal((await products().refresh(made)).name, "Cup");
    assert.equal(await products().remove(replaced), true);
    assert.equal(await products().remove(replaced.id), false);
    assert.equal(await products().find(made.id), undefined);
    await assert.rejects(products().get(made.id), {
      name: "Problem",
      kind: "not-found",
      status: 404,
    });
    assert.equal((await products().replace("own-id", { name: "Own", price: 1 })).id, "own-id");
  });

  it("tells errors with their pointers", async () => {
    const wrong = { name: 1, price: "x" } as unknown as Shop["products"]["draft"];
    const problem = await products()
      .create(wrong)
      .then(unexpected, (error: Problem) => error);
    assert.ok(problem instanceof Problem);
    assert.deepEqual([problem.kind, problem.title], ["invalid-body", "The body is not valid"]);
    assert.equal(problem.at("/name").length, 1);
    assert.equal(problem.at("/price").length, 1);
    assert.equal(problem.at("").length, 2);
    assert.ok(problem.requestId);
  });

  it("shows both versions of a conflict", async () => {
    const made = await products().create({ name: "Vase", price: 20 });
    const theirs = await products().update(made, { price: 21 });
    for (const write of [
      () => products().update(made, { price: 22 }),
      () => products().replace(made, { name: "Vase", price: 22 }),
      () => products().remove(made),
    ]) {
      const error = await write().then(unexpected, (error: unknown) => error);
      assert.ok(error instanceof Conflict);
      assert.deepEqual([error.base, error.current], [made, theirs]);
      assert.equal(error.title, "The resource is not in the state you named");
    }
    const { current } = await products()
      .update(made, { price: 23 })
      .then(unexpected, (error: Conflict<Product>) => error);
    assert.equal((await products().update(current ?? made, { price: 23 })).price, 23);
    await products().remove(made.id);
    const gone = await products()
      .update(theirs, { price: 1 })
      .then(unexpected, (error: Problem) => error);
    assert.equal(gone.status, 404);
  });

  it("lists with conditions, order, search, pages and all of them", async () => {
    await clear();
    const [maker] = (await client().collection("makers").list()).data;
    for (let n = 1; n <= 25; n++)
      await products().create({
        ...{ name: `Bowl ${n}`, price: n, tags: [n % 2 ? "odd" : "even"] },
        ...(maker && n < 3 && { maker: maker.id }),
      });
    const page = await products().list({ where: { price: { gt: 5 } }, sort: "-price", limit: 2 });
    assert.deepEqual(
      page.data.map(({ price }) => price),
      [25, 24],
    );
    assert.deepEqual([page.total, page.pages, page.page], [20, 10, 1]);
    assert.ok(page.data.every((one) => etagOf(one) !== undefined && !("_etag" in one)));
    const either = await products().list({ where: { $or: [{ price: 1 }, { name: "Bowl 2" }] } });
    assert.equal(either.total, 2);
    const found = await products().list({ q: "bowl", where: { tags: "odd" }, limit: 1 });
    assert.equal(found.total, 13);
    const ofMaker = await products().list({ where: { "maker.name": "Acme" }, expand: ["maker"] });
    assert.deepEqual(
      ofMaker.data.map(({ _expanded }) => _expanded?.maker?.name),
      ["Acme", "Acme"],
    );
    const some = await products().list({ fields: ["name"], limit: 1 });
    assert.deepEqual(Object.keys(some.data[0] ?? {}), ["id", "name"]);
    const prices: number[] = [];
    for await (const { price } of products().all({ sort: "price", pageSize: 10 }))
      prices.push(price);
    assert.deepEqual(
      prices,
      Array.from({ length: 25 }, (_, n) => n + 1),
    );
    assert.equal(await products().count({ where: { price: { in: [1, 2, 99] } } }), 2);
    const many = Array.from({ length: 2_000 }, (_, n) => n + 1_000);
    assert.equal(
      await products().count({ where: { price: { in: [...many.slice(0, 90), 3] } } }),
      1,
    );
    const figures = await products().aggregate({
      aggregate: ["count", "sum(price)"],
      by: ["maker"],
    });
    assert.deepEqual(figures.map(({ count }) => count).sort(), [2, 23]);
    const [first] = ofMaker.data;
    if (first) assert.equal((await products().update(first, { price: 1.5 })).price, 1.5);
    const one = await products().get(first?.id ?? "", { expand: ["maker"] });
    assert.equal(one._expanded?.maker?.name, "Acme");
    assert.equal((await products().update(one, { price: 1 })).price, 1);
  });

  it("sends again what can succeed later, and writes nothing twice", async () => {
    await clear();
    for (const faults of [
      ["before"],
      ["after"],
      [503],
      ["after", 429, "before", "after"],
    ] as const) {
      const shop = products({ fetch: failing(...faults) });
      const made = await shop.create({ name: "Once", price: 1 });
      assert.equal(await products().count(), 1, faults.join());
      const patched = await products({ fetch: failing(...faults) }).update(made, { price: 2 });
      assert.equal(patched.price, 2);
      const put = { name: "Once", price: 3 };
      assert.equal((await products({ fetch: failing(...faults) }).replace(patched, put)).price, 3);
      await products({ fetch: failing(...faults) }).remove(made.id);
      assert.equal(await products().count(), 0);
    }
    const never = products({ fetch: failing("before", "before"), retries: 1 });
    await assert.rejects(never.list(), { name: "NoAnswer", title: "The server does not answer" });
    const refused = products({ fetch: failing(), token: "rst_wrong", retries: 1 });
    await assert.rejects(refused.list(), { status: 401 });
  });

  it("sends another key with each call, also in pages without TLS, which have no randomUUID", async () => {
    const keys = new Set<string | null>();
    const noting = (async (input: string, init: RequestInit) => {
      keys.add(new Headers(init.headers).get("idempotency-key"));
      return fetch(input, init);
    }) as typeof fetch;
    const { randomUUID } = crypto;
    Object.defineProperty(crypto, "randomUUID", { value: undefined, configurable: true });
    try {
      for (const price of [1, 2]) await products({ fetch: noting }).create({ name: "Key", price });
    } finally {
      Object.defineProperty(crypto, "randomUUID", { value: randomUUID, configurable: true });
    }
    assert.equal(keys.size, 2);
    for (const key of keys) assert.match(key ?? "", /^"\d+-\d+-\d+-\d+"$/);
    await clear();
  });

  it("stops when its signal is aborted, also while it waits", async () => {
    const abort = new AbortController();
    const waiting = products({ fetch: failing("before") }).list({ signal: abort.signal });
    abort.abort(new Error("enough"));
    await assert.rejects(waiting, { message: "enough" });
  });

  it("runs operations together or not at all", async () => {
    await clear();
    const shop = products();
    const cup = await shop.create({ name: "Cup", price: 1 });
    const [made, changed, removed] = await client().batch([
      shop.in.create({ name: "Pot", price: 5 }),
      shop.in.update(cup, { price: 2 }),
      client()
        .collection("makers")
        .in.remove((await client().collection("makers").create({ name: "X" })).id),
    ]);
    assert.deepEqual([made.name, changed.price, removed], ["Pot", 2, undefined]);
    assert.equal((await shop.update(changed, { price: 3 })).price, 3);
    const stale = client().batch([shop.in.create({ name: "No", price: 1 }), shop.in.remove(cup)]);
    await assert.rejects(stale, { kind: "precondition-failed" });
    assert.equal(await shop.count(), 2);
  });

  it("operates on stored values once, also in a batch, and within the limits", async () => {
    await clear();
    const lost = products({ fetch: failing("after", 503) });
    const cup = await products().create({ name: "Cup", price: 1, tags: ["new"] });
    const sold = await lost.operate(cup.id, {
      ...{ increment: { price: 0.1, "size.width": 2 }, append: { tags: ["sold"] } },
      ...{ remove: { tags: ["new"] }, max: { name: "Mug" } },
    });
    const { name, price, tags, size } = sold;
    assert.deepEqual([name, price, tags, size], ["Mug", 1.1, ["sold"], { width: 2 }]);
    const stale = products().operate(cup, { increment: { price: 1 } });
    await assert.rejects(stale, { name: "Conflict", base: cup, current: sold });
    const [fewer] = await client().batch([
      products().in.operate(sold, { increment: { price: -1 } }),
      products().in.create({ name: "Pot", price: 5 }),
    ]);
    assert.equal(fewer.price, 0.1);
    const tooMany = client().batch([
      products().in.create({ name: "No", price: 1 }),
      products().in.operate(cup.id, { increment: { price: -1 } }),
    ]);
    const problem = await tooMany.then(unexpected, (error: Problem) => error);
    assert.equal(problem.status, 409);
    assert.equal(problem.at("/operations/1").length, 1);
    assert.equal(await products().count(), 2);
  });

  it("sends a key of one's own, and the same key writes once", async () => {
    await clear();
    const options = { headers: { "Idempotency-Key": '"order-17"' } };
    const order = () => client().batch([products().in.create({ name: "Mug", price: 5 })], options);
    const [[first], [again]] = [await order(), await order()];
    assert.equal(first.id, again.id);
    assert.equal(await products().count(), 1);
  });

  it("follows changes", async () => {
    await clear();
    const shop = products();
    const start = await shop.changes();
    const made = await shop.create({ name: "New", price: 1 });
    const page = await shop.changes({ since: start.next });
    assert.deepEqual(page.changes, [{ resource: made }]);
    const abort = new AbortController();
    const seen: string[] = [];
    const follower = shop.follow({ since: page.next, everyMs: 10, signal: abort.signal });
    for await (const { changes } of follower) {
      for (const change of changes)
        seen.push("removed" in change ? `-${change.removed}` : change.resource.name);
      if (seen.length === 0) await shop.update(made, { name: "Newer" });
      if (seen.length === 1) await shop.remove(made.id);
      if (seen.length === 2) abort.abort();
    }
    assert.deepEqual(seen, ["Newer", `-${made.id}`]);
    await assert.rejects(shop.changes({ since: "1" }), { kind: "invalid-parameter", status: 400 });
  });

  it("sends files with progress, in parts after failures, and reads them", async () => {
    const shop = products();
    const made = await shop.create({ name: "Film", price: 1 });
    const bytes = Uint8Array.from({ length: 100_000 }, (_, n) => n % 251);
    const file = new File([bytes], "a 'b' (1)*!.png", { type: "image/png" });
    for (const partBytes of [1_000_000, 30_000]) {
      const sent: number[] = [];
      const fetch =
        partBytes < file.size
          ? failing(undefined as never, "after", undefined as never, 503)
          : failing();
      const target = products({ fetch }).file(made, "photo");
      await target.put(file, { partBytes, onProgress: (done) => sent.push(done) });
      assert.equal(sent.at(-1), file.size);
      assert.ok(
        sent.every((one, at) => one >= (sent[at - 1] ?? 0)),
        sent.join(),
      );
      assert.equal((await shop.get(made.id)).photo?.name, file.name);
      const read = await shop.file(made, "photo").get();
      assert.deepEqual(new Uint8Array(await read.arrayBuffer()), bytes);
    }
    assert.equal((await fetch(shop.file(made, "photo").url)).status, 401);
    await shop.file(made.id, "photo").remove();
    await assert.rejects(shop.file(made.id, "photo").get(), { status: 404 });
  });

  it("goes on with an upload whose parts were sent twice, as a browser does after a cut", async () => {
    const made = await products().create({ name: "Film", price: 1 });
    const twice = async (input: string, init: RequestInit) => {
      if (init.method === "PATCH") await fetch(input, init);
      return fetch(input, init);
    };
    const bytes = Uint8Array.from({ length: 100_000 }, (_, n) => n % 251);
    const photo = products({ fetch: twice as never }).file(made, "photo");
    await photo.put(new Blob([bytes]), { partBytes: 30_000 });
    assert.deepEqual(new Uint8Array(await (await photo.get()).arrayBuffer()), bytes);
  });

  it("sends a file over a line that cuts every part, as long as bytes arrive", async () => {
    const made = await products().create({ name: "Film", price: 1 });
    let cuts = 0;
    /** Half of each part arrives; a last byte does. */
    const cut = async (input: string, init: RequestInit) => {
      if (!(init.body instanceof Blob) || init.body.size < 2) return fetch(input, init);
      const headers = new Headers(init.headers);
      headers.set("Upload-Complete", "?0");
      const body = init.body.slice(0, init.body.size / 2);
      assert.ok((await fetch(input, { ...init, headers, body })).ok);
      cuts++;
      throw new TypeError("the connection was cut");
    };
    const bytes = Uint8Array.from({ length: 1_000 }, (_, n) => n % 251);
    const photo = products({ fetch: cut as never }).file(made, "photo");
    await photo.put(new Blob([bytes]), { partBytes: 64 });
    assert.ok(cuts > 16, `${cuts} cuts`);
    assert.deepEqual(new Uint8Array(await (await photo.get()).arrayBuffer()), bytes);
  });

  it("goes on where another request for a part was in the way", async () => {
    const made = await products().create({ name: "Film", price: 1 });
    let conflicts = 0;
    /** As a browser does with a part that it sends again: the bytes arrive, and one of the answers is a conflict. */
    const twice = async (input: string, init: RequestInit) => {
      const response = await fetch(input, init);
      const isPart = init.method === "PATCH" && conflicts++ % 2 === 0;
      if (!isPart || new Headers(init.headers).get("upload-complete") === "?1") return response;
      return Response.json({ type: "/-/problems/conflict", status: 409 }, { status: 409 });
    };
    const bytes = Uint8Array.from({ length: 1_000 }, (_, n) => n % 251);
    const photo = products({ fetch: twice as never }).file(made, "photo");
    await photo.put(new Blob([bytes]), { partBytes: 64 });
    assert.ok(conflicts > 8, `${conflicts} parts`);
    assert.deepEqual(new Uint8Array(await (await photo.get()).arrayBuffer()), bytes);
  });

  it("removes an upload that is not gone on with", async () => {
    const made = await products().create({ name: "Film", price: 1 });
    const abort = new AbortController();
    let removed = (_: readonly [method: string, status: number]): void => {};
    const removal = new Promise<readonly [string, number]>((resolve) => {
      removed = resolve;
    });
    let upload = "";
    const watched = async (input: string, init: RequestInit) => {
      if (init.method === "PATCH") upload = input;
      const response = await fetch(input, init);
      if (init.method === "DELETE") removed([input, response.status]);
      return response;
    };
    const put = products({ fetch: watched as never })
      .file(made, "photo")
      .put(new Blob(["some text"]), {
        ...{ partBytes: 2, signal: abort.signal },
        onProgress: (sent) => sent === 4 && abort.abort(new Error("cancelled")),
      });
    await assert.rejects(put, { message: "cancelled" });
    assert.deepEqual(await removal, [upload, 204]);
  });

  it("replaces a file only if it is the one that was seen, where it is told to", async () => {
    const made = await products().create({ name: "Film", price: 1 });
    const photo = products().file(made, "photo");
    const only = (headers: Record<string, string>) => (text: string, partBytes?: number) =>
      photo.put(new Blob([text]), { headers, ...(partBytes && { partBytes }) });
    const ifNew = only({ "If-None-Match": "*" });
    await ifNew("first");
    await assert.rejects(ifNew("second"), { status: 412 });
    const { photo: seen } = await products().get(made.id);
    const ifSeen = only({ "If-Match": `"${seen?.sha256}"` });
    await ifSeen("third");
    await assert.rejects(ifSeen("fourth"), { status: 412 });
    await assert.rejects(ifSeen("in several parts", 4), { status: 412 });
    assert.equal(await (await photo.get()).text(), "third");
    await products()
      .file(made, "photo")
      .put(new Blob(["last"]));
    assert.equal(await (await photo.get()).text(), "last");
  });

  it("asks for the token before each request", async () => {
    let asked = 0;
    const api = client({ token: async () => (asked++ === 0 ? "rst_old" : app.admin) });
    await assert.rejects(api.collection("products").list(), { status: 401 });
    assert.ok((await api.collection("products").list()).data);
    const plain = await api.send({ method: "GET", path: "/products?limit=1" });
    assert.equal(plain.headers.get("content-type"), "application/json");
  });
});
