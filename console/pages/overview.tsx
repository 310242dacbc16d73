// All collections with their counts, sizes and growth, and the first steps on an empty store.

import { collections, collectionsProblem, type KnownCollection } from "../state/collections.ts";
import { useCurrentRequest } from "../state/current-request.ts";
import { collectionPath, linkTo } from "../state/router.ts";
import { formatBytes, formatNumber } from "../ui/format.ts";
import { Loading, Message, ProblemMessage } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";

export function Overview() {
  useCurrentRequest({ method: "GET", path: "/-/collections" });
  const all = collections.value;
  const problem = collectionsProblem.value;
  if (all === undefined)
    return problem ? <ProblemMessage problem={problem} /> : <Loading what="collections" />;
  return (
    <section class="page">
      <h1>Collections</h1>
      {all.length === 0 ? (
        <Message icon="database" title="There is no collection yet">
          <p>POST a resource, and its collection appears here.</p>
        </Message>
      ) : (
        <CollectionTable all={all} />
      )}
    </section>
  );
}

const CollectionTable = ({ all }: { all: readonly KnownCollection[] }) => (
  <table class="table">
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col" class="number">
          Resources
        </th>
        <th scope="col" class="number">
          Size
        </th>
        <th scope="col">Last change</th>
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
          <td class="number">{bytes === undefined ? "" : formatBytes(bytes)}</td>
          <td>{updatedAt && <Time value={updatedAt} />}</td>
        </tr>
      ))}
    </tbody>
  </table>
);
