// One grant: its name, for whom it is, when it holds, for which fields, and the values that it sets.

import { useId, useState } from "preact/hooks";
import { readObject } from "../api/exact.ts";
import { isObject, type JsonObject, parseObject } from "../api/json.ts";
import { FilterBar } from "../grid/filter-bar.tsx";
import type { FilterField } from "../grid/operators.ts";
import { tellFailure } from "../state/notices.ts";
import { IconButton } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import {
  type Audience,
  audienceOf,
  audiences,
  audienceValue,
  changeGrant,
  conditionsFor,
  type Grant,
  hasFields,
  hasValues,
  type Verb,
} from "./access.ts";
import { conditionsOf, whereOf } from "./conditions.ts";

interface GrantEditorProps {
  readonly verb: Verb;
  readonly position: number;
  readonly grant: Grant;
  readonly roles: readonly string[];
  readonly fields: readonly FilterField[];
  readonly onChange: (grant: Grant) => void;
  readonly onRemove: () => void;
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

export function GrantEditor(props: GrantEditorProps) {
  const { verb, position, grant, fields, onChange, onRemove } = props;
  const put = (name: string) => (value: Parameters<typeof changeGrant>[2]) =>
    onChange(changeGrant(grant, name, value));
  return (
    <li class="grant-editor" aria-label={`Rule ${position} to ${verb}`}>
      <Field label="Name">
        {(attributes) => (
          <input
            {...attributes}
            type="text"
            autocomplete="off"
            value={textOf(grant.name)}
            onInput={({ currentTarget }) => put("name")(currentTarget.value)}
          />
        )}
      </Field>
      <AudienceChoice {...props} onTo={put("to")} />
      {hasFields(verb) && <FieldNames grant={grant} onFields={put("fields")} />}
      {hasValues(verb) && <Values grant={grant} onValues={put("set")} />}
      {conditionsFor(verb).map(([name, label]) => (
        <ConditionsBar
          key={name}
          label={label}
          where={isObject(grant[name]) ? grant[name] : {}}
          fields={fields}
          onWhere={put(name)}
        />
      ))}
      <IconButton icon="trash" label={`Remove rule ${position} to ${verb}`} onClick={onRemove} />
    </li>
  );
}

const audienceWords: Readonly<Record<Audience, string>> = {
  everyone: "everyone",
  token: "tokens that have the right",
  owner: "owners whose token has the right",
  role: "tokens with the role",
  scope: "tokens with another scope",
};

type AudienceChoiceProps = Pick<GrantEditorProps, "verb" | "grant" | "roles"> & {
  readonly onTo: (value: ReturnType<typeof audienceValue>) => void;
};

function AudienceChoice({ verb, grant, roles, onTo }: AudienceChoiceProps) {
  const list = useId();
  const audience = audienceOf(grant);
  const { kind, name } = audience ?? { kind: undefined, name: "" };
  return (
    <>
      <Field label="For">
        {(attributes) => (
          <select
            {...attributes}
            value={kind ?? "other"}
            onChange={({ currentTarget }) =>
              onTo(audienceValue(currentTarget.value as Audience, kind === "role" ? name : ""))
            }
          >
            {audiences
              .filter((one) => one !== "owner" || verb !== "create")
              .map((one) => (
                <option key={one} value={one}>
                  {audienceWords[one]}
                </option>
              ))}
            {kind === undefined && <option value="other">as in the JSON</option>}
          </select>
        )}
      </Field>
      {(kind === "role" || kind === "scope") && (
        <Field label={kind === "role" ? "Role" : "Scope"}>
          {(attributes) => (
            <>
              <input
                {...attributes}
                type="text"
                autocomplete="off"
                list={kind === "role" ? list : undefined}
                placeholder={kind === "role" ? "editor" : "posts:read"}
                value={name}
                onInput={({ currentTarget }) => onTo(audienceValue(kind, currentTarget.value))}
              />
              <datalist id={list}>
                {roles.map((role) => (
                  <option key={role} value={role} />
                ))}
              </datalist>
            </>
          )}
        </Field>
      )}
    </>
  );
}

interface FieldNamesProps {
  readonly grant: Grant;
  readonly onFields: (fields: readonly string[] | undefined) => void;
}

function FieldNames({ grant, onFields }: FieldNamesProps) {
  const given = Array.isArray(grant.fields) ? grant.fields.join(", ") : "";
  const [text, setText] = useState(given);
  const names = namesIn(text);
  // What is typed stays as it is while it says the same, such as a comma at the end.
  const shown = names.join(", ") === given ? text : given;
  return (
    <Field label="Fields" help="With commas between them. Empty: all.">
      {(attributes) => (
        <input
          {...attributes}
          type="text"
          autocomplete="off"
          value={shown}
          onInput={({ currentTarget }) => {
            setText(currentTarget.value);
            const next = namesIn(currentTarget.value);
            onFields(next.length === 0 ? undefined : next);
          }}
        />
      )}
    </Field>
  );
}

const namesIn = (text: string): readonly string[] =>
  text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");

interface GrantValuesProps {
  readonly grant: Grant;
  readonly onValues: (values: JsonObject | undefined) => void;
}

/** The text stays while it is no JSON, and is taken over when it is. */
function Values({ grant, onValues }: GrantValuesProps) {
  const given = isObject(grant.set) ? JSON.stringify(grant.set) : "";
  const [text, setText] = useState(given);
  const read = text.trim() === "" ? { value: {} } : readObject(text);
  const isOther = "value" in read && JSON.stringify(read.value) !== (given || "{}");
  return (
    <Field
      label="Sets"
      help={'Values that a write gets, such as {"author": "$me"}.'}
      errors={"error" in read ? [read.error] : []}
    >
      {(attributes) => (
        <input
          {...attributes}
          type="text"
          class="code-input"
          autocomplete="off"
          spellcheck={false}
          value={isOther ? given : text}
          onInput={({ currentTarget }) => {
            setText(currentTarget.value);
            if (currentTarget.value.trim() === "") return onValues(undefined);
            const next = readObject(currentTarget.value);
            if ("value" in next) onValues(next.value);
          }}
        />
      )}
    </Field>
  );
}

interface ConditionsBarProps {
  readonly label: string;
  readonly where: JsonObject;
  readonly fields: readonly FilterField[];
  readonly onWhere: (where: JsonObject) => void;
}

function ConditionsBar({ label, where, fields, onWhere }: ConditionsBarProps) {
  const { filters, rest } = conditionsOf(where, fields);
  const hasRest = Object.keys(rest).length > 0;
  const view = {
    ...{ filters, sort: [], q: "", fields: undefined, widths: {} },
    where: hasRest ? JSON.stringify(rest) : undefined,
  };
  return (
    <div class="grant-conditions">
      <span class="label">{label}</span>
      {Object.keys(where).length === 0 && <span class="faint">anything</span>}
      <FilterBar
        view={view}
        fields={fields}
        noun="condition"
        problem={undefined}
        onChange={(change) => {
          const next = "where" in change ? parseObject(change.where ?? "{}") : rest;
          if (next === undefined) tellFailure(new Error("The conditions are no JSON object."));
          else onWhere(whereOf({ filters: change.filters ?? filters, rest: next }, fields));
        }}
      />
    </div>
  );
}
