// All collections with their counts, sizes and growth, and the first steps on an empty store.

import { useRef } from "preact/hooks";
import {
  collections,
  collectionsProblem,
  isAdmin,
  type KnownCollection,
} from "../state/collections.ts";
import { useCommands } from "../state/commands.ts";
import { useCurrentRequest } from "../state/current-request.ts";
import { paramOf, setParam } from "../state/params.ts";
import { collectionPath, linkTo } from "../state/router.ts";
import { Button } from "../ui/button.tsx";
import { formatBytes, formatNumber } from "../ui/format.ts";
import { Loading, Message, ProblemMessage } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { Growth } from "./growth.tsx";
import { NewCollection } from "./new-collection.tsx";

const openNew = (): void => setParam("new", "collection");

export function Overview() {
  useCurrentRequest({ method: "GET", path: "/-/collections" });
  useCommands([{ label: "New collection", run: openNew }], "overview");
  const all = collections.value;
  const problem = collectionsProblem.value;
  if (all === undefined)
    return problem ? <ProblemMessage problem={problem} /> : <Loading what="collections" />;
  return (
    <section class="page">
      <header class="page-head">
        <h1>Collections</h1>
        {isAdmin.value && (
          <Button kind={all.length === 0 ? "plain" : "primary"} icon="plus" onClick={openNew}>
            New collection
          </Button>
        )}
      </header>
      <Collections all={all} />
      {paramOf("new") !== "" && <NewCollection onClose={() => setParam("new", "")} />}
    </section>
  );
}

function Collections({ all }: { all: readonly KnownCollection[] }) {
  const wasEmpty = useRef(all.length === 0);
  if (!isAdmin.value && all.length === 0)
    return (
      <Message icon="shield-check" title="No collection is open to you">
        <p>Your token may use none of them, or there is none yet.</p>
      </Message>
    );
  return (
    <>
      {wasEmpty.current && <FirstSteps onCreate={openNew} arrived={all[0]?.name} />}
      {all.length > 0 && <CollectionTable all={all} />}
    </>
  );
}

const CollectionTable = ({ all }: { all: readonly KnownCollection[] }) => (
  <table class="table overview">
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col" class="number">
          Resources
        </th>
        <th scope="col" class="wide-only-cell">
          Growth
        </th>
        <th scope="col" class="number">
          Size
        </th>
        <th scope="col" class="wide-only-cell">
          Last change
        </th>
      </tr>
    </thead>
    <tbody>
      {all.map(({ name, total, bytes, updatedAt, definition }) => (
        <tr key={name}>
          <th scope="row">
            <a href={linkTo(collectionPath(name))}>{name}</a>
            {definition.description && <p class="faint">{definition.description}</p>}
          </th>
          <td class="number">{total === undefined ? "" : formatNumber(total)}</td>
          <td class="wide-only-cell">
            <Growth name={name} total={total} />
          </td>
          <td class="number">{bytes === undefined ? "" : formatBytes(bytes)}</td>
          <td class="wide-only-cell">{updatedAt && <Time value={updatedAt} />}</td>
        </tr>
      ))}
    </tbody>
  </table>
);
