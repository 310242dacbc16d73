// The screens of a collection, side by side.

import { isAdmin } from "../state/collections.ts";
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
  const current = findScreen(path)?.name;
  return (
    <nav class="tabs" aria-label={`Screens of ${collection}`}>
      {shown
        .filter(({ isForAll }) => isForAll || isAdmin.value)
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
