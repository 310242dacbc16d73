// Errors as react-admin and Refine expect them: with a status, and a message for each field of a form.

import { Conflict, type Problem } from "../index.ts";
import type { Members } from "../object.ts";
import { hasFile } from "./files.ts";

type FieldErrors = Readonly<Record<string, string>>;

const conflictMessage =
  "Somebody else has changed this in the meantime, so nothing was saved. Load the current state, and make your changes again.";

const oneOfManyMessage =
  "Somebody else has changed one of these in the meantime, so nothing was done. Look at the list as it is now, and try again.";

/** Only a new record with an id of its own has such a condition. */
const takenMessage = "There is one with this id already.";

/** The problem itself is in `cause`. */
export class RecordError extends Error {
  override readonly name = "HttpError";
  override readonly cause: Problem;
  /** For react-admin. */
  readonly status: number;
  readonly body: { readonly errors?: FieldErrors };
  /** For Refine. */
  readonly statusCode: number;
  readonly errors: FieldErrors;
  /** After a conflict: the record as it is now, with its `_etag`; undefined when it is gone. */
  readonly current: Members | undefined;

  /** `form` is what was typed, if each pointer names a field of it. */
  constructor(cause: Problem, form?: Members, current?: Members) {
    const errors = form && fieldErrors(cause, form);
    super(messageOf(cause, errors));
    this.cause = cause;
    this.status = cause.status;
    this.statusCode = cause.status;
    this.errors = errors ?? {};
    this.body = Object.keys(this.errors).length > 0 ? { errors: this.errors } : {};
    this.current = current;
  }
}

/** `errors` are those of a form. */
function messageOf(cause: Problem, errors: FieldErrors | undefined): string {
  if (cause instanceof Conflict) return conflictMessage;
  if (cause.status === 412) return errors ? takenMessage : oneOfManyMessage;
  if (errors && cause.kind === "invalid-body") return Object.entries(errors).map(joined).join("; ");
  const [first = "", ...rest] = cause.message.split("\n");
  const isSaid = errors || cause.errors.every(({ detail }) => first.includes(detail));
  return isSaid ? first : [first, ...rest].join("\n");
}

const joined = (named: readonly [name: string, detail: string]): string => named.join(" ");

/** Names as forms have them: `lines.0.product`. What is wrong with a file is shown at its input. */
function fieldErrors(cause: Problem, form: Members): FieldErrors {
  if (cause.status === 412) return cause instanceof Conflict ? {} : { id: takenMessage };
  const named = cause.errors.map(({ pointer = "", detail }) => {
    const [first = "root", ...rest] = pointer.split("/").slice(1).map(unescapeToken);
    if (pointer === "") return ["root.serverError", detail];
    return [hasFile(form[first]) ? first : [first, ...rest].join("."), detail];
  });
  return Object.fromEntries(named.reverse());
}

/** RFC 6901. */
const unescapeToken = (token: string): string => token.replaceAll("~1", "/").replaceAll("~0", "~");
