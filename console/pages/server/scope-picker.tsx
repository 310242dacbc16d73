// Ticks for the scopes of a token: collections and verbs, and the scopes of their own.

import { ScrollBox } from "../../ui/scroll-box.tsx";
import { isCovered, type Ticks, toggled, toggledRow, verbs } from "./scopes.ts";

interface ScopePickerProps {
  readonly collections: readonly string[];
  readonly actions: readonly string[];
  readonly ticks: Ticks;
  readonly onChange: (ticks: Ticks) => void;
}

export function ScopePicker({ collections, actions, ticks, onChange }: ScopePickerProps) {
  const isAdmin = ticks.has("admin");
  const flip = (tick: string) => onChange(toggled(ticks, tick));
  const single = (tick: string, text: string, isDisabled = isAdmin) => (
    <label key={tick} class="check">
      <input
        type="checkbox"
        checked={ticks.has(tick)}
        disabled={isDisabled}
        onChange={() => flip(tick)}
      />
      <span>
        <code>{tick}</code> {text}
      </span>
    </label>
  );
  return (
    <fieldset class="scopes">
      <legend>Allowed to</legend>
      {single("admin", "everything, tokens and settings included", false)}
      {single("metrics", "read the figures for monitoring")}
      {single("action:*", "run every action")}
      {actions.map((name) => single(`action:${name}`, "run this action"))}
      <ScrollBox label="Scopes of collections">
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Collection</th>
              {verbs.map((verb) => (
                <th key={verb} scope="col">
                  {verb}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {["*", ...collections].map((name) => (
              <tr key={name}>
                <th scope="row">
                  <button
                    type="button"
                    class="button quiet"
                    disabled={isAdmin}
                    title="Tick all four"
                    onClick={() => onChange(toggledRow(ticks, name))}
                  >
                    {name === "*" ? "every collection" : name}
                  </button>
                </th>
                {verbs.map((verb) => (
                  <td key={verb}>
                    <input
                      type="checkbox"
                      aria-label={`${verb} ${name === "*" ? "every collection" : name}`}
                      checked={ticks.has(`${name}:${verb}`) || isCovered(ticks, name, verb)}
                      disabled={isAdmin || isCovered(ticks, name, verb)}
                      onChange={() => flip(`${name}:${verb}`)}
                    />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollBox>
    </fieldset>
  );
}
