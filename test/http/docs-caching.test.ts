// Every definition in the docs: which caches may store what its callers read.

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { isShort } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";

const docs = new URL("../../docs/", import.meta.url);

interface Grant {
  readonly to: unknown;
  readonly where?: Readonly<Record<string, unknown>>;
}

interface Definition {
  readonly access?: { readonly read?: string | readonly Grant[] } & Readonly<
    Record<string, unknown>
  >;
  readonly boundary?: unknown;
}

interface Recipe {
  readonly page: string;
  readonly name: string;
  readonly definition: Definition;
}

const inShell = /-\/collections\/(\w+)["']?[ \n](?:(?!```)[\s\S])*?'(\{[\s\S]*?\})'/g;
const accessDocument = /\/-\/access["']?[ \n](?:(?!```)[\s\S])*?'(\{[\s\S]*?\})'/g;

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** In one document, so that every role and set is there. */
const merged = { roles: {}, sets: {} };
const recipes: Recipe[] = [];
for (const page of (await readdir(docs, { recursive: true })).filter((name) =>
  name.endsWith(".md"),
)) {
  const text = await readFile(new URL(page, docs), "utf8");
  for (const [, given = ""] of text.matchAll(accessDocument)) {
    const { roles, sets } = (parsed(given) ?? {}) as Partial<typeof merged>;
    Object.assign(merged.roles, roles);
    Object.assign(merged.sets, sets);
  }
  for (const [, name = "", given = ""] of text.matchAll(inShell)) {
    const definition = parsed(given) as Definition | undefined;
    // One shows what a mistake is answered with.
    const isWrong = definition !== undefined && "acess" in definition;
    if (definition !== undefined && !isWrong) recipes.push({ page, name, definition });
  }
}

const namesCaller = (condition: unknown): boolean =>
  /"\$(?:me|my|owner)\b/.test(JSON.stringify(condition ?? {}));

interface Kind {
  readonly isRuled: boolean;
  /** For everyone, or for all without a token. */
  readonly isOpen: boolean;
  readonly isOpenInPart: boolean;
}

function kindOf({ access = {}, boundary }: Definition): Kind {
  const { read = "token" } = access;
  const grants = typeof read === "string" ? [{ to: read }] : read;
  const forAll = grants.filter(({ to }) => to === "everyone" || to === "public");
  const isByCaller = [boundary, ...forAll.map((grant: Grant) => grant.where)].some(namesCaller);
  const isOpenInPart = forAll.length > 0 && !isByCaller;
  return {
    isRuled: boundary !== undefined || Object.values(access).some((one) => typeof one !== "string"),
    isOpen: isOpenInPart && forAll.length === grants.length,
    isOpenInPart,
  };
}

/** A resource that everyone sees, if a rule shows some to everyone. */
function sampleFor({ access }: Definition): Record<string, unknown> {
  const { read } = access ?? {};
  const grant = Array.isArray(read) ? read.find(({ to }: Grant) => to === "everyone") : undefined;
  const values = Object.entries(grant?.where ?? {}).filter(([, value]) => !namesCaller(value));
  return Object.fromEntries(values.filter(([, value]) => typeof value !== "object"));
}

/** Definitions of one kind take the same ways through the caches: a short run takes all with the first of each. */
const kinds = new Set<string>();
function waysFor(kind: Kind): { readonly rounds: number; readonly methods: readonly string[] } {
  const text = JSON.stringify(kind);
  const isKnown = kinds.has(text);
  kinds.add(text);
  return isShort && isKnown
    ? { rounds: 1, methods: ["GET"] }
    : { rounds: 3, methods: ["GET", "HEAD"] };
}

let app: TestApp;
const callers = new Map<string, string | null>();
const json = { "content-type": "application/json" };

async function put(path: string, value: unknown): Promise<void> {
  const answer = await app.request(path, {
    method: "PUT",
    headers: json,
    body: JSON.stringify(value),
  });
  assert.ok(answer.status < 300, `${path}: ${await answer.text()}`);
}

before(async () => {
  app = await startApp();
  for (const { collection } of Object.values<{ readonly collection: string }>(merged.sets))
    await put(`/-/collections/${collection}`, { indexed: ["user"] });
  await put("/-/access", merged);
  const made = async (subject: string, roles: readonly string[]) => {
    const body = JSON.stringify({ name: subject, subject, scopes: ["*:*"], roles });
    const answer = await app.request("/-/tokens", { method: "POST", headers: json, body });
    return ((await answer.json()) as { readonly token: string }).token;
  };
  callers.set("nobody", null);
  callers.set("somebody", await made("ann", []));
  callers.set("an editor", await made("eve", Object.keys(merged.roles)));
  callers.set("an administrator", app.admin);
});
after(() => app.stop());

function expected({ isRuled, isOpen, isOpenInPart }: Kind, caller: string): string {
  const isShown = caller === "nobody" ? isOpenInPart : isOpen;
  const isPublic = isShown && !(isRuled && caller === "an administrator");
  return isPublic ? "public, max-age=60" : "private, no-cache";
}

describe("the definitions in the docs", () => {
  it("are found", () => {
    const count = (one: keyof Kind) =>
      recipes.filter((each) => kindOf(each.definition)[one]).length;
    assert.ok(recipes.length > 20 && count("isRuled") >= 6, `${recipes.length}`);
    assert.ok(count("isOpenInPart") - count("isOpen") >= 2, "recipes with more for some");
  });

  for (const [index, { page, name, definition }] of recipes.entries())
    it(`say who may store what is read: ${name} in ${page}`, async () => {
      const own = `${name}${index}`;
      await put(`/-/collections/${own}`, {
        ...definition,
        // They name other collections and fields, and say nothing about who reads.
        references: undefined,
        unique: undefined,
        cache: { maxAge: 60 },
      });
      const body = JSON.stringify(sampleFor(definition));
      const posted = await app.request(`/${own}`, { method: "POST", headers: json, body });
      const location = posted.status === 201 ? posted.headers.get("location") : null;
      const queries = ["", "?limit=1", "?sort=-createdAt", "?fields=id", "?since=0"];
      const paths = [...queries.map((query) => `/${own}${query}`), ...(location ? [location] : [])];
      const kind = kindOf(definition);
      const { rounds, methods } = waysFor(kind);
      let found = 0;
      // Answers to one caller are kept, in several places, and must not be sent to another.
      for (let round = 0; round < rounds; round++)
        for (const path of paths)
          for (const method of methods)
            for (const accept of ["application/json", "application/x-ndjson"])
              for (const [caller, token] of callers) {
                const { status, headers } = await app.request(path, {
                  method,
                  token,
                  headers: { accept },
                });
                const asked = `${method} ${path} ${accept} by ${caller}, ${status}`;
                const caching = headers.get("cache-control");
                if (status >= 400) {
                  assert.equal(caching, "no-store", asked);
                  continue;
                }
                found++;
                assert.equal(caching, expected(kind, caller), asked);
                if (kind.isRuled && (!kind.isOpen || caller === "an administrator"))
                  assert.match(headers.get("vary") ?? "", /\bAuthorization\b/, asked);
              }
      assert.ok(found > 20, `${found} answers`);
      await app.request(`/-/collections/${own}?confirm=${own}`, { method: "DELETE" });
    });
});
