// Starts two servers on one store: a worker, and the owner of the folder, which writes for it.

import type { Config } from "../../src/server/config.ts";
import type { Log } from "../../src/server/log.ts";
import { RemoteCommitter, runCommitRequest } from "../../src/store/remote-committer.ts";
import { startApp, type TestApp } from "./app.ts";

/** Both have the token of the config. The worker is the first one, and must be stopped first. */
export async function startOwnerAndWorker(
  config: Partial<Config> & Pick<Config, "data">,
  log?: Log,
): Promise<readonly [TestApp, TestApp]> {
  const owner = await startApp(config, log);
  const committer: RemoteCommitter = new RemoteCommitter((request) => {
    void runCommitRequest(owner.writer, request).then((result) => committer.receive(result));
  });
  return [await startApp(config, log, committer), owner];
}
