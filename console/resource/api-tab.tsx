// The requests that read, change and delete this resource, as commands and code.

import { useState } from "preact/hooks";
import type { ApiRequest } from "../api/client.ts";
import { copyAs, type Language } from "../api/copy-as.ts";
import type { JsonObject } from "../api/json.ts";
import { changeRequest, createRequest, resourceUrl } from "../state/changes.ts";
import { Button } from "../ui/button.tsx";
import { copyText } from "../ui/clipboard.ts";
import type { TabProps } from "./tab.ts";

const languages: readonly (readonly [Language, string])[] = [
  ["curl", "curl"],
  ["fetch", "fetch"],
  ["python", "Python"],
];

export function ApiTab(props: TabProps) {
  const [language, setLanguage] = useState<Language>("curl");
  return (
    <div class="form">
      <p class="radios" role="radiogroup" aria-label="Language">
        {languages.map(([name, label]) => (
          <label key={name} class="check">
            <input
              type="radio"
              name="language"
              checked={name === language}
              onChange={() => setLanguage(name)}
            />
            {label}
          </label>
        ))}
      </p>
      {requestsOf(props).map(([title, request]) => (
        <section key={title} class="request">
          <h2>{title}</h2>
          <Button
            icon="copy"
            onClick={() => void copyText(copyAs(language, request), "the request")}
          >
            Copy<span class="hidden-text"> {title}</span>
          </Button>
          <pre>{copyAs(language, request)}</pre>
        </section>
      ))}
    </div>
  );
}

function requestsOf({
  collection,
  id,
  draft,
}: TabProps): readonly (readonly [string, ApiRequest])[] {
  if (id === undefined) return [["Create it", createRequest(collection, draft.value, draft.key)]];
  const path = resourceUrl(collection, id);
  const headers = { "If-Match": draft.base.etag };
  const isChanged = draft.changed.length > 0;
  return [
    ["Read it", { method: "GET", path }],
    [
      isChanged ? "Save your changes" : "Change it",
      isChanged
        ? changeRequest(collection, id, draft.base, draft.value)
        : {
            method: "PATCH",
            path,
            headers: { "Content-Type": "application/merge-patch+json", ...headers },
            body: exampleOf(draft.base.body),
          },
    ],
    ["Delete it", { method: "DELETE", path, headers }],
  ];
}

/** The first member with a simple value, as it is. */
function exampleOf(members: JsonObject): JsonObject {
  const simple = Object.entries(members).find(([, value]) => typeof value !== "object");
  return Object.fromEntries([simple ?? ["name", "…"]]);
}
