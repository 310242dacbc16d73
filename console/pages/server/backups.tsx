// Scheduled backups: when the next begins, how the last ones went, and how to set one up.

import { get } from "../../api/client.ts";
import type { Backups as BackupList, BackupRun } from "../../api/server-types.ts";
import { useCurrentRequest } from "../../state/current-request.ts";
import { useLoad } from "../../state/load.ts";
import { Button } from "../../ui/button.tsx";
import { copyText } from "../../ui/clipboard.ts";
import { formatBytes } from "../../ui/format.ts";
import { ScrollBox } from "../../ui/scroll-box.tsx";
import { Message, Shown } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";
import { ServerPage } from "./tabs.tsx";

export function Backups() {
  useCurrentRequest({ method: "GET", path: "/-/backups" });
  const loaded = useLoad("backups", (signal) => get<BackupList>("/-/backups", signal));
  return (
    <ServerPage>
      <Shown loaded={loaded} what="backups">
        {({ schedule, data }) =>
          schedule === null ? <HowTo /> : <Schedule schedule={schedule} runs={data} />
        }
      </Shown>
    </ServerPage>
  );
}

const command = "restante serve --backup-to ./backups --backup-every 6h --backup-keep 7d";

const HowTo = () => (
  <Message icon="archive" title="No backup is scheduled">
    <p>Start the server with these flags, or with the same settings in its configuration file:</p>
    <pre class="code-block">
      <code>{command}</code>
    </pre>
    <Button icon="copy" onClick={() => void copyText(command, "the command")}>
      Copy the command
    </Button>
    <p class="faint">
      <code>restante backup --to ./backups</code> makes one now, also while the server runs.
    </p>
  </Message>
);

interface ScheduleProps {
  readonly schedule: NonNullable<BackupList["schedule"]>;
  readonly runs: readonly BackupRun[];
}

const Schedule = ({ schedule, runs }: ScheduleProps) => (
  <>
    <dl class="facts card">
      <div>
        <dt>Goes to</dt>
        <dd>{schedule.to}</dd>
      </div>
      <div>
        <dt>Every</dt>
        <dd>{durationOf(schedule.everySeconds)}</dd>
      </div>
      <div>
        <dt>Kept</dt>
        <dd>{schedule.keepSeconds === null ? "for ever" : durationOf(schedule.keepSeconds)}</dd>
      </div>
      <div>
        <dt>Next</dt>
        <dd>{schedule.nextAt === null ? "one runs now" : <Time value={schedule.nextAt} />}</dd>
      </div>
    </dl>
    <h2>Last backups</h2>
    {runs.length === 0 ? (
      <p class="faint">None has begun since the start.</p>
    ) : (
      <Runs runs={runs} />
    )}
  </>
);

/** `6 hours`. */
function durationOf(seconds: number): string {
  const units = [
    [86_400, "day"],
    [3_600, "hour"],
    [60, "minute"],
  ] as const;
  const [length, name] = units.find(([one]) => seconds >= one && seconds % one === 0) ?? [
    1,
    "second",
  ];
  const count = seconds / length;
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}

const Runs = ({ runs }: { runs: readonly BackupRun[] }) => (
  <ScrollBox label="Last backups">
    <table class="table">
      <thead>
        <tr>
          <th scope="col">Began</th>
          <th scope="col">State</th>
          <th scope="col" class="number">
            Took
          </th>
          <th scope="col" class="number">
            Size
          </th>
          <th scope="col" class="number">
            New
          </th>
        </tr>
      </thead>
      <tbody>
        {runs.map(({ startedAt, state, seconds, bytes, writtenBytes, error }) => (
          <tr key={startedAt}>
            <th scope="row">
              <Time value={startedAt} />
            </th>
            <td>
              <span class={`light ${state === "failed" ? "bad" : "good"}`}>{state}</span>
              {error && <p>{error}</p>}
            </td>
            <td class="number">{seconds === null ? "–" : `${seconds.toFixed(1)} s`}</td>
            <td class="number">{bytes === null ? "–" : formatBytes(bytes)}</td>
            <td class="number">{writtenBytes === null ? "–" : formatBytes(writtenBytes)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </ScrollBox>
);
