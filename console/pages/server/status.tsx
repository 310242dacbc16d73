// Whether the server is well: ready, files, version, how long it runs, and its certificate.

import type { ComponentChildren } from "preact";
import { get, send, urlOf } from "../../api/client.ts";
import { Problem } from "../../api/problem.ts";
import type { Ready } from "../../api/server-types.ts";
import { type Metrics, parseMetrics, totalOf } from "../../plot/metrics.ts";
import { useCurrentRequest } from "../../state/current-request.ts";
import { useLoad } from "../../state/load.ts";
import { usePolling } from "../../state/poll.ts";
import { formatBytes } from "../../ui/format.ts";
import { Shown } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";
import { ServerPage } from "./tabs.tsx";

const everyMs = 5_000;
/** A certificate that expires before this needs someone. */
const soonSeconds = 14 * 86_400;

interface Status {
  readonly ready: Ready;
  readonly metrics: Metrics;
}

export const readMetrics = async (signal: AbortSignal): Promise<Metrics> =>
  parseMetrics(await (await send({ method: "GET", path: "/-/metrics" }, signal)).text());

/** A server that is not ready says so with 503. */
async function readReady(signal: AbortSignal): Promise<Ready> {
  try {
    return await get<Ready>("/-/ready", signal);
  } catch (error) {
    if (error instanceof Problem && error.status === 503) return { status: error.detail };
    throw error;
  }
}

async function readStatus(signal: AbortSignal): Promise<Status> {
  const [ready, metrics] = await Promise.all([readReady(signal), readMetrics(signal)]);
  return { ready, metrics };
}

export function ServerStatus() {
  useCurrentRequest({ method: "GET", path: "/-/ready" });
  const loaded = useLoad("status", readStatus);
  usePolling(everyMs, async () => {
    if (!loaded.isLoading) loaded.reload();
  });
  return (
    <ServerPage>
      <Shown loaded={loaded} what="the status">
        {(status) => <Facts {...status} />}
      </Shown>
    </ServerPage>
  );
}

function Facts({ ready, metrics }: Status) {
  const [info] = metrics.get("restante_info") ?? [];
  const started = totalOf(metrics, "process_start_time_seconds");
  const expires = totalOf(metrics, "restante_tls_certificate_expires_timestamp_seconds");
  return (
    <dl class="facts card">
      <Fact name="Requests">
        <Light isGood={ready.status === "ready"}>
          {ready.status === "ready" ? "Ready, writes included" : ready.status}
        </Light>
      </Fact>
      <Fact name="Files">
        <Light isGood={ready.files === undefined}>
          {ready.files === undefined ? "Available" : "The storage of files does not answer"}
        </Light>
      </Fact>
      <Fact name="Address">{urlOf("/").href}</Fact>
      <Fact name="Version">
        Restante {info?.labels.version}, {info?.labels.runtime}
      </Fact>
      {started !== undefined && (
        <Fact name="Started">
          <Time value={timeOf(started)} />
        </Fact>
      )}
      <Fact name="Memory">
        {formatBytes(totalOf(metrics, "process_resident_memory_bytes") ?? 0)}
      </Fact>
      <Fact name="Certificate">
        {expires === undefined ? (
          <span class="faint">The server itself uses no TLS.</span>
        ) : (
          <Light isGood={timeOf(expires) > timeOf(Date.now() / 1000 + soonSeconds)}>
            expires <Time value={timeOf(expires)} />
          </Light>
        )}
      </Fact>
    </dl>
  );
}

const timeOf = (seconds: number): string => new Date(seconds * 1000).toISOString();

const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

const Light = ({ isGood, children }: { isGood: boolean; children: ComponentChildren }) => (
  <span class={isGood ? "light good" : "light bad"}>{children}</span>
);
