// One resource as a whole page.

import { collectionPath, goTo, linkTo, route } from "../state/router.ts";
import { ResourcePanel } from "./resource-panel.tsx";

export function ResourcePage() {
  const [, collection = "", id] = route.value.path;
  const isNew = id === "-";
  if (id === undefined) return <p class="page">{collection}</p>;
  return (
    <ResourcePanel
      collection={collection}
      id={isNew ? undefined : id}
      onClose={() => goTo(linkTo(collectionPath(collection), route.peek().params))}
    />
  );
}
