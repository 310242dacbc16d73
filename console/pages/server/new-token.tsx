// The dialog that creates a token, and shows its secret once.

import { useRef, useState } from "preact/hooks";
import { type ApiRequest, fetchJson, get } from "../../api/client.ts";
import type { JsonObject } from "../../api/json.ts";
import { asProblem, type Problem } from "../../api/problem.ts";
import type { AccessDocument, Action, IssuedToken, List } from "../../api/server-types.ts";
import { collectionNames } from "../../state/collections.ts";
import { useLoad } from "../../state/load.ts";
import { Button } from "../../ui/button.tsx";
import { copyText } from "../../ui/clipboard.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Field } from "../../ui/field.tsx";
import { ScopePicker } from "./scope-picker.tsx";
import { scopesOf, type Ticks } from "./scopes.ts";

interface TokenDraft {
  readonly name: string;
  readonly subject: string;
  readonly ticks: Ticks;
  readonly roles: readonly string[];
  /** Days, `never`, or `date`. */
  readonly expiry: string;
  readonly date: string;
}

const empty: TokenDraft = {
  ...{ name: "", subject: "", ticks: new Set(), roles: [], expiry: "90", date: "" },
};

const expiries = [
  ["7", "in 7 days"],
  ["30", "in 30 days"],
  ["90", "in 90 days"],
  ["365", "in a year"],
  ["never", "never"],
  ["date", "at a time of your choice"],
] as const;

const dayMs = 86_400_000;

function expiryOf({ expiry, date }: TokenDraft): string | null {
  if (expiry === "never") return null;
  if (expiry !== "date") return new Date(Date.now() + Number(expiry) * dayMs).toISOString();
  const time = Date.parse(date);
  return Number.isNaN(time) ? date : new Date(time).toISOString();
}

function requestOf(draft: TokenDraft): ApiRequest {
  const { name, subject, ticks, roles } = draft;
  const body: JsonObject = {
    ...{ name, scopes: scopesOf(ticks), roles, expiresAt: expiryOf(draft) },
    ...(subject !== "" && { subject }),
  };
  return { method: "POST", path: "/-/tokens", body };
}

export function NewToken({ onClose, onMade }: { onClose: () => void; onMade: () => void }) {
  const [issued, setIssued] = useState<IssuedToken>();
  return (
    <Dialog title={issued ? `The token “${issued.name}”` : "New token"} onClose={onClose}>
      {issued ? (
        <Secret secret={issued.token} onClose={onClose} />
      ) : (
        <TokenForm
          onMade={(token) => {
            setIssued(token);
            onMade();
          }}
          onClose={onClose}
        />
      )}
    </Dialog>
  );
}

/** The secret is in this component alone. */
const Secret = ({ secret, onClose }: { secret: string; onClose: () => void }) => (
  <>
    <p class="banner">
      Copy the secret now. The server keeps only its hash and cannot show it again.
    </p>
    <Field label="Secret">
      {(attributes) => (
        <input
          {...attributes}
          class="secret"
          readOnly
          value={secret}
          onFocus={(event) => event.currentTarget.select()}
        />
      )}
    </Field>
    <div class="dialog-foot">
      <Button kind="primary" icon="copy" onClick={() => void copyText(secret, "the secret")}>
        Copy the secret
      </Button>
      <Button onClick={onClose}>Done</Button>
    </div>
  </>
);

interface NewTokenProps {
  readonly onMade: (token: IssuedToken) => void;
  readonly onClose: () => void;
}

function TokenForm({ onMade, onClose }: NewTokenProps) {
  const [draft, setDraft] = useState(empty);
  const [problem, setProblem] = useState<Problem>();
  const [isBusy, setIsBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const choices = useLoad("choices", readChoices).value;
  const change = (part: Partial<TokenDraft>) => setDraft((former) => ({ ...former, ...part }));
  const errorsAt = (pointer: string) => problem?.at(pointer).map(({ detail }) => detail) ?? [];
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setIsBusy(true);
    try {
      onMade(await fetchJson<IssuedToken>(requestOf(draft)));
    } catch (error) {
      setProblem(asProblem(error));
      setIsBusy(false);
      requestAnimationFrame(() =>
        form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus(),
      );
    }
  };
  return (
    <form ref={form} class="dialog-form" noValidate onSubmit={(event) => void submit(event)}>
      <Field label="Name" help="Who or what uses it." errors={errorsAt("/name")} isRequired>
        {(attributes) => (
          <input
            {...attributes}
            // biome-ignore lint/a11y/noAutofocus: A dialog opens at its first field.
            autoFocus
            value={draft.name}
            onInput={(event) => change({ name: event.currentTarget.value })}
          />
        )}
      </Field>
      <ScopePicker
        collections={collectionNames.value}
        actions={choices?.actions ?? []}
        ticks={draft.ticks}
        onChange={(ticks) => change({ ticks })}
      />
      <Errors list={errorsAt("/scopes")} />
      <Roles
        all={choices?.roles ?? []}
        chosen={draft.roles}
        onChange={(roles) => change({ roles })}
      />
      <Errors list={errorsAt("/roles")} />
      <Field label="Expires" errors={errorsAt("/expiresAt")}>
        {(attributes) => (
          <span class="tool-row">
            <select
              {...attributes}
              value={draft.expiry}
              onChange={(event) => change({ expiry: event.currentTarget.value })}
            >
              {expiries.map(([value, text]) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </select>
            {draft.expiry === "date" && (
              <input
                type="datetime-local"
                aria-label="When it expires"
                value={draft.date}
                onInput={(event) => change({ date: event.currentTarget.value })}
              />
            )}
          </span>
        )}
      </Field>
      <Field
        label="Acts for"
        help="The person or program that owns what it creates. Leave it empty for the token itself."
        errors={errorsAt("/subject")}
      >
        {(attributes) => (
          <input
            {...attributes}
            value={draft.subject}
            onInput={(event) => change({ subject: event.currentTarget.value })}
          />
        )}
      </Field>
      {problem && problem.errors.length === 0 && <Errors list={[problem.detail]} />}
      <div class="dialog-foot">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" type="submit" isBusy={isBusy}>
          Create the token
        </Button>
      </div>
    </form>
  );
}

interface Choices {
  readonly roles: readonly string[];
  readonly actions: readonly string[];
}

async function readChoices(signal: AbortSignal): Promise<Choices> {
  const [access, actions] = await Promise.all([
    get<AccessDocument>("/-/access", signal),
    get<List<Action>>("/-/actions", signal),
  ]);
  return { roles: Object.keys(access.roles), actions: actions.data.map(({ name }) => name) };
}

interface RolesProps {
  readonly all: readonly string[];
  readonly chosen: readonly string[];
  readonly onChange: (roles: readonly string[]) => void;
}

function Roles({ all, chosen, onChange }: RolesProps) {
  if (all.length === 0) return null;
  return (
    <fieldset class="scopes">
      <legend>Roles</legend>
      {all.map((name) => (
        <label key={name} class="check">
          <input
            type="checkbox"
            checked={chosen.includes(name)}
            onChange={() =>
              onChange(
                chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name],
              )
            }
          />
          {name}
        </label>
      ))}
    </fieldset>
  );
}

const Errors = ({ list }: { list: readonly string[] }) =>
  list.length === 0 ? null : (
    <ul class="form-errors" role="alert">
      {list.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  );
