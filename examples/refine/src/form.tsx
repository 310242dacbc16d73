// A form of Refine that overwrites nothing: it shows what somebody else has changed, and lets the person decide.

import { type HttpError, useInvalidate, useResourceParams } from "@refinedev/core";
import { useForm } from "@refinedev/react-hook-form";
import { type ReactNode, useState } from "react";
import type { FieldValues } from "react-hook-form";
import type { AdminRecord } from "restante-client/refine";

type Values = Readonly<Record<string, unknown>>;
/** `current` is the record as it is now. */
type Failure = HttpError & { readonly current?: Values };

export function useSafeForm(action: "create" | "edit") {
  const [conflict, setConflict] = useState<Failure>();
  const [etag, setEtag] = useState<unknown>();
  const invalidate = useInvalidate();
  const { identifier } = useResourceParams();
  const form = useForm<AdminRecord, Failure, FieldValues>({
    refineCoreProps: {
      action,
      // Otherwise Refine reads the record again after a failure, and what was typed is lost.
      invalidates: ["list", "many"],
      onMutationSuccess: ({ data: { id } }) =>
        void invalidate({ resource: identifier ?? "", id, invalidates: ["detail"] }),
      // A form begins with the state of this moment, and not with one that Refine has kept.
      queryOptions: { staleTime: 0 },
      // The next save is a change of their state. What I have not changed stays as they made it.
      mutationMeta: etag === undefined ? {} : { etag },
      onMutationError: (error) => setConflict(error.statusCode === 412 ? error : undefined),
      errorNotification: (error) => (error?.statusCode === 412 ? false : notice(error)),
    },
  });
  const load = async () => {
    await form.refineCore.query?.refetch();
    setConflict(undefined);
  };
  const keep = () => {
    setEtag(conflict?.current?._etag);
    setConflict(undefined);
  };
  return { ...form, conflict, load, keep };
}

const notice = (error?: HttpError) => ({
  ...{ key: "form", type: "error" as const, message: error?.message ?? "It was not saved." },
});

export type SafeForm = ReturnType<typeof useSafeForm>;

interface FormProps {
  readonly form: SafeForm;
  readonly title: string;
  readonly children: ReactNode;
}

/** `_etag` is a field of the form, so that Refine fills it in and sends it. */
export function Form({ form, title, children }: FormProps) {
  const { handleSubmit, register, conflict, refineCore } = form;
  const save = handleSubmit((values) => refineCore.onFinish(values).catch(() => undefined));
  return (
    <form className="fields" noValidate onSubmit={(event) => void save(event)}>
      <h1>{title}</h1>
      {conflict && <Decision form={form} />}
      <input type="hidden" {...register("_etag")} />
      {children}
      <button type="submit" disabled={refineCore.formLoading}>
        Save
      </button>
    </form>
  );
}

function Decision({ form: { conflict, refineCore, load, keep } }: { readonly form: SafeForm }) {
  const before = refineCore.query?.data?.data ?? {};
  return (
    <section className="conflict" role="alert">
      <p>{conflict?.message}</p>
      <ul>
        {differences(before, conflict?.current ?? {}).map(([name, was, is]) => (
          <li key={name}>
            <b>{name}</b> was {was}, and is now {is}
          </li>
        ))}
      </ul>
      <button type="button" onClick={() => void load()}>
        Load the current state
      </button>{" "}
      <button type="button" onClick={keep}>
        Keep my changes
      </button>
    </section>
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

interface FieldProps {
  readonly form: SafeForm;
  readonly name: string;
  readonly label: string;
  readonly type?: "text" | "number" | "file";
  readonly multiple?: boolean;
}

/** An empty input is null, which removes the member. */
export function Field({ form, name, label, type = "text", multiple = false }: FieldProps) {
  const empty = (value: unknown) =>
    value === "" ? null : type === "number" ? Number(value) : value;
  const options = type === "file" ? {} : { setValueAs: empty };
  return (
    <label>
      {label}
      <input type={type} step="any" multiple={multiple} {...form.register(name, options)} />
      <Wrong form={form} name={name} />
    </label>
  );
}

interface ChoiceProps {
  readonly form: SafeForm;
  readonly name: string;
  readonly label: string;
  readonly options: readonly { readonly label: string; readonly value: unknown }[];
}

export function Choice({ form, name, label, options }: ChoiceProps) {
  const empty = (value: unknown) => (value === "" ? null : value);
  return (
    <label>
      {label}
      {/* The options come later than the record, and only then the browser can show its value. */}
      <select key={options.length} {...form.register(name, { setValueAs: empty })}>
        <option value="" />
        {options.map(({ label, value }) => (
          <option key={`${value}`} value={`${value}`}>
            {label}
          </option>
        ))}
      </select>
      <Wrong form={form} name={name} />
    </label>
  );
}

function Wrong({ form, name }: { readonly form: SafeForm; readonly name: string }) {
  const { error } = form.getFieldState(name, form.formState);
  return error ? <span className="wrong">{error.message}</span> : null;
}
