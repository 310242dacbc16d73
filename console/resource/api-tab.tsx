// The requests that read, change and delete this resource, as commands and code.

import type { ApiRequest } from "../api/client.ts";
import { copyAs } from "../api/copy-as.ts";
import type { JsonObject } from "../api/json.ts";
import { changeRequest, createRequest, resourceUrl } from "../state/changes.ts";
import { Button } from "../ui/button.tsx";
import { copyText } from "../ui/clipboard.ts";
import { LanguageChoice, language } from "../ui/request-code.tsx";
import type { TabProps } from "./tab.ts";

export function ApiTab(props: TabProps) {
  return (
    <div class="form">
      <LanguageChoice />
      {requestsOf(props).map(([title, request]) => (
        <section key={title} class="request">
          <h2>{title}</h2>
          <Button
            icon="copy"
            onClick={() => void copyText(copyAs(language.value, request), "the request")}
          >
            Copy<span class="hidden-text"> {title}</span>
          </Button>
          <pre>{copyAs(language.value, request)}</pre>
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
