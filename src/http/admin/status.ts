// Handles the admin route of the server's work in the background.

import type { Reply } from "../../lib/reply.ts";
import type { TaskState } from "../../lib/tasks.ts";
import { Problem } from "../../model/problem.ts";
import type { TaskView } from "../../model/schemas/status.ts";
import { timeText } from "../../model/schemas/time.ts";
import { checkAccept, jsonTypes } from "../headers/media-type.ts";
import type { RequestContext } from "../request/context.ts";
import { rejectParameters } from "../request/request-target.ts";
import { json } from "../response/response.ts";

export async function getStatus(context: RequestContext): Promise<Reply | Problem> {
  const rejected = rejectParameters(context) ?? checkAccept(context.request.headers, jsonTypes);
  if (rejected !== undefined) return rejected;
  const tasks = await context.services.status.tasks(context.principal);
  return tasks instanceof Problem ? tasks : json(context, 200, { tasks: tasks.map(taskView) });
}

const taskView = ({ name, isRunning, startedAt, seconds, error, nextAt }: TaskState): TaskView => ({
  name,
  state: isRunning ? "running" : "waiting",
  startedAt: optionalTime(startedAt),
  seconds: seconds ?? null,
  error: error ?? null,
  nextAt: optionalTime(nextAt),
});

const optionalTime = (at: number | undefined): string | null =>
  at === undefined ? null : timeText(at);
