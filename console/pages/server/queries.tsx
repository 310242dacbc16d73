// Slow queries, with the index that would help and a button that adds it.

import { useState } from "preact/hooks";
import { get } from "../../api/client.ts";
import type { Json } from "../../api/json.ts";
import type { Index, List, SlowQuery } from "../../api/server-types.ts";
import type { Build, Collection, Definition } from "../../api/types.ts";
import { editDefinition } from "../../definition/definition-api.ts";
import { useCurrentRequest } from "../../state/current-request.ts";
import { useLoad } from "../../state/load.ts";
import { tellDone, tellFailure } from "../../state/notices.ts";
import { usePolling } from "../../state/poll.ts";
import { collectionPath, linkTo, screenPath } from "../../state/router.ts";
import { Button } from "../../ui/button.tsx";
import { formatNumber } from "../../ui/format.ts";
import { Message, Shown } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";

export function Queries() {
  useCurrentRequest({ method: "GET", path: "/-/queries" });
  const loaded = useLoad("queries", (signal) => get<List<SlowQuery>>("/-/queries", signal));
  return (
    <section class="page">
      <header class="page-head">
        <h1>Slow queries</h1>
        <Button icon="refresh-cw" onClick={loaded.reload}>
          Read again
        </Button>
      </header>
      <p class="faint">
        Queries since the start of the server that took a second, checked 1,000 resources one by
        one, or were stopped. The slowest come first.
      </p>
      <Shown loaded={loaded} what="slow queries">
        {({ data }) =>
          data.length === 0 ? (
            <Message icon="gauge" title="No query was slow">
              <p>When one is, it is listed here with the index that would help.</p>
            </Message>
          ) : (
            <ol class="cards">
              {data
                .toSorted((one, other) => other.longestMs - one.longestMs)
                .map((query) => (
                  <QueryCard key={keyOf(query)} query={query} />
                ))}
            </ol>
          )
        }
      </Shown>
    </section>
  );
}

const keyOf = ({ collection, where, sort, search }: SlowQuery): string =>
  JSON.stringify([collection, where, sort, search]);

function QueryCard({ query }: { query: SlowQuery }) {
  const { collection, where, sort, search, plan, undeclaredFields } = query;
  const missing = [
    ...query.missingIndexes.map((index) => [collection, index] as const),
    ...Object.entries(query.relatedIndexes).flatMap(([name, indexes]) =>
      indexes.map((index) => [name, index] as const),
    ),
  ];
  const parts = [where, sort.length > 0 && `sorted by ${sort.join(", ")}`, search && "search"];
  return (
    <li class="card query">
      <h2>
        <a href={linkTo(collectionPath(collection))}>{collection}</a>{" "}
        <code>{parts.filter(Boolean).join(", ") || "everything"}</code>
      </h2>
      <p class="faint">{reasonOf(query)}</p>
      <dl class="figures">
        <Figure name="Longest">{formatNumber(query.longestMs)} ms</Figure>
        <Figure name="Recorded">{formatNumber(query.count)} times</Figure>
        <Figure name="Stopped">{formatNumber(query.stopped)}</Figure>
        <Figure name="Looked at one by one">{formatNumber(query.checked)}</Figure>
        <Figure name="Last">
          <Time value={query.lastAt} />
        </Figure>
        <Figure name="How it was found">{plan}</Figure>
      </dl>
      {undeclaredFields.length > 0 && (
        <p>
          Declare the type of <code>{undeclaredFields.join(", ")}</code> in the{" "}
          <a href={linkTo(screenPath(collection, "definition"))}>definition</a>: an index over
          values of any type is in no order.
        </p>
      )}
      {missing.length === 0
        ? undeclaredFields.length === 0 && <p class="faint">No index would help this query.</p>
        : missing.map(([name, index]) => (
            <div key={JSON.stringify([name, index])}>
              {name !== collection && <p>In {name}, which it refers to:</p>}
              <AddIndex collection={name} index={index} />
            </div>
          ))}
    </li>
  );
}

const slowMs = 1_000;

/** Why the server has recorded it. */
function reasonOf({ longestMs, stopped, checked }: SlowQuery): string {
  if (stopped > 0) return "Listed because it was stopped: it took too long.";
  if (longestMs >= slowMs) return "Listed because it took a second or more.";
  return `Listed because it looked at ${formatNumber(checked)} resources one by one: it gets slower as the collection grows.`;
}

const Figure = ({ name, children }: { name: string; children: preact.ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

const nameOf = (index: Index): string => (typeof index === "string" ? index : index.join(", "));
const pathOf = (collection: string): string => `/-/collections/${collection}`;

type Stage = "wanted" | "sent" | "building" | "there" | "failed";

function AddIndex({ collection, index }: { collection: string; index: Index }) {
  const loaded = useLoad(`${collection} ${nameOf(index)}`, (signal) =>
    get<Collection>(pathOf(collection), signal),
  );
  const [stage, setStage] = useState<Stage>("wanted");
  const isThere = loaded.value !== undefined && hasIndex(loaded.value.definition, index);
  const isBuilt = isThere && loaded.value?.build === undefined;
  const add = async (): Promise<void> => {
    setStage("sent");
    try {
      await putIndex(collection, index);
      setStage("building");
    } catch (error) {
      setStage("wanted");
      tellFailure(error);
    }
  };
  if (stage === "building" || (isThere && !isBuilt))
    return (
      <BuildProgress
        collection={collection}
        onEnd={(error) => {
          if (error === undefined) tellDone(`The index on ${nameOf(index)} is ready.`);
          else tellFailure(new Error(error));
          setStage(error === undefined ? "there" : "failed");
          loaded.reload();
        }}
      />
    );
  if (isBuilt || stage === "there")
    return <p class="good-news">The index on {nameOf(index)} is there. New queries use it.</p>;
  return (
    <p class="tool-row">
      <span>
        An index on <code>{nameOf(index)}</code> would help.
      </span>
      <Button kind="primary" icon="plus" isBusy={stage === "sent"} onClick={() => void add()}>
        Add the index on {nameOf(index)}
      </Button>
    </p>
  );
}

const hasIndex = ({ indexed = [] }: Definition, index: Index): boolean =>
  indexed.some((one) => nameOf(one) === nameOf(index));

const putIndex = (collection: string, index: Index): Promise<void> =>
  editDefinition(collection, (definition) => {
    if (hasIndex(definition as Definition, index)) return undefined;
    const indexed = Array.isArray(definition.indexed) ? definition.indexed : [];
    return { ...definition, indexed: [...indexed, index as Json] };
  });

interface BuildProps {
  readonly collection: string;
  /** With the reason of a failure. */
  readonly onEnd: (error?: string) => void;
}

function BuildProgress({ collection, onEnd }: BuildProps) {
  const [build, setBuild] = useState<Build>();
  usePolling(500, async (signal) => {
    const { build: now } = await get<Collection>(pathOf(collection), signal);
    setBuild(now);
    if (now === undefined) onEnd();
    else if (now.status === "failed") onEnd(now.errors?.[0]?.detail ?? "The index failed.");
  });
  const percent = build?.percent ?? 0;
  return (
    <p class="tool-row" role="status">
      <progress max={100} value={percent} aria-label="Building the index" />
      Building the index: {percent} %
    </p>
  );
}
