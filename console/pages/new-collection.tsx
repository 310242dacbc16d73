// The dialog that makes a collection by its name.

import { useState } from "preact/hooks";
import { send } from "../api/client.ts";
import { asProblem, Problem } from "../api/problem.ts";
import { collectionNames, loadCollections } from "../state/collections.ts";
import { collectionPath, goTo, linkTo } from "../state/router.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";

export function NewCollection({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [problem, setProblem] = useState<Problem>();
  const [isBusy, setIsBusy] = useState(false);
  const create = async (event: Event): Promise<void> => {
    event.preventDefault();
    setIsBusy(true);
    try {
      await define(name);
      await loadCollections();
      goTo(linkTo(collectionPath(name)));
    } catch (error) {
      setProblem(asProblem(error));
      setIsBusy(false);
    }
  };
  return (
    <Dialog title="New collection" onClose={onClose}>
      <form class="dialog-form" noValidate onSubmit={(event) => void create(event)}>
        <Field
          label="Name"
          help="Small letters, digits, “_” and “-”, such as people. It is the first part of every address."
          errors={problem ? [problem.detail] : []}
          isRequired
        >
          {(attributes) => (
            <input
              {...attributes}
              autoFocus
              autocomplete="off"
              autocapitalize="none"
              spellcheck={false}
              value={name}
              onInput={(event) => {
                setName(asCollectionName(event.currentTarget.value));
                setProblem(undefined);
              }}
            />
          )}
        </Field>
        <div class="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" isBusy={isBusy}>
            Create the collection
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** What people type, as a name can be: `My Suppliers` becomes `my-suppliers`. */
const asCollectionName = (text: string): string =>
  text
    .normalize("NFKD")
    .toLowerCase()
    .replace(/\p{M}/gu, "")
    .replace(/[^a-z0-9_]/g, "-")
    .replace(/^[-_]+/, "")
    .replace(/-{2,}/g, "-")
    .slice(0, 63);

/** A definition that is there already would be replaced, so a known name is refused. */
async function define(name: string): Promise<void> {
  if (!/^[a-z0-9][a-z0-9_-]{0,62}$/.test(name))
    throw asName("A name begins with a small letter or a digit, and has up to 63 characters.");
  if (collectionNames.peek().includes(name)) throw asName("There is a collection with this name.");
  await send({ method: "PUT", path: `/-/collections/${name}`, body: {} });
}

const asName = (detail: string): Problem => new Problem(400, { detail });
