// A request as a command or as code, with a button that copies it.

import { signal } from "@preact/signals";
import type { ApiRequest } from "../api/client.ts";
import { copyAs, type Language } from "../api/copy-as.ts";
import { Button } from "./button.tsx";
import { copyText } from "./clipboard.ts";

const languages: readonly (readonly [Language, string])[] = [
  ["curl", "curl"],
  ["fetch", "fetch"],
  ["python", "Python"],
];

/** The one that was chosen last, on every screen. */
export const language = signal<Language>("curl");

export const LanguageChoice = () => (
  <p class="radios" role="radiogroup" aria-label="Language">
    {languages.map(([name, label]) => (
      <label key={name} class="check">
        <input
          type="radio"
          name="language"
          checked={name === language.value}
          onChange={() => {
            language.value = name;
          }}
        />
        {label}
      </label>
    ))}
  </p>
);

export function RequestCode({ request }: { request: ApiRequest }) {
  const code = copyAs(language.value, request);
  return (
    <>
      <LanguageChoice />
      <pre class="code-block">{code}</pre>
      <div class="dialog-foot">
        <Button kind="primary" icon="copy" onClick={() => void copyText(code, "the request")}>
          Copy
        </Button>
      </div>
    </>
  );
}
