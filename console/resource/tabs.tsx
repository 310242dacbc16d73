// The tabs of a resource. Which one is open is in the address.

import type { ComponentType } from "preact";
import { goTo, linkTo, route } from "../state/router.ts";
import { ApiTab } from "./api-tab.tsx";
import { FilesTab } from "./files-tab.tsx";
import { FormTab } from "./form-tab.tsx";
import { InfoTab } from "./info-tab.tsx";
import { JsonTab } from "./json-tab.tsx";
import { incomingTo, RelatedTab } from "./related-tab.tsx";
import type { TabProps } from "./tab.ts";

export interface Tab {
  readonly name: string;
  readonly label: string;
  readonly Content: ComponentType<TabProps>;
  /** Whether the resource is edited there. */
  readonly isEditor?: boolean;
}

const form: Tab = { name: "form", label: "Form", Content: FormTab, isEditor: true };
const json: Tab = { name: "json", label: "JSON", Content: JsonTab, isEditor: true };
const related: Tab = { name: "related", label: "Related", Content: RelatedTab };
const files: Tab = { name: "files", label: "Files", Content: FilesTab };
const api: Tab = { name: "api", label: "API", Content: ApiTab };
const info: Tab = { name: "info", label: "Info", Content: InfoTab };

export function tabsOf({ collection, id, definition }: TabProps): readonly [Tab, ...Tab[]] {
  if (id === undefined) return [form, json, api];
  const isRelated =
    Object.keys(definition.references ?? {}).length + incomingTo(collection).length > 0;
  return [form, json, files, ...(isRelated ? [related] : []), api, info];
}

interface TabsProps {
  readonly tabs: readonly Tab[];
  readonly current: string;
  readonly address: readonly string[];
  /** Whether the content of the open tab is on the page. */
  readonly isShown: boolean;
}

/** Arrow keys move among them, as everywhere. */
export function Tabs({ tabs, current, address, isShown }: TabsProps) {
  const open = (name: string): void =>
    goTo(linkTo(name === "form" ? address : [...address, name], route.peek().params), true);
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const index = tabs.findIndex(({ name }) => name === current);
    const next = tabs.at((index + step) % tabs.length);
    if (next === undefined) return;
    open(next.name);
    document.getElementById(`tab-${next.name}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="Views of the resource" onKeyDown={move}>
      {tabs.map(({ name, label }) => (
        <button
          key={name}
          type="button"
          role="tab"
          id={`tab-${name}`}
          aria-selected={name === current}
          aria-controls={isShown && name === current ? "resource-tab" : undefined}
          tabIndex={name === current ? 0 : -1}
          onClick={() => open(name)}
        >
          {label}
        </button>
      ))}
    </div>
  );
}
