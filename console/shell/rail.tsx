// The navigation: collections with their counts, and the screens of the server.

import { useSignal } from "@preact/signals";
import { collections, isAdmin, type KnownCollection } from "../state/collections.ts";
import { linkTo, route } from "../state/router.ts";
import { collectionLink } from "../state/views.ts";
import { formatNumber } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { type Screen, screens } from "./screens.ts";

/** A filter is shown when the list is longer. */
const manyCollections = 12;

export function Rail({ onChoose }: { onChoose: () => void }) {
  const filter = useSignal("");
  const all = collections.value ?? [];
  const shown = all.filter(({ name }) => name.includes(filter.value.trim().toLowerCase()));
  const visible = screens.filter(
    ({ parent, isForAll }) => parent === undefined && (isAdmin.value || isForAll),
  );
  return (
    <nav class="rail" aria-label="Main" onClick={(event) => isLink(event) && onChoose()}>
      <ul>
        {visible.filter(isHome).map((screen) => (
          <ScreenLink key={screen.name} screen={screen} />
        ))}
      </ul>
      <h2>Collections</h2>
      {all.length > manyCollections && (
        <input
          type="search"
          aria-label="Filter collections"
          placeholder="Filter"
          value={filter.value}
          onInput={(event) => {
            filter.value = event.currentTarget.value;
          }}
        />
      )}
      <ul>
        {shown.map((collection) => (
          <CollectionLink key={collection.name} collection={collection} />
        ))}
      </ul>
      <h2>Tools</h2>
      <ul>
        {visible
          .filter((screen) => !isHome(screen))
          .map((screen) => (
            <ScreenLink key={screen.name} screen={screen} />
          ))}
      </ul>
    </nav>
  );
}

const isHome = ({ name }: Screen): boolean => name === "";

const isLink = ({ target }: Event): boolean =>
  target instanceof Element && target.closest("a") !== null;

function CollectionLink({ collection: { name, total } }: { collection: KnownCollection }) {
  const [kind, current] = route.value.path;
  const isCurrent = kind === "c" && current === name;
  return (
    <li>
      <a href={collectionLink(name)} aria-current={isCurrent ? "page" : undefined}>
        <Icon name="table" />
        <span class="name" title={name}>
          {name}
        </span>
        {total !== undefined && <span class="count">{formatNumber(total)}</span>}
      </a>
    </li>
  );
}

function ScreenLink({ screen: { name, label, icon } }: { screen: Screen }) {
  const [segment = ""] = route.value.path;
  const current = screens.find((one) => one.name === segment)?.parent ?? segment;
  return (
    <li>
      <a
        href={linkTo(name === "" ? [] : [name])}
        aria-current={current === name ? "page" : undefined}
      >
        <Icon name={icon} />
        <span class="name">{label}</span>
      </a>
    </li>
  );
}
