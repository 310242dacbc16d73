// Starts two servers on one store: a worker, and the owner of the folder, which writes for it.

import type { Config } from "../../src/server/config.ts";
import { RemoteCommitter, runCommitRequest } from "../../src/store/remote-committer.ts";
import { startApp, type TestApp } from "./app.ts";

/** Both have the token of the config. The worker is the first one, and must be stopped first. */
export async function startOwnerAndWorker(
  config: Partial<Config> & Pick<Config, "data">,
): Promise<readonly [TestApp, TestApp]> {
  const owner = await startApp(config);
  const committer: RemoteCommitter = new RemoteCommitter((errand) => {
    void runCommitRequest(owner.writer, errand).then((result) => committer.receive(result));
  });
  return [await startApp(config, undefined, committer), owner];
}
