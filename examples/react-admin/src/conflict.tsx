// Edits a record. When somebody else was faster, it shows what they changed, and lets the person decide.

import { Alert, AlertTitle, Button, Stack } from "@mui/material";
import { type ReactNode, useState } from "react";
import { Edit, SimpleForm, useEditContext, useNotify } from "react-admin";
import { useFormContext } from "react-hook-form";
import { RecordError } from "restante-client/react-admin";

type Values = Readonly<Record<string, unknown>>;

/** Saves at once, so that a conflict is shown while the form is open. */
export function SafeEdit({ children }: { readonly children: ReactNode }) {
  const [conflict, setConflict] = useState<RecordError>();
  const notify = useNotify();
  const onError = (error: Error) => {
    const isKnown = error instanceof RecordError;
    if (isKnown && error.status === 412) setConflict(error);
    else if (!isKnown || !error.body.errors) notify(error.message, { type: "error" });
  };
  return (
    <Edit mutationMode="pessimistic" mutationOptions={{ onError }}>
      <SimpleForm>
        {conflict && <Decision conflict={conflict} onDecided={() => setConflict(undefined)} />}
        {children}
      </SimpleForm>
    </Edit>
  );
}

interface DecisionProps {
  readonly conflict: RecordError;
  readonly onDecided: () => void;
}

function Decision({ conflict: { message, current }, onDecided }: DecisionProps) {
  const { record, refetch } = useEditContext();
  const { setValue } = useFormContext();
  const load = async () => {
    await refetch();
    onDecided();
  };
  /** Then the next save is a change of their state. What I have not changed stays as they made it. */
  const keep = () => {
    setValue("_etag", current?._etag, { shouldDirty: true });
    onDecided();
  };
  return (
    <Alert
      ref={(notice) => notice?.scrollIntoView({ block: "center" })}
      severity="warning"
      sx={{ width: "100%", mb: 2 }}
    >
      <AlertTitle>{message}</AlertTitle>
      <ul>
        {differences(record ?? {}, current ?? {}).map(([name, before, now]) => (
          <li key={name}>
            <b>{name}</b> was {before}, and is now {now}
          </li>
        ))}
      </ul>
      <Stack direction="row" spacing={1}>
        <Button variant="contained" onClick={() => void load()}>
          Load the current state
        </Button>
        <Button onClick={keep}>Keep my changes</Button>
      </Stack>
    </Alert>
  );
}

const hidden = new Set(["_etag", "updatedAt"]);

function differences(before: Values, now: Values): readonly [string, string, string][] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])];
  return names
    .filter((name) => !hidden.has(name))
    .map((name): [string, string, string] => [name, textOf(before[name]), textOf(now[name])])
    .filter(([, one, other]) => one !== other);
}

const textOf = (value: unknown): string =>
  value === undefined ? "empty" : typeof value === "string" ? value : JSON.stringify(value);
