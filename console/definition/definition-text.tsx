// The definition as JSON, with its errors at their lines and the hints of the API.

import { signal } from "@preact/signals";
import type { ProblemDetail } from "../api/problem.ts";
import { JsonEditor } from "../editor/json-editor.tsx";
import { useLoad } from "../state/load.ts";
import { Loading } from "../ui/states.tsx";
import { readHints } from "./definition-api.ts";

interface DefinitionTextProps {
  readonly text: string;
  /** Why the text is no definition that can be sent. */
  readonly error: string | undefined;
  readonly errors: readonly ProblemDetail[] | undefined;
  readonly onChange: (text: string) => void;
}

const key = "restante.definition-text";
const isOpen = signal(localStorage.getItem(key) === "open");

function remember(isWanted: boolean): void {
  isOpen.value = isWanted;
  localStorage.setItem(key, isWanted ? "open" : "closed");
}

export function DefinitionText({ text, error, errors, onChange }: DefinitionTextProps) {
  const hints = useLoad("hints for definitions", readHints);
  const isKnown = hints.value !== undefined || hints.problem !== undefined;
  return (
    <details
      class="definition-text"
      open={isOpen.value || error !== undefined}
      onToggle={({ currentTarget }) => remember(currentTarget.open)}
    >
      <summary>As JSON</summary>
      <div class="definition-editor">
        {isKnown ? (
          <JsonEditor
            label="The definition as JSON"
            {...{ text, errors, onChange }}
            schema={hints.value}
          />
        ) : (
          <Loading what="the editor" />
        )}
      </div>
      <p class={error === undefined ? "faint" : "errors"} role="status">
        {error ??
          "The same as above, and everything else: limits, caching, pictures, who sees what. Ctrl+Space shows what it can have."}
      </p>
    </details>
  );
}
