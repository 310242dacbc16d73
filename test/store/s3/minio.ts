// Starts MinIO, which checks every signature. Go builds it once.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { S3Client } from "../../../src/store/s3/client.ts";
import { freePort } from "../../deploy/free-port.ts";
import { findGoProgram } from "../../go-program.ts";
import { locationOf } from "./open.ts";

export const minioSecrets = {
  AWS_ACCESS_KEY_ID: "restante",
  AWS_SECRET_ACCESS_KEY: "restante-secret",
  HOME: "/nonexistent",
};

/** Returns the program, or undefined where there is none and Go cannot build it. Takes minutes at first. */
export const findMinio = (): string | undefined =>
  process.env.RESTANTE_TEST_MINIO ?? findGoProgram("github.com/minio/minio@latest");

export interface Minio {
  url(prefix: string): string;
  stop(): Promise<void>;
}

export async function startMinio(program: string): Promise<Minio> {
  const folder = await mkdtemp(join(tmpdir(), "restante-minio-"));
  const address = `127.0.0.1:${await freePort()}`;
  const env = {
    ...process.env,
    MINIO_ROOT_USER: minioSecrets.AWS_ACCESS_KEY_ID,
    MINIO_ROOT_PASSWORD: minioSecrets.AWS_SECRET_ACCESS_KEY,
  };
  const child = spawn(program, ["server", folder, "--address", address], { env, stdio: "ignore" });
  const url = (prefix: string) => `s3://files/${prefix}?endpoint=http://${address}`;
  const timing = { deadlineMs: 300_000, idleMs: 300_000, attempts: 12, pauseMs: 50 };
  // It is tried again until MinIO listens.
  await new S3Client(locationOf(url("")), minioSecrets, timing).call({ method: "PUT" });
  return {
    url,
    async stop() {
      child.kill();
      await once(child, "exit");
      await rm(folder, { recursive: true, force: true });
    },
  };
}
