// Starts etcd, three nodes of Postgres with Patroni, and HAProxy, with the configuration in deploy/patroni.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { freePort } from "./free-port.ts";

const shipped = fileURLToPath(new URL("../../deploy/patroni", import.meta.url));
const passwords = { superuser: "super", replication: "follow", rewind: "rewind" };

/** Longer than anything takes on a busy machine. */
const patienceMs = 180_000;

/** Postgres does not run as root. */
const asPostgres =
  userInfo().uid === 0 ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] : [];

interface Node {
  readonly name: string;
  readonly port: number;
  readonly apiPort: number;
  readonly data: string;
  child: ChildProcess | undefined;
}

export class PatroniCluster {
  readonly #folder: string;
  readonly #nodes: readonly Node[];
  readonly #others: ChildProcess[] = [];
  readonly #etcdPort: number;
  readonly #proxyPort: number;

  private constructor(folder: string, nodes: readonly Node[], ports: readonly [number, number]) {
    this.#folder = folder;
    this.#nodes = nodes;
    [this.#etcdPort, this.#proxyPort] = ports;
  }

  static async start(): Promise<PatroniCluster> {
    const folder = mkdtempSync(join(tmpdir(), "restante-patroni-"));
    if (asPostgres.length > 0) execFileSync("chown", ["postgres:postgres", folder]);
    const ports = await Promise.all(Array.from({ length: 9 }, freePort));
    const [etcd = 0, peers = 0, proxy = 0, ...rest] = ports;
    const nodes = [1, 2, 3].map(
      (number, index): Node => ({
        name: `node${number}`,
        port: rest[index] ?? 0,
        apiPort: rest[index + 3] ?? 0,
        data: join(folder, `node${number}`),
        child: undefined,
      }),
    );
    const cluster = new PatroniCluster(folder, nodes, [etcd, proxy]);
    cluster.#startEtcd(peers);
    cluster.#startProxy();
    for (const node of nodes) cluster.#startNode(node);
    await cluster.untilAll(3);
    return cluster;
  }

  /** The address that leads to the leader. */
  get url(): string {
    return `postgres://postgres:${passwords.superuser}@127.0.0.1:${this.#proxyPort}/restante`;
  }

  async createDatabase(): Promise<void> {
    const sql = postgres(this.url.replace(/restante$/, "postgres"), { max: 1 });
    await sql`CREATE DATABASE restante`;
    await sql.end();
  }

  async leader(): Promise<Node> {
    for (const end = Date.now() + patienceMs; Date.now() < end; await sleep(200))
      for (const node of this.#nodes)
        if (node.child !== undefined && (await this.#asks(node, "/primary"))) return node;
    throw new Error(`there is no leader: ${this.log()}`);
  }

  /** Resolves when there is a leader, a synchronous standby, and so many nodes in all that run. */
  async untilAll(count: number): Promise<void> {
    for (const end = Date.now() + patienceMs; Date.now() < end; await sleep(500)) {
      const running = await Promise.all(this.#nodes.map((node) => this.#asks(node, "/health")));
      const standbys = await Promise.all(this.#nodes.map((node) => this.#asks(node, "/sync")));
      const leaders = await Promise.all(this.#nodes.map((node) => this.#asks(node, "/primary")));
      const isComplete = running.filter(Boolean).length === count;
      if (isComplete && leaders.includes(true) && standbys.includes(true)) return;
    }
    throw new Error(`the cluster is not complete: ${this.log()}`);
  }

  /** Ends Patroni and Postgres at once, as the loss of the machine does. */
  async kill(node: Node): Promise<void> {
    const ended = node.child && once(node.child, "exit");
    this.#signal(node, "SIGKILL");
    await ended;
    node.child = undefined;
  }

  /** Stops both where they are, as a machine that hangs. */
  pause(node: Node): void {
    this.#signal(node, "SIGSTOP");
  }

  resume(node: Node): void {
    this.#signal(node, "SIGCONT");
  }

  restart(node: Node): void {
    this.#startNode(node);
  }

  log(): string {
    const logs = readdirSync(this.#folder).filter((name) => name.endsWith(".log"));
    return logs
      .map((name) => readFileSync(join(this.#folder, name), "utf8").slice(-2_000))
      .join("\n");
  }

  async stop(): Promise<void> {
    for (const node of this.#nodes) {
      this.#signal(node, "SIGCONT");
      this.#signal(node, "SIGKILL");
    }
    for (const child of this.#others) child.kill("SIGKILL");
    // The processes of Postgres end when their parent is gone.
    await sleep(1_000);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #startEtcd(peerPort: number): void {
    const client = `http://127.0.0.1:${this.#etcdPort}`;
    const peer = `http://127.0.0.1:${peerPort}`;
    this.#run("etcd", "etcd", {}, [
      ...["--data-dir", join(this.#folder, "etcd"), "--name", "etcd1"],
      ...["--listen-client-urls", client, "--advertise-client-urls", client],
      ...["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer],
      ...["--initial-cluster", `etcd1=${peer}`, "--unsafe-no-fsync"],
    ]);
  }

  #startProxy(): void {
    let text = readFileSync(join(shipped, "haproxy.cfg"), "utf8").replace(
      "bind 127.0.0.1:5000",
      `bind 127.0.0.1:${this.#proxyPort}`,
    );
    for (const [index, { port, apiPort }] of this.#nodes.entries())
      text = text.replace(
        `10.0.0.${index + 1}:5432 check port 8008`,
        `127.0.0.1:${port} check port ${apiPort}`,
      );
    const file = join(this.#folder, "haproxy.cfg");
    writeFileSync(file, text);
    this.#run("haproxy", "haproxy", {}, ["-db", "-f", file]);
  }

  #startNode(node: Node): void {
    const file = join(this.#folder, "patroni.yaml");
    const text = readFileSync(join(shipped, "patroni.yaml"), "utf8")
      .replace("10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379", `127.0.0.1:${this.#etcdPort}`)
      .replaceAll("10.0.0.0/24", "127.0.0.1/32");
    writeFileSync(file, text);
    chmodSync(file, 0o644);
    mkdirSync(join(this.#folder, "run"), { recursive: true });
    chmodSync(join(this.#folder, "run"), 0o777);
    node.child = this.#run(node.name, "patroni", environmentOf(node), [file], true);
  }

  /** Writes what the program prints into a file, which a failure shows. */
  #run(
    name: string,
    program: string,
    env: Readonly<Record<string, string>>,
    args: readonly string[],
    isNode = false,
  ): ChildProcess {
    const log = join(this.#folder, `${name}.log`);
    const words = ["sh", "-c", `exec "$@" >> ${log} 2>&1`, "sh", program, ...args];
    const [first = "", ...rest] = [...asPostgres, ...words];
    const all = { PATH: `${process.env.PATH}:/usr/sbin`, LC_ALL: "C.UTF-8", ...env };
    const child = spawn(first, rest, { env: all, cwd: this.#folder, stdio: "ignore" });
    if (!isNode) this.#others.push(child);
    return child;
  }

  async #asks({ apiPort }: Node, path: string): Promise<boolean> {
    try {
      const signal = AbortSignal.timeout(2_000);
      return (await fetch(`http://127.0.0.1:${apiPort}${path}`, { signal })).status === 200;
    } catch {
      return false;
    }
  }

  #signal(node: Node, signal: NodeJS.Signals): void {
    node.child?.kill(signal);
    for (const pid of processesOf(node.data)) trySignal(pid, signal);
  }
}

const environmentOf = ({ name, port, apiPort, data }: Node): Readonly<Record<string, string>> => ({
  PATRONI_NAME: name,
  PATRONI_RESTAPI_LISTEN: `127.0.0.1:${apiPort}`,
  PATRONI_RESTAPI_CONNECT_ADDRESS: `127.0.0.1:${apiPort}`,
  PATRONI_POSTGRESQL_LISTEN: `127.0.0.1:${port}`,
  PATRONI_POSTGRESQL_CONNECT_ADDRESS: `127.0.0.1:${port}`,
  PATRONI_POSTGRESQL_DATA_DIR: data,
  PATRONI_SUPERUSER_PASSWORD: passwords.superuser,
  PATRONI_REPLICATION_PASSWORD: passwords.replication,
  PATRONI_REWIND_PASSWORD: passwords.rewind,
});

/** Returns the first process of Postgres on a folder and its children. */
function processesOf(data: string): readonly number[] {
  const first = Number(readFirstLine(join(data, "postmaster.pid")));
  if (!(first > 0)) return [];
  const all = readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0);
  return [first, ...all.filter((pid) => parentOf(pid) === first)];
}

function readFirstLine(path: string): string {
  try {
    return readFileSync(path, "utf8").split("\n")[0] ?? "";
  } catch {
    return "";
  }
}

const parentOf = (pid: number): number =>
  Number(/\) \w (\d+) /.exec(readFirstLine(`/proc/${pid}/stat`))?.[1]);

function trySignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}
