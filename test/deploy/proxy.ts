// Starts Restante behind a proxy with the configuration in deploy/, with other ports and a certificate of its own.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { newSecret } from "../../src/model/secret.ts";
import { type ServerProcess, start } from "../process.ts";
import { openTlsConnection, type RawConnection } from "../runtime/raw-connection.ts";
import { freePort } from "./free-port.ts";

const deploy = fileURLToPath(new URL("../../deploy", import.meta.url));

/** The client has another address than the proxy, which is trusted. */
export const clientAddress = "127.0.0.2";

interface Place {
  readonly folder: string;
  readonly port: number;
  readonly serverPort: number;
}

export interface Proxy {
  readonly name: string;
  readonly file: string;
  /** Changes the text of the file, and returns the command that runs it. */
  readonly run: (text: string, place: Place) => readonly [text: string, ...command: string[]];
}

export const proxies: readonly Proxy[] = [
  {
    name: "nginx",
    file: "nginx/restante.conf",
    run: (text, { folder, port, serverPort }) => [
      `daemon off; error_log stderr; pid ${folder}/pid;
      events {} http { access_log off; client_body_temp_path ${folder}; proxy_temp_path ${folder};
      fastcgi_temp_path ${folder}; uwsgi_temp_path ${folder}; scgi_temp_path ${folder};
      ${text
        .replace("127.0.0.1:8080", `127.0.0.1:${serverPort}`)
        .replace("listen 443", `listen 127.0.0.1:${port}`)
        .replace("/etc/ssl/example.org/fullchain.pem", `${folder}/certificate.pem`)
        .replace("/etc/ssl/example.org/privkey.pem", `${folder}/key.pem`)
        .replace("server_name example.org", "server_name localhost")} }`,
      ...["nginx", "-c", join(folder, "configuration")],
    ],
  },
  {
    name: "caddy",
    file: "caddy/Caddyfile",
    run: (text, { folder, port, serverPort }) => [
      `{\n admin off\n auto_https off\n}\n${text
        .replace("127.0.0.1:8080", `127.0.0.1:${serverPort}`)
        .replace(
          "example.org {",
          `https://localhost:${port} {\n bind 127.0.0.1\n tls ${folder}/certificate.pem ${folder}/key.pem`,
        )}`,
      ...["caddy", "run", "--adapter", "caddyfile", "--config", join(folder, "configuration")],
    ],
  },
  {
    name: "haproxy",
    file: "haproxy/haproxy.cfg",
    run: (text, { folder, port, serverPort }) => [
      text
        .replace("127.0.0.1:8080", `127.0.0.1:${serverPort}`)
        .replace("bind :443", `bind 127.0.0.1:${port}`)
        .replace("/etc/haproxy/example.org.pem", `${folder}/both.pem`),
      ...["haproxy", "-db", "-f", join(folder, "configuration")],
    ],
  },
];

export interface Proxied {
  readonly port: number;
  readonly base: string;
  readonly admin: string;
  readonly server: ServerProcess;
  connect(): Promise<RawConnection>;
  stop(): Promise<void>;
}

export async function startBehind(proxy: Proxy, change = (text: string) => text): Promise<Proxied> {
  const folder = await mkdtemp(join(tmpdir(), "restante-proxy-"));
  const port = await freePort();
  const base = `https://localhost:${port}/api`;
  const admin = newSecret();
  const server = await start(
    [...["--data", join(folder, "data"), "--base-url", base], "--trust-proxy", "127.0.0.1"],
    { cwd: folder, environment: { RESTANTE_ADMIN_TOKEN: admin } },
  );
  await makeCertificate(folder);
  const place = { folder, port, serverPort: server.port };
  const shipped = change(await readFile(join(deploy, proxy.file), "utf8"));
  const [text, program = "", ...args] = proxy.run(shipped, place);
  await writeFile(join(folder, "configuration"), text);
  const env = { ...process.env, HOME: folder };
  const child = spawn(program, args, { env, stdio: ["ignore", "ignore", "pipe"] });
  const errors: string[] = [];
  child.stderr.setEncoding("utf8").on("data", (line) => errors.push(line));
  const connect = () => openTlsConnection(port, clientAddress);
  await untilServing(connect, child, errors);
  return {
    ...{ port, base, admin, server, connect },
    async stop() {
      await stopChild(child);
      server.signal("SIGTERM");
      await server.ended;
      await rm(folder, { recursive: true });
    },
  };
}

/** Caddy waits for connections that a failed test has left open. */
async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  const force = setTimeout(() => child.kill("SIGKILL"), 5_000);
  await ended;
  clearTimeout(force);
}

async function untilServing(
  connect: () => Promise<RawConnection>,
  child: ChildProcess,
  errors: readonly string[],
): Promise<void> {
  while (child.exitCode === null) {
    const connection = await connect().catch(() => undefined);
    connection?.write("GET /api/-/ready HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const response = await connection?.response();
    connection?.destroy();
    if (response?.status === 200) return;
    await sleep(50);
  }
  throw new Error(`the proxy does not serve: ${errors.join("")}`);
}

async function makeCertificate(folder: string): Promise<void> {
  const [key, certificate] = ["key.pem", "certificate.pem"].map((name) => join(folder, name));
  execFileSync(
    "openssl",
    [
      ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
      ...["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
      ...["-keyout", `${key}`, "-out", `${certificate}`],
    ],
    { stdio: "ignore" },
  );
  const both = await Promise.all([`${certificate}`, `${key}`].map((file) => readFile(file)));
  await writeFile(join(folder, "both.pem"), Buffer.concat(both));
}
