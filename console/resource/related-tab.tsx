// What the resource refers to, and what refers to it.

import { get } from "../api/client.ts";
import { isObject, type Json, memberOf } from "../api/json.ts";
import type { Page, Resource } from "../api/types.ts";
import { ReferenceLink } from "../form/reference.tsx";
import { collections } from "../state/collections.ts";
import { useLoad } from "../state/load.ts";
import { collectionPath, linkTo, resourcePath } from "../state/router.ts";
import { titleOf } from "../state/titles.ts";
import { formatNumber } from "../ui/format.ts";
import { Shown } from "../ui/states.tsx";
import type { TabProps } from "./tab.ts";

const shownAtOnce = 10;

interface Incoming {
  readonly collection: string;
  readonly path: string;
}

/** References of other collections to this one, as far as their definitions are known. */
export const incomingTo = (collection: string): readonly Incoming[] =>
  (collections.value ?? []).flatMap(({ name, definition: { references = {} } }) =>
    Object.entries(references)
      .filter(([, reference]) => reference.collection === collection)
      .map(([path]) => ({ collection: name, path })),
  );

export function RelatedTab({ collection, id, definition, draft }: TabProps) {
  const outgoing = Object.entries(definition.references ?? {});
  const incoming = incomingTo(collection);
  return (
    <div class="form">
      {outgoing.map(([path, reference]) => (
        <section key={path}>
          <h2>{path}</h2>
          <ul class="related">
            {idsAt(draft.value, path).map((other) => (
              <li key={other}>
                <ReferenceLink collection={reference.collection} id={other} />
              </li>
            ))}
          </ul>
        </section>
      ))}
      {id !== undefined &&
        incoming.map((one) => <Referrers key={`${one.collection} ${one.path}`} {...one} id={id} />)}
    </div>
  );
}

/** The ids that a path such as `lines[].product` leads to. */
function idsAt(value: Json | undefined, path: string): readonly string[] {
  const steps = path.split(".").flatMap((step) => {
    const depth = step.split("[]").length - 1;
    return [step.replaceAll("[]", ""), ...Array<string>(depth).fill("[]")];
  });
  const found = steps.reduce<readonly (Json | undefined)[]>(
    (values, step) =>
      values.flatMap((one): readonly (Json | undefined)[] => {
        if (step === "[]") return Array.isArray(one) ? (one as readonly Json[]) : [];
        return isObject(one) ? [memberOf(one, step)] : [];
      }),
    [value],
  );
  return [...new Set(found.filter((one) => typeof one === "string"))];
}

function Referrers({ collection, path, id }: Incoming & { readonly id: string }) {
  const params = new URLSearchParams({ [path]: id });
  const listPath = `/${collection}?${params}&limit=${shownAtOnce}`;
  const loaded = useLoad(listPath, (signal) => get<Page<Resource>>(listPath, signal));
  return (
    <section>
      <h2>
        Referred to by {collection} <span class="faint">({path})</span>
      </h2>
      <Shown loaded={loaded} what={collection}>
        {({ data, total }) => (
          <>
            <ul class="related">
              {data.map((resource) => (
                <li key={resource.id}>
                  <a href={linkTo(resourcePath(collection, resource.id))} dir="auto">
                    {titleOf(resource)}
                  </a>
                </li>
              ))}
            </ul>
            <p class="faint">
              {data.length === 0 ? (
                "Nothing refers to it."
              ) : (
                <a href={linkTo(collectionPath(collection), params)}>
                  Show all {total === null ? "" : formatNumber(total)}
                </a>
              )}
            </p>
          </>
        )}
      </Shown>
    </section>
  );
}
