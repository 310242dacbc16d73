// All collections with their counts, sizes and growth, and the first steps on an empty store.

import { useRef } from "preact/hooks";
import { signOut, token } from "../api/session.ts";
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
        <h1>Overview</h1>
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
        {token.value ? (
          <p>Your token may use none of them, or there is none yet.</p>
        ) : (
          <>
            <p>Without a token you see what is open to everyone, and nothing is.</p>
            <Button kind="primary" icon="key-round" onClick={signOut}>
              Sign in with a token
            </Button>
          </>
        )}
      </Message>
    );
  return (
    <>
      {wasEmpty.current && <FirstSteps onCreate={openNew} arrived={all[0]?.name} />}
      {all.length > 0 && <CollectionTable all={all} />}
    </>
  );
}

/** Without the right of an administrator there are names alone. */
function CollectionTable({ all }: { all: readonly KnownCollection[] }) {
  const isCounted = all.some(({ total }) => total !== undefined);
  return (
    <table class="table overview">
      <thead>
        <tr>
          <th scope="col">Name</th>
          {isCounted && <FigureHeads />}
        </tr>
      </thead>
      <tbody>
        {all.map((one) => (
          <tr key={one.name}>
            <th scope="row">
              <a href={linkTo(collectionPath(one.name))}>{one.name}</a>
              {one.definition.description && <p class="faint">{one.definition.description}</p>}
            </th>
            {isCounted && <Figures {...one} />}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const FigureHeads = () => (
  <>
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
  </>
);

const Figures = ({ name, total, bytes, updatedAt }: KnownCollection) => (
  <>
    <td class="number">{total === undefined ? "" : formatNumber(total)}</td>
    <td class="wide-only-cell">
      <Growth name={name} total={total} />
    </td>
    <td class="number">{bytes === undefined ? "" : formatBytes(bytes)}</td>
    <td class="wide-only-cell">{updatedAt && <Time value={updatedAt} />}</td>
  </>
);
