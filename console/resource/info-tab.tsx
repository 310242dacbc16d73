// What is known about the resource itself: its id, times, owner, size, and what the caller may do.

import type { ComponentChildren } from "preact";
import { get } from "../api/client.ts";
import type { Resource, Right } from "../api/types.ts";
import { resourceUrl } from "../state/changes.ts";
import { isAdmin } from "../state/collections.ts";
import { useLoad } from "../state/load.ts";
import { IconButton } from "../ui/button.tsx";
import { copyText } from "../ui/clipboard.ts";
import { formatBytes, formatTime } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { Time } from "../ui/time.tsx";
import type { TabProps } from "./tab.ts";

const verbs = ["read", "create", "update", "delete"] as const;

export function InfoTab({ collection, id, draft, rights }: TabProps) {
  const { resource, base } = draft;
  const owner = useOwner(collection, id);
  if (resource === undefined) return null;
  const size = new Blob([JSON.stringify(resource)]).size;
  return (
    <div class="form">
      <dl class="facts">
        <Fact name="Id">
          <code>{resource.id}</code>
          <IconButton
            icon="copy"
            label="Copy the id"
            onClick={() => void copyText(resource.id, "the id")}
          />
        </Fact>
        <Fact name="Created">
          <Time value={resource.createdAt} /> <Local value={resource.createdAt} />
        </Fact>
        <Fact name="Changed">
          <Time value={resource.updatedAt} /> <Local value={resource.updatedAt} />
        </Fact>
        {isAdmin.value && <Fact name="Owner">{owner ?? "none"}</Fact>}
        <Fact name="ETag">
          <code>{base.etag}</code>
        </Fact>
        <Fact name="Size as JSON">{formatBytes(size)}</Fact>
      </dl>
      <h2>What your token may do here</h2>
      <ul class="rights">
        {verbs.map((verb) => (
          <RightLine key={verb} verb={verb} right={rights?.[verb]} />
        ))}
      </ul>
    </div>
  );
}

/** Administrators see whose it is. */
function useOwner(collection: string, id: string | undefined): string | null | undefined {
  const path = `${resourceUrl(collection, id ?? "")}?fields=_owner`;
  const isAsked = isAdmin.value && id !== undefined;
  const { value } = useLoad(isAsked ? path : "", async (signal) =>
    isAsked ? get<Resource & { _owner: string | null }>(path, signal) : undefined,
  );
  return value?._owner;
}

const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

const Local = ({ value }: { value: string }) => (
  <span class="faint">
    {formatTime(value)}, <span class="nowrap">{value} (UTC)</span>
  </span>
);

function RightLine({ verb, right }: { verb: string; right: Right | undefined }) {
  const isAllowed = right !== undefined && right !== false;
  return (
    <li>
      <Icon name={isAllowed ? "check" : "x"} />
      <span>
        {verb}
        {right === undefined ? ": unknown" : isAllowed ? "" : ": not allowed"}
        {typeof right === "object" && <span class="faint"> {right.fields.join(", ")}</span>}
      </span>
    </li>
  );
}
