// The API page: every operation of the live OpenAPI document, with "try it". Only what is open is rendered.

import { useMemo, useState } from "preact/hooks";
import { get, root } from "../../api/client.ts";
import { collectionNames, isAdmin } from "../../state/collections.ts";
import { useCurrentRequest } from "../../state/current-request.ts";
import { useLoad } from "../../state/load.ts";
import { paramOf, setParam } from "../../state/params.ts";
import { linkTo } from "../../state/router.ts";
import { RequestCode } from "../../ui/request-code.tsx";
import { Message, Shown } from "../../ui/states.tsx";
import {
  byTag,
  type Content,
  detailOf,
  type OpenApiDocument,
  type Operation,
  type OperationDetail,
  operationsOf,
} from "./document.ts";
import { Prose } from "./prose.tsx";
import { SchemaView } from "./schema-view.tsx";
import { TryIt } from "./try-it.tsx";

const foundAtMost = 60;

export function Docs() {
  const loaded = useLoad("openapi", (signal) => get<OpenApiDocument>("/-/openapi.json", signal));
  return (
    <Shown loaded={loaded} what="the API">
      {(document) => <Api document={document} />}
    </Shown>
  );
}

function Api({ document }: { document: OpenApiDocument }) {
  const all = useMemo(() => operationsOf(document), [document]);
  const open = paramOf("op");
  const operation = all.find(({ id }) => id === open);
  return (
    <div class="api" data-open={operation ? "" : undefined}>
      <OperationList all={all} open={operation} />
      <div class="api-detail">
        {operation ? (
          <OperationView
            key={operation.id}
            operation={detailOf(document, operation)}
            document={document}
          />
        ) : (
          <Start document={document} count={all.length} />
        )}
      </div>
    </div>
  );
}

function Start({ document, count }: { document: OpenApiDocument; count: number }) {
  useCurrentRequest({ method: "GET", path: "/-/openapi.json" });
  const { description = "" } = document.info as { readonly description?: string };
  return (
    <section class="page prose">
      <h1>API</h1>
      <HowTo first={collectionNames.value[0] ?? "people"} />
      <h2>All operations</h2>
      <p>
        {count} operations, from the document that describes this server as it is now. Choose one to
        read about it and to try it.
      </p>
      <div class="api-about">
        <Prose text={description} />
      </div>
    </section>
  );
}

/** What a person needs to send the first request. */
const HowTo = ({ first }: { first: string }) => (
  <>
    <p>
      Programs reach this server at <code>{root.href}</code>. They send their token in the header{" "}
      <code>Authorization: Bearer …</code>
      {isAdmin.value && (
        <>
          ; <a href={linkTo(["tokens"])}>Tokens</a> makes one
        </>
      )}
      . This reads the newest of {first}:
    </p>
    <RequestCode request={{ method: "GET", path: `/${first}?sort=-createdAt&limit=5` }} />
  </>
);

/** Words that no operation has, but the start of this page explains. */
const explained = [
  "python",
  "curl",
  "fetch",
  "javascript",
  "token",
  "bearer",
  "authorization",
  "url",
];

interface OperationListProps {
  readonly all: readonly Operation[];
  readonly open: Operation | undefined;
}

function OperationList({ all, open }: OperationListProps) {
  const search = paramOf("q").trim().toLowerCase();
  const words = search.split(/\s+/);
  const found = all.filter(({ method, path, summary }) => {
    const text = `${method} ${path} ${summary}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const isExplained =
    search !== "" && words.some((word) => explained.some((one) => one.startsWith(word)));
  return (
    <nav class="api-list" aria-label="Operations">
      <input
        type="search"
        aria-label="Search operations"
        placeholder="Search operations"
        value={paramOf("q")}
        onInput={(event) => setParam("q", event.currentTarget.value)}
      />
      {search === "" ? (
        [...byTag(all)].map(([tag, list]) => <Tag key={tag} name={tag} list={list} open={open} />)
      ) : (
        <Links list={found.slice(0, foundAtMost)} open={open} />
      )}
      {isExplained && (
        <p>
          <a href={linkTo(["docs"])}>How to send a request: address, token, curl, fetch, Python</a>
        </p>
      )}
      {found.length === 0 && !isExplained && <Message icon="search" title="No operation fits" />}
      {search !== "" && found.length > foundAtMost && (
        <p class="faint">{found.length - foundAtMost} more. Search for more words.</p>
      )}
    </nav>
  );
}

interface TagProps {
  readonly name: string;
  readonly list: readonly Operation[];
  readonly open: Operation | undefined;
}

function Tag({ name, list, open }: TagProps) {
  const [isOpen, setIsOpen] = useState(open?.tag === name);
  return (
    <details open={isOpen} onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>{name}</summary>
      {isOpen && <Links list={list} open={open} />}
    </details>
  );
}

const Links = ({ list, open }: Omit<TagProps, "name">) => (
  <ul>
    {list.map(({ id, method, path, summary }) => (
      <li key={id}>
        <a href={addressOf(id)} aria-current={id === open?.id ? "page" : undefined} title={summary}>
          <span class={`method ${method.toLowerCase()}`}>{method}</span> {path}
        </a>
      </li>
    ))}
  </ul>
);

/** The search stays while someone looks from one to the next. */
function addressOf(id: string): string {
  const params = new URLSearchParams({ op: id });
  const search = paramOf("q");
  if (search !== "") params.set("q", search);
  return linkTo(["docs"], params);
}

interface OperationViewProps {
  readonly document: OpenApiDocument;
  readonly operation: OperationDetail;
}

const OperationView = ({ document, operation }: OperationViewProps) => (
  <section class="page prose">
    <p class="narrow-only">
      <a href={linkTo(["docs"])}>All operations</a>
    </p>
    <h1>{operation.summary}</h1>
    <p class="address">
      <span class={`method ${operation.method.toLowerCase()}`}>{operation.method}</span>{" "}
      <code>{operation.path}</code>
    </p>
    <Prose text={operation.description} />
    {operation.scopes.length > 0 && (
      <p class="faint">
        Needs the scope <code>{operation.scopes.join(" or ")}</code>.
      </p>
    )}
    <TryIt document={document} operation={operation} />
    {operation.body.length > 0 && <h2>What is sent</h2>}
    {operation.body.map((content) => (
      <ContentView key={content.type} document={document} content={content} />
    ))}
    <h2>What comes back</h2>
    {operation.answers.map(({ status, description, content }) => (
      <div key={status} class="api-answer">
        <h3>{status === "default" ? "Any other status" : status}</h3>
        <Prose text={description} />
        {content.map((one) => (
          <ContentView key={one.type} document={document} content={one} />
        ))}
      </div>
    ))}
  </section>
);

function ContentView({ document, content }: { document: OpenApiDocument; content: Content }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>{content.type}</summary>
      {isOpen && <SchemaView document={document} schema={content.schema} />}
    </details>
  );
}
