// The console sessions in the documentation: each curl command is run, and its response is the one shown.

import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { startApp, type TestApp } from "./http/app.ts";

const root = new URL("..", import.meta.url);

interface Step {
  readonly line: number;
  readonly command: string;
  /** What the page shows below the command. */
  readonly shown: string;
}

/** The commands of every console block that ask the server, in their order. */
function stepsIn(page: string): readonly Step[] {
  const steps: Step[] = [];
  for (const block of page.matchAll(/^```console\n([\s\S]*?)^```$/gm)) {
    const start = page.slice(0, block.index).split("\n").length;
    const parts = `\n${block[1]}`.split(/\n\$ /).slice(1);
    let line = start + 1;
    for (const part of parts) {
      const lines = part.split("\n");
      const length = commandLength(lines);
      const command = lines.slice(0, length).join("\n");
      if (/^curl\b/.test(command))
        steps.push({ line, command, shown: lines.slice(length).join("\n").trim() });
      line += lines.length;
    }
  }
  return steps;
}

/** A command goes on after a backslash and within quotes. */
function commandLength(lines: readonly string[]): number {
  let text = "";
  for (const [index, line] of lines.entries()) {
    text += `${line}\n`;
    const isQuoted = (text.split("'").length - 1) % 2 === 1;
    if (!isQuoted && !line.endsWith("\\")) return index + 1;
  }
  return lines.length;
}

/** What differs from run to run: ids, tags, times, request ids, secrets and positions. */
const volatile =
  /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?<=")[0-9a-z]{1,2}-[0-9a-z]{6,}(?=\\?")|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT|(?<=(?:"requestId":"|x-request-id: ))[0-9a-f]{16}|rst_\w+|(?<="next":")[^"]+/gi;

const masked = (text: string) => text.replace(volatile, "*");

/** The values of this run for those that the page shows. */
class Values {
  readonly #values = new Map<string, string>();

  learn(shown: string, real: string): void {
    const [before, now] = [shown, real].map((text) => text.match(volatile) ?? []);
    for (const [index, value] of (before ?? []).entries()) {
      const other = now?.[index];
      if (other !== undefined) this.#values.set(value, other);
    }
  }

  in(command: string): string {
    return command.replace(volatile, (value) => this.#values.get(value) ?? value);
  }
}

interface Message {
  readonly head: readonly string[];
  readonly body: string;
}

/** A response with its headers, or a body alone. */
function messageOf(text: string): Message {
  if (!text.startsWith("HTTP/")) return { head: [], body: text.replaceAll(/\n\s*/g, "") };
  const [head = "", ...rest] = text.replaceAll("\r", "").split("\n\n");
  const lines = head.split("\n").filter((line) => line !== "…");
  // The omitted headers are before the body.
  const body = lines.at(-1)?.startsWith("{") ? lines.pop() : undefined;
  return { head: lines, body: (body ?? rest.join("\n")).replaceAll(/\n\s*/g, "").trim() };
}

/** Names of fields in lower case, for the runtimes differ in how they write them. */
const lowered = (line: string): string =>
  line.startsWith("HTTP/") ? line : line.replace(/^[^:]+:/, (name) => name.toLowerCase());

/** The page may leave fields out, but shows none that is not there. */
function assertShown({ shown, line }: Step, output: string, page: string, values: Values): void {
  const [reported, real] = [messageOf(shown), messageOf(output.trim())];
  const where = `${page}:${line}\n${output}`;
  const fields = real.head.map(lowered);
  for (const field of reported.head.map(lowered)) {
    const found = fields.find((each) => masked(each) === masked(field));
    assert.ok(found !== undefined, `there is no "${field}" at ${where}`);
    values.learn(field, found);
  }
  if (reported.body === "") return;
  assert.deepEqual(JSON.parse(masked(real.body)), JSON.parse(masked(reported.body)), where);
  values.learn(reported.body, real.body);
}

/** What a page takes for granted: done before the first command that contains the text. */
type Preparation = Readonly<Record<string, (app: TestApp) => Promise<unknown>>>;

const json = { "content-type": "application/json" };

const put = (app: TestApp, path: string, body: unknown) =>
  app.request(path, { method: "PUT", headers: json, body: JSON.stringify(body) });

/** As if the collection had never been there. */
const forget = (app: TestApp, name: string) =>
  app.request(`/-/collections/${name}?confirm=${name}`, { method: "DELETE" });

const pages: Readonly<Record<string, Preparation>> = {
  "README.md": {},
  "docs/tour.md": {},
  "docs/postgres.md": {},
  "docs/reference/http.md": {
    "people?limit=1": (app) => app.post("people", { name: "Bob" }),
    "counters/visits -H": (app) => put(app, "/counters/visits", { count: 41 }),
    "since=0": async (app) => {
      await forget(app, "people");
      for (const count of [1, 2, 3, 4]) await put(app, "/people/ada", { count });
      await app.request("/people/ada", { method: "DELETE" });
      await app.post("people", { name: "Grace" });
    },
  },
  "docs/reference/problems.md": {
    "people?limit=5000": (app) => app.post("people", { name: "Ada" }),
    "/orders": (app) =>
      app.request("/orders", {
        method: "POST",
        headers: { ...json, "idempotency-key": '"8e03978e-40d5-43dd-bc93-6894a57f9324"' },
        body: "{}",
      }),
  },
};

const skip = spawnSync("curl", ["--version"]).error !== undefined && "curl is missing";

describe("the console sessions", () => {
  it("are listed here for every page that has some", async () => {
    const docs = await readdir(new URL("docs/", root), { recursive: true });
    for (const page of docs.filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`)) {
      const steps = stepsIn(await readFile(new URL(page, root), "utf8"));
      assert.ok(steps.length === 0 || page in pages, page);
    }
  });

  for (const [page, preparation] of Object.entries(pages)) {
    it(`in ${page} have the responses that they show`, { skip }, async () => {
      const steps = stepsIn(await readFile(new URL(page, root), "utf8"));
      assert.ok(steps.length > 0);
      const app = await startApp();
      const values = new Values();
      const due = new Map(Object.entries(preparation));
      try {
        for (const step of steps) {
          for (const [text, prepare] of due) {
            if (!step.command.includes(text)) continue;
            due.delete(text);
            await prepare(app);
          }
          const output = await run(app, values.in(step.command));
          assertShown(step, output, page, values);
        }
      } finally {
        await app.stop();
      }
    });
  }
});

async function run(app: TestApp, command: string): Promise<string> {
  const here = command
    .replaceAll(/(?:http:\/\/)?localhost:80\d\d/g, app.url)
    .replace(/^curl/, "curl -sS");
  const READER = await app.token("people:read");
  const env = { PATH: process.env.PATH ?? "", TOKEN: app.admin, READER };
  const { stdout } = await promisify(execFile)("bash", ["-c", here], { env });
  return stdout;
}
