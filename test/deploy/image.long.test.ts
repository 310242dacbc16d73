// Builds the image of the Dockerfile with buildah, and runs it as Docker would: another user, a read-only root, no rights.
// The base images are made here by debootstrap, so that no registry is needed.
// @runtimes only node

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chown, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { makeCertificate } from "../certificates.ts";
import { runCommand } from "../generators/tools.ts";
import { childrenOf } from "../process.ts";
import { unless } from "./needs.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const base = join(root, "node_modules/.cache/deploy/debian.tar");
const port = 18_080;
const skip = unless(["buildah", "debootstrap", "bwrap", "setpriv", "npm", "tar"], true);

/** A test that fails leaves its containers. */
const containers = new Set<ChildProcess>();

interface Image {
  readonly OCIv1: {
    readonly config: {
      readonly User: string;
      readonly Env: readonly string[];
      readonly Entrypoint: readonly string[];
      readonly Cmd: readonly string[];
      readonly WorkingDir: string;
      readonly Volumes: Readonly<Record<string, unknown>>;
      readonly StopSignal: string;
    };
  };
  readonly Docker: {
    readonly config: { readonly Healthcheck: { readonly Test: readonly string[] } };
  };
}

describe("the image", { skip }, () => {
  let folder: string;
  let image: Image;
  let rootFolder: string;
  const buildah = (...args: string[]) => {
    const storage = ["--root", join(folder, "storage"), "--runroot", join(folder, "run")];
    const command = { program: "buildah", args: [...storage, "--storage-driver", "vfs", ...args] };
    return runCommand(command, root).then((text) => text.trim());
  };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "restante-image-"));
    await makeBases(folder, buildah);
    const file = join(root, "deploy/docker/Dockerfile");
    const authority = process.env.NODE_EXTRA_CA_CERTS;
    await buildah(
      ...["build", "--pull-never", "--isolation", "chroot", "--format", "docker", "--file", file],
      ...["--ignorefile", `${file}.dockerignore`, "--tag", "restante"],
      ...(authority === undefined ? [] : ["--volume", `${authority}:/authority.pem:ro`]),
      root,
    );
    image = JSON.parse(await buildah("inspect", "--type", "image", "restante"));
    rootFolder = await buildah("mount", await buildah("from", "--pull-never", "restante"));
  });
  after(() => {
    for (const child of containers) child.kill("SIGKILL");
    return rm(folder, { recursive: true, force: true });
  });

  it("serves as another user on a read-only root, is healthy, and stops", async () => {
    const { config } = image.OCIv1;
    assert.equal(config.User, "10001:10001");
    assert.equal(config.StopSignal, "SIGTERM");
    assert.deepEqual(Object.keys(config.Volumes), ["/data"]);
    const data = join(folder, "data");
    await mkdir(data, { mode: 0o700 });
    await chown(data, 10_001, 10_001);
    const container = runImage(rootFolder, data, config, [...config.Entrypoint, ...config.Cmd]);
    await container.until(/"msg":"listening"/);
    const [kind, ...check] = image.Docker.config.Healthcheck.Test;
    assert.equal(kind, "CMD");
    const healthy = runImage(rootFolder, data, config, check);
    assert.equal((await healthy.ended)[0], 0, healthy.output());
    assert.equal((await fetch(`http://127.0.0.1:${port}/-/ready`)).status, 200);
    const doctor = runImage(rootFolder, data, config, ["restante", "doctor"]);
    assert.equal((await doctor.ended)[0], 0, doctor.output());
    await container.stop();
    assert.match(container.output(), /"msg":"stopped"/);
    const unhealthy = runImage(rootFolder, data, config, check);
    assert.equal((await unhealthy.ended)[0], 1, unhealthy.output());
  });

  it("is healthy over TLS, with the settings of a file", async () => {
    const { config } = image.OCIv1;
    const data = join(folder, "tls");
    await mkdir(data, { mode: 0o700 });
    const { cert, key } = makeCertificate({ name: "api.example.org" });
    const settings = { tlsCert: "/data/cert.pem", tlsKey: "/data/key.pem" };
    const files = { "cert.pem": cert, "key.pem": key, "restante.json": JSON.stringify(settings) };
    for (const [name, text] of Object.entries(files)) await writeFile(join(data, name), text);
    for (const name of ["", ...Object.keys(files)]) await chown(join(data, name), 10_001, 10_001);
    const own = { ...config, Env: [...config.Env, "RESTANTE_CONFIG=/data/restante.json"] };
    const container = runImage(rootFolder, data, own, [...config.Entrypoint, ...config.Cmd]);
    await container.until(/"msg":"listening"/);
    const healthy = runImage(rootFolder, data, own, image.Docker.config.Healthcheck.Test.slice(1));
    assert.equal((await healthy.ended)[0], 0, healthy.output());
    assert.match(healthy.output(), /^https:/);
    await container.stop();
  });
});

/** Debian is made once. The image of Node is Debian with the Node of the tests and the npm of this machine. */
async function makeBases(
  folder: string,
  buildah: (...args: string[]) => Promise<string>,
): Promise<void> {
  if (!existsSync(base)) {
    await mkdir(dirname(base), { recursive: true });
    const debian = join(folder, "debian");
    const args = ["--variant=minbase", "bookworm", debian];
    await runCommand({ program: "debootstrap", args }, folder);
    const packed = `${base}.part`;
    await runCommand({ program: "tar", args: ["-C", debian, "-cf", packed, "."] }, folder);
    await rename(packed, base);
  }
  const container = await buildah("from", "scratch");
  await buildah("add", container, base, "/");
  await buildah("commit", container, "docker.io/library/debian:bookworm-slim");
  const npm = (await runCommand({ program: "npm", args: ["root", "--global"] }, folder)).trim();
  await buildah("copy", container, join(root, "node_modules/node/bin/node"), "/usr/local/bin/node");
  await buildah("copy", container, join(npm, "npm"), "/usr/local/lib/npm");
  const link = ["ln", "-s", "/usr/local/lib/npm/bin/npm-cli.js", "/usr/local/bin/npm"];
  await buildah("run", "--isolation", "chroot", container, "--", ...link);
  if (process.env.NODE_EXTRA_CA_CERTS !== undefined)
    await buildah("config", "--env", "NODE_EXTRA_CA_CERTS=/authority.pem", container);
  await buildah("commit", container, "docker.io/library/node:24-bookworm-slim");
}

/** Runs a command of the image without rights, on its root, which is read-only, and the volume. */
function runImage(
  rootFolder: string,
  data: string,
  { User, Env, WorkingDir }: Image["OCIv1"]["config"],
  command: readonly string[],
) {
  const [user, group] = User.split(":");
  const variables = [...Env, `RESTANTE_PORT=${port}`].flatMap((variable) => {
    const at = variable.indexOf("=");
    return ["--setenv", variable.slice(0, at), variable.slice(at + 1)];
  });
  const args = [
    ...[
      "--ro-bind",
      rootFolder,
      "/",
      "--bind",
      data,
      "/data",
      "--tmpfs",
      "/tmp",
      "--proc",
      "/proc",
    ],
    ...["--dev", "/dev", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--clearenv"],
    ...[...variables, "--chdir", WorkingDir, "setpriv", `--reuid=${user}`, `--regid=${group}`],
    ...["--clear-groups", "--no-new-privs", "--bounding-set=-all", ...command],
  ];
  const child = spawn("bwrap", args, { stdio: ["ignore", "pipe", "pipe"] });
  containers.add(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  const ended = once(child, "close");
  return {
    ended,
    output: () => output,
    async until(pattern: RegExp): Promise<void> {
      while (!pattern.test(output)) {
        assert.equal(child.exitCode, null, output);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    async stop(): Promise<void> {
      const [first = 0] = await childrenOf(child.pid ?? 0);
      const [server = 0] = await childrenOf(first);
      process.kill(server, "SIGTERM");
      await ended;
    },
  };
}
