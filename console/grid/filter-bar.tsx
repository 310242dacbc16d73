// The filters as chips: each opens its editor, and shows what the server says against it.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Problem } from "../api/problem.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { Popover } from "../ui/menu.tsx";
import { FilterEditor } from "./filter-editor.tsx";
import { type FilterField, operatorLabel } from "./operators.ts";
import { type Filter, isFiltered, type View } from "./view.ts";

interface FilterBarProps {
  readonly view: View;
  readonly fields: readonly FilterField[];
  readonly problem: Problem | undefined;
  /** What it is called elsewhere, such as in rules. */
  readonly noun?: "filter" | "condition";
  readonly onChange: (change: Partial<View>) => void;
}

export function FilterBar({ view, fields, problem, noun = "filter", onChange }: FilterBarProps) {
  const { filters, where } = view;
  const errorsAt = (name: string): readonly string[] =>
    (problem?.errors ?? []).filter(({ parameter }) => parameter === name).map((one) => one.detail);
  const replace = (former: Filter, next: readonly Filter[]): void =>
    onChange({ filters: filters.flatMap((one) => (one === former ? next : [one])) });
  return (
    <div class="filter-bar" role="group" aria-label={noun === "filter" ? "Filters" : "Conditions"}>
      {filters.map((filter) => (
        <Chip
          key={`${filter.name} ${filter.value}`}
          label={chipText(filter, fields)}
          noun={noun}
          errors={errorsAt(filter.name)}
          onRemove={() => replace(filter, [])}
        >
          {(close) => (
            <FilterEditor
              fields={fields}
              filter={filter}
              errors={errorsAt(filter.name)}
              onApply={(next) => {
                close();
                replace(filter, [next]);
              }}
            />
          )}
        </Chip>
      ))}
      {where !== undefined && (
        <Chip
          label={`Conditions: ${where}`}
          noun={noun}
          errors={errorsAt("where")}
          onRemove={() => onChange({ where: undefined })}
        >
          {(close) => (
            <WhereEditor
              text={where}
              errors={errorsAt("where")}
              onApply={(next) => {
                close();
                onChange({ where: next.trim() === "" ? undefined : next });
              }}
            />
          )}
        </Chip>
      )}
      <Popover label={`Add ${noun}`} icon="funnel" kind="quiet" name={noun}>
        {(close) => (
          <FilterEditor
            fields={fields}
            onApply={(next) => {
              close();
              onChange({ filters: [...filters.filter(({ name }) => name !== next.name), next] });
            }}
          />
        )}
      </Popover>
      {noun === "filter" && (isFiltered(view) || view.sort.length > 0) && (
        <Button
          kind="quiet"
          onClick={() => onChange({ filters: [], where: undefined, q: "", sort: [] })}
        >
          {isFiltered(view) ? "Clear all" : "Clear the sorting"}
        </Button>
      )}
    </div>
  );
}

const longestChip = 60;

function chipText({ field, operator, value }: Filter, fields: readonly FilterField[]): string {
  const known = fields.find(({ path }) => path === field);
  const label = known?.label ?? field;
  if (operator === "exists") return `${label} ${value === "false" ? "is missing" : "is there"}`;
  const text = value.length > longestChip ? `${value.slice(0, longestChip)}…` : value;
  return `${label} ${operatorLabel(operator, known?.kind ?? "any")} ${text === "" ? '""' : text}`;
}

interface ChipProps {
  readonly label: string;
  readonly noun: string;
  readonly errors: readonly string[];
  readonly onRemove: () => void;
  readonly children: (close: () => void) => ComponentChildren;
}

function Chip({ label, noun, errors, onRemove, children }: ChipProps) {
  return (
    <div class="chip-place">
      <div class="chip" data-invalid={errors.length > 0 || undefined}>
        <Popover label={label} kind="chip">
          {children}
        </Popover>
        <IconButton icon="x" label={`Remove the ${noun} ${label}`} onClick={onRemove} />
      </div>
      {errors.map((error) => (
        <p key={error} class="chip-error" role="alert">
          {error}
        </p>
      ))}
    </div>
  );
}

interface WhereEditorProps {
  readonly text: string;
  readonly errors: readonly string[];
  readonly onApply: (text: string) => void;
}

function WhereEditor({ text, errors, onApply }: WhereEditorProps) {
  const [draft, setDraft] = useState(text);
  return (
    <form
      class="filter-editor"
      onSubmit={(event) => {
        event.preventDefault();
        onApply(draft);
      }}
    >
      <Field
        label="Conditions as JSON"
        errors={errors}
        help={'Such as {"$or": [{"age": {"gte": 40}}, {"city": "Basel"}]}'}
      >
        {(attributes) => (
          <textarea
            {...attributes}
            rows={6}
            spellcheck={false}
            value={draft}
            onInput={(event) => setDraft(event.currentTarget.value)}
          />
        )}
      </Field>
      <Button type="submit" kind="primary">
        Apply
      </Button>
    </form>
  );
}
