// Who may read, create, update and delete, where a word says it.

import type { Definition } from "../api/types.ts";
import { linkTo, screenPath } from "../state/router.ts";
import { Field } from "../ui/field.tsx";
import { accessWord, changeAccess } from "./model.ts";

const words: Readonly<Record<string, string>> = {
  token: "tokens with the scope",
  public: "everyone",
  owner: "owners, with the scope",
};

interface AccessChoicesProps {
  readonly collection: string;
  readonly definition: Definition;
  readonly onChange: (definition: Definition) => void;
}

export function AccessChoices({ collection, definition, onChange }: AccessChoicesProps) {
  return (
    <div class="choices">
      {["read", "create", "update", "delete"].map((verb) => {
        const word = accessWord(definition, verb);
        return (
          <Field key={verb} label={`Who may ${verb}`}>
            {(attributes) => (
              <select
                {...attributes}
                value={word ?? "grants"}
                onChange={(event) =>
                  onChange(changeAccess(definition, verb, event.currentTarget.value))
                }
              >
                {Object.entries(words)
                  .filter(([one]) => one !== "owner" || verb !== "create")
                  .map(([one, text]) => (
                    <option key={one} value={one}>
                      {text}
                    </option>
                  ))}
                {word === undefined && <option value="grants">the grants in the JSON</option>}
              </select>
            )}
          </Field>
        );
      })}
      <p class="faint">
        Rules by value and field are grants in the JSON.{" "}
        <a href={linkTo(screenPath(collection, "rules"))}>Try the rules</a>
      </p>
    </div>
  );
}
