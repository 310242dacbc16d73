// The screens of a collection, side by side.

import { get } from "../api/client.ts";
import type { Rights } from "../api/types.ts";
import { collections, isAdmin } from "../state/collections.ts";
import { useLoad } from "../state/load.ts";
import { linkTo, route, screenPath } from "../state/router.ts";
import { collectionLink } from "../state/views.ts";
import { Icon } from "../ui/icon.tsx";
import { collectionScreens, findScreen } from "./screens.ts";

/** A new resource is made from the list. */
const shown = collectionScreens.filter(({ name }) => name !== "new");

export function CollectionTabs() {
  const { path } = route.value;
  const [kind, collection] = path;
  if (kind !== "c" || collection === undefined) return null;
  return <Tabs path={path} collection={collection} />;
}

/** Whoever may not create gets no import. */
function useMayCreate(collection: string): boolean {
  const path = `/-/access/${encodeURIComponent(collection)}`;
  const isAsked = !isAdmin.value && collections.value !== undefined;
  const { value } = useLoad(isAsked ? path : "", async (signal) =>
    isAsked ? get<Rights>(path, signal) : undefined,
  );
  return isAdmin.value || (value !== undefined && value.create !== false);
}

function Tabs({ path, collection }: { path: readonly string[]; collection: string }) {
  const mayCreate = useMayCreate(collection);
  const current = findScreen(path)?.name;
  return (
    <nav class="tabs" aria-label={`Screens of ${collection}`}>
      {shown
        .filter(({ isForAll }) => isForAll || isAdmin.value)
        .filter(({ name }) => name !== "import" || mayCreate)
        .map(({ name, label, icon }) => (
          <a
            key={name}
            href={name === "" ? collectionLink(collection) : linkTo(screenPath(collection, name))}
            aria-current={
              current === name || (name === "" && current === "new") ? "page" : undefined
            }
          >
            <Icon name={icon} />
            {label}
          </a>
        ))}
    </nav>
  );
}
