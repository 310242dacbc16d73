// On an empty store: how to POST the first person, and the person arriving.

import { useState } from "preact/hooks";
import { get, urlOf } from "../api/client.ts";
import type { Page, Resource } from "../api/types.ts";
import { loadCollections } from "../state/collections.ts";
import { usePolling } from "../state/poll.ts";
import { collectionPath, linkTo } from "../state/router.ts";
import { Button } from "../ui/button.tsx";
import { copyText } from "../ui/clipboard.ts";
import { FirstToken } from "../ui/first-token.tsx";
import { Icon } from "../ui/icon.tsx";

const everyMs = 1_000;

const command = (): string => `curl ${urlOf("/people").href} \\
  -H "Authorization: Bearer $TOKEN" \\
  -H 'Content-Type: application/json' \\
  -d '{"name": "Ada", "email": "ada@example.org"}'`;

interface FirstStepsProps {
  readonly onCreate: () => void;
  /** The first collection, once there is one. */
  readonly arrived: string | undefined;
}

export function FirstSteps({ onCreate, arrived }: FirstStepsProps) {
  usePolling(everyMs, async () => {
    if (arrived === undefined) await loadCollections();
  });
  return (
    <section class="first-steps card" aria-labelledby="first-steps">
      <h2 id="first-steps">{arrived === undefined ? "POST the first person" : "It has arrived"}</h2>
      {arrived === undefined ? (
        <p>
          Run this in a terminal. <code>$TOKEN</code> is your token;{" "}
          <a href={linkTo(["tokens"])}>Tokens</a> makes one. <FirstToken />
        </p>
      ) : (
        <p>The resource is on disk, and the server made a collection for it.</p>
      )}
      {arrived === undefined && <Command text={command()} />}
      <div role="status">
        {arrived === undefined ? (
          <p class="tool-row faint">
            <span class="spinner" /> Waiting for the first resource…
          </p>
        ) : (
          <Arrival collection={arrived} />
        )}
      </div>
      {arrived === undefined && (
        <>
          <h3>Or without curl</h3>
          <p class="tool-row">
            <Button icon="plus" onClick={onCreate}>
              Create in the console
            </Button>
            <span>
              <code>restante demo</code> fills a shop with products, customers and 5,000 orders.
            </span>
          </p>
        </>
      )}
    </section>
  );
}

const Command = ({ text }: { text: string }) => (
  <div class="command">
    <pre class="code-block">
      <code>{text}</code>
    </pre>
    <Button icon="copy" onClick={() => void copyText(text, "the command")}>
      Copy the command
    </Button>
  </div>
);

function Arrival({ collection }: { collection: string }) {
  const [first, setFirst] = useState<Resource>();
  usePolling(everyMs, async (signal) => {
    if (first !== undefined) return;
    const { data } = await get<Page<Resource>>(`/${collection}?limit=1`, signal);
    setFirst(data[0]);
  });
  return (
    <>
      {first && (
        <pre class="code-block arrived">
          <code>{JSON.stringify(first, null, 2)}</code>
        </pre>
      )}
      <p>
        <a class="button primary" href={linkTo(collectionPath(collection))}>
          <Icon name="table" />
          Open {collection}
        </a>
      </p>
    </>
  );
}
