// Handles the admin route of scheduled backups.

import type { BackupRun, BackupSchedule } from "../../domain/backups.ts";
import type { Reply } from "../../lib/reply.ts";
import { Problem } from "../../model/problem.ts";
import type { BackupListView, BackupRunView } from "../../model/schemas/backup.ts";
import { timeText } from "../../model/schemas/time.ts";
import { checkAccept, jsonTypes } from "../headers/media-type.ts";
import type { RequestContext } from "../request/context.ts";
import { rejectParameters } from "../request/request-target.ts";
import { json } from "../response/response.ts";

export function listBackups(context: RequestContext): Reply | Problem {
  const rejected = rejectParameters(context) ?? checkAccept(context.request.headers, jsonTypes);
  if (rejected !== undefined) return rejected;
  const status = context.services.backups.list(context.principal);
  if (status instanceof Problem) return status;
  const { schedule, runs } = status;
  const view: BackupListView = {
    schedule: schedule === undefined ? null : scheduleView(schedule),
    data: runs.map(runView),
  };
  return json(context, 200, view);
}

const scheduleView = ({ to, everyMs, keepMs, nextAt }: BackupSchedule) => ({
  to,
  everySeconds: everyMs / 1_000,
  keepSeconds: keepMs === undefined ? null : keepMs / 1_000,
  nextAt: nextAt === undefined ? null : timeText(nextAt),
});

const runView = ({ startedAt, state, ...run }: BackupRun): BackupRunView => ({
  startedAt: timeText(startedAt),
  state,
  seconds: run.seconds ?? null,
  bytes: run.bytes ?? null,
  writtenBytes: run.writtenBytes ?? null,
  error: run.error ?? null,
});
