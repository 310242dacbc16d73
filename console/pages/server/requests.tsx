// Live requests: how many, how fast and with what status, from the metrics of the server.

import { useState } from "preact/hooks";
import { send } from "../../api/client.ts";
import { asProblem, type Problem } from "../../api/problem.ts";
import { parseMetrics } from "../../plot/metrics.ts";
import { Plot, type Series } from "../../plot/plot.tsx";
import {
  type Point,
  pointOf,
  type Reading,
  type RouteRow,
  readingOf,
  routeRows,
  statusClasses,
} from "../../plot/requests.ts";
import { useCurrentRequest } from "../../state/current-request.ts";
import { usePolling } from "../../state/poll.ts";
import { formatBytes, formatNumber } from "../../ui/format.ts";
import { ScrollBox } from "../../ui/scroll-box.tsx";
import { Loading, ProblemMessage } from "../../ui/states.tsx";

const everyMs = 2_000;
const pointsKept = 150;
/** The table of routes is about the last minute. */
const readingsKept = 31;

const rateSeries: readonly Series[] = [
  { label: "2xx", tone: "accent" },
  { label: "3xx", tone: "faint" },
  { label: "4xx", tone: "warning" },
  { label: "5xx", tone: "danger" },
];
const latencySeries: readonly Series[] = [
  { label: "p50", tone: "accent" },
  { label: "p95", tone: "warning" },
  { label: "p99", tone: "danger" },
];

const request = { method: "GET", path: "/-/metrics" };

interface Seen {
  readonly readings: readonly Reading[];
  readonly points: readonly Point[];
}

export function Requests() {
  useCurrentRequest(request);
  const [seen, setSeen] = useState<Seen>({ readings: [], points: [] });
  const [problem, setProblem] = useState<Problem>();
  usePolling(everyMs, async (signal) => {
    try {
      const response = await send(request, signal);
      const reading = readingOf(parseMetrics(await response.text()), Date.now() / 1000);
      setSeen((former) => withReading(former, reading));
      setProblem(undefined);
    } catch (error) {
      if (!signal.aborted) setProblem(asProblem(error));
    }
  });
  const { readings, points } = seen;
  if (readings.length === 0)
    return problem ? <ProblemMessage problem={problem} /> : <Loading what="metrics" />;
  return (
    <section class="page">
      <h1>Requests</h1>
      <p class="faint">
        Read every two seconds while this page is visible, for the last five minutes. The requests
        of this console count, too.
      </p>
      <Plots points={points} />
      <Routes readings={readings} />
    </section>
  );
}

function withReading({ readings, points }: Seen, reading: Reading): Seen {
  const former = readings.at(-1);
  const point = former === undefined ? [] : [pointOf(reading, former)];
  return {
    readings: [...readings, reading].slice(-readingsKept),
    points: [...points, ...point].slice(-pointsKept),
  };
}

function Plots({ points }: { points: readonly Point[] }) {
  const times = points.map(({ at }) => at);
  return (
    <div class="plots">
      <Plot
        title="Requests per second"
        help="2xx: done. 3xx: moved or unchanged. 4xx: the request was wrong. 5xx: the server failed."
        series={rateSeries}
        times={times}
        values={statusClasses.map((_, n) => points.map(({ rates }) => rates[n] ?? 0))}
        format={formatRate}
      />
      <Plot
        title="Time to respond"
        help="p50: half of the requests were faster. p95: 95 of 100 were. p99: 99 of 100."
        series={latencySeries}
        times={times}
        values={latencySeries.map((_, n) => points.map(({ latency }) => latency[n] ?? null))}
        format={formatSeconds}
      />
      <Plot
        title="Delay inside the server"
        help="How long work waits until the server turns to it. It grows when the server is overloaded."
        series={[{ label: "p99", tone: "accent" }]}
        times={times}
        values={[points.map(({ lag }) => lag)]}
        format={formatSeconds}
      />
      <Plot
        title="Memory"
        series={[{ label: "In use", tone: "accent" }]}
        times={times}
        values={[points.map(({ memory }) => memory)]}
        format={formatBytes}
      />
    </div>
  );
}

function Routes({ readings }: { readings: readonly Reading[] }) {
  const [first, last] = [readings[0], readings.at(-1)];
  const rows = first && last && first !== last ? routeRows(last, first) : [];
  return (
    <>
      <h2>Routes in the last minute</h2>
      {rows.length === 0 ? (
        <p class="faint">No request has ended yet.</p>
      ) : (
        <ScrollBox label="Routes in the last minute">
          <RouteTable rows={rows} />
        </ScrollBox>
      )}
    </>
  );
}

const meanings: Readonly<Record<string, string>> = {
  "4xx and 5xx": "Requests that were wrong or failed",
  p50: "Half of the requests were faster",
  p95: "95 of 100 requests were faster",
  p99: "99 of 100 requests were faster",
};

const RouteTable = ({ rows }: { rows: readonly RouteRow[] }) => (
  <table class="table">
    <thead>
      <tr>
        <th scope="col">Route</th>
        {["Requests", "Per second", "4xx and 5xx", "p50", "p95", "p99"].map((name) => (
          <th key={name} scope="col" class="number" title={meanings[name]}>
            {name}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map(({ method, route, count, perSecond, failed, latency }) => (
        <tr key={`${method} ${route}`}>
          <th scope="row">
            <code>
              {method} {route}
            </code>
          </th>
          <td class="number">{formatNumber(count)}</td>
          <td class="number">{formatRate(perSecond)}</td>
          <td class="number">{formatNumber(failed)}</td>
          {latency.map((seconds, index) => (
            <td key={index} class="number">
              {seconds === null ? "–" : formatSeconds(seconds)}
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
);

const rates = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 });
const formatRate = (value: number): string => rates.format(value);

/** `1.3 ms`, or `2 s`. */
const formatSeconds = (seconds: number): string =>
  seconds < 1 ? `${rates.format(seconds * 1000)} ms` : `${rates.format(seconds)} s`;
