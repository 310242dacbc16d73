// Who may read, create, update and delete: a word for each, or grants with their conditions.

import { get } from "../api/client.ts";
import type { AccessDocument } from "../api/server-types.ts";
import type { Definition } from "../api/types.ts";
import { columnsOf } from "../grid/columns.ts";
import { type FilterField, filterFields } from "../grid/operators.ts";
import { useLoad } from "../state/load.ts";
import { linkTo, screenPath } from "../state/router.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { accessWord, changeAccess, firstGrant, grantsOf, type Verb, verbs } from "./access.ts";
import { GrantEditor } from "./grant-editor.tsx";

const words: Readonly<Record<string, string>> = {
  token: "tokens that have the right",
  public: "everyone",
  owner: "owners whose token has the right",
  admin: "administrators alone",
  grants: "rules by value and field",
};

interface AccessChoicesProps {
  readonly collection: string;
  readonly definition: Definition;
  readonly onChange: (definition: Definition) => void;
}

export function AccessChoices({ collection, definition, onChange }: AccessChoicesProps) {
  const { value } = useLoad("roles", (signal) => get<AccessDocument>("/-/access", signal));
  const roles = Object.keys(value?.roles ?? {});
  const fields = fieldsFor(definition);
  return (
    <section class="access" aria-label="Who may do what">
      <h2>Access</h2>
      <p class="faint">
        An administrator may do everything.{" "}
        <a href={linkTo(screenPath(collection, "rules"))}>Try the rules</a> when they are saved.
      </p>
      {verbs.map((verb) => (
        <VerbAccess key={verb} {...{ verb, definition, roles, fields, onChange }} />
      ))}
    </section>
  );
}

/** The fields that a condition can name. */
function fieldsFor(definition: Definition): readonly FilterField[] {
  const owner = { path: "$owner", label: "owner", kind: "text" as const, options: [] };
  return [...filterFields(definition, columnsOf(definition, [])), owner];
}

interface VerbAccessProps {
  readonly verb: Verb;
  readonly definition: Definition;
  readonly roles: readonly string[];
  readonly fields: readonly FilterField[];
  readonly onChange: (definition: Definition) => void;
}

function VerbAccess({ verb, definition, roles, fields, onChange }: VerbAccessProps) {
  const word = accessWord(definition, verb);
  const grants = grantsOf(definition, verb);
  const put = (value: Parameters<typeof changeAccess>[2]): void =>
    onChange(changeAccess(definition, verb, value));
  return (
    <div class="verb-access">
      <Field label={`Who may ${verb}`}>
        {(attributes) => (
          <select
            {...attributes}
            value={word ?? "grants"}
            onChange={({ currentTarget: { value } }) =>
              put(value === "grants" ? [firstGrant(word)] : value)
            }
          >
            {Object.entries(words)
              .filter(([one]) => one !== "owner" || verb !== "create")
              .map(([one, text]) => (
                <option key={one} value={one}>
                  {text}
                </option>
              ))}
          </select>
        )}
      </Field>
      {word === undefined && (
        <>
          <ol class="grants" aria-label={`Rules to ${verb}`}>
            {grants.map((grant, index) => (
              <GrantEditor
                key={index}
                {...{ verb, grant, roles, fields }}
                position={index + 1}
                onChange={(next) => put(grants.map((one, other) => (other === index ? next : one)))}
                onRemove={() => {
                  const left = grants.filter((_, other) => other !== index);
                  put(left.length === 0 ? "token" : left);
                }}
              />
            ))}
          </ol>
          <Button
            icon="plus"
            onClick={() => put([...grants, { name: `rule ${grants.length + 1}`, to: "token" }])}
          >
            Add a rule to {verb}
          </Button>
        </>
      )}
    </div>
  );
}
