// Designs a collection: its fields in a table and its definition as JSON, checked before it is saved.

import { useRef, useState } from "preact/hooks";
import { fetchJson, get, type Tagged } from "../api/client.ts";
import { readObject } from "../api/exact.ts";
import { isEqual, type JsonObject } from "../api/json.ts";
import { asProblem, type Problem } from "../api/problem.ts";
import type { Definition, Page } from "../api/types.ts";
import { AccessChoices } from "../definition/access-choices.tsx";
import { BuildProgress } from "../definition/build-progress.tsx";
import { CheckResult, type Violations } from "../definition/check-result.tsx";
import {
  definitionPath,
  readDefinition,
  saveDefinition,
  saveRequest,
} from "../definition/definition-api.ts";
import { DefinitionText } from "../definition/definition-text.tsx";
import { FieldsTable } from "../definition/fields-table.tsx";
import { isReadable } from "../definition/readable.ts";
import { suggestSchema } from "../definition/suggest.ts";
import { isConflict } from "../state/changes.ts";
import { loadCollections } from "../state/collections.ts";
import { useCommands } from "../state/commands.ts";
import { useCurrentRequest } from "../state/current-request.ts";
import { useLoad } from "../state/load.ts";
import { tellDone } from "../state/notices.ts";
import { route } from "../state/router.ts";
import { useUnsaved } from "../state/unsaved.ts";
import { Button } from "../ui/button.tsx";
import { LeaveDialog } from "../ui/leave.tsx";
import { ProblemMessage, Shown } from "../ui/states.tsx";
import { VersionsDialog } from "../ui/versions.tsx";

export function DefinitionScreen() {
  const [, name = ""] = route.value.path;
  const loaded = useLoad(definitionPath(name), (signal) => readDefinition(name, signal));
  return (
    <section class="page designer">
      <h1>Definition of {name}</h1>
      <Shown loaded={loaded} what="the definition">
        {(definition) => <Designer key={name} name={name} saved={definition} />}
      </Shown>
    </section>
  );
}

const textOf = (definition: object): string => JSON.stringify(definition, null, 2);

/** What someone else has saved meanwhile, and what is wanted instead. */
interface Clash {
  readonly base: JsonObject;
  readonly mine: JsonObject;
  readonly theirs: Tagged<JsonObject>;
}

function Designer({ name, saved }: { name: string; saved: Tagged<JsonObject> }) {
  const [base, setBase] = useState(saved);
  const [text, setText] = useState(textOf(saved.body));
  const [violations, setViolations] = useState<Violations>();
  const [problem, setProblem] = useState<Problem>();
  const [clash, setClash] = useState<Clash>();
  const [isBusy, setBusy] = useState(false);
  const parsed = readObject(text);
  const draft = "value" in parsed ? parsed.value : undefined;
  const isShown = draft !== undefined && isReadable(draft);
  const isChanged = draft === undefined || !isEqual(draft, base.body);
  useCurrentRequest(saveRequest(name, draft ?? {}, base.etag));
  useUnsaved(isChanged, ({ path }) => isEqual(path, route.peek().path));
  const change = (next: string): void => {
    setText(next);
    setViolations(undefined);
    setProblem(undefined);
  };
  const run = async (work: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      await work();
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  };
  const check = () =>
    run(async () => {
      const path = `${definitionPath(name)}?dry-run=true`;
      const request = { method: "PUT", path, body: draft };
      setViolations((await fetchJson<{ violations: Violations }>(request)).violations);
    });
  /** Saves on top of what was read last. */
  const store = async (wanted: JsonObject, read: Tagged<JsonObject>): Promise<void> => {
    try {
      const result = await saveDefinition(name, wanted, read.etag);
      adopt(result.saved);
      setViolations(result.violations);
      tellDone(`Saved the definition of ${name}.`);
      await loadCollections();
    } catch (error) {
      if (!isConflict(error)) throw error;
      setClash({ base: read.body, mine: wanted, theirs: await readDefinition(name) });
    }
  };
  const adopt = (newest: Tagged<JsonObject>): void => {
    setClash(undefined);
    setBase(newest);
    change(textOf(newest.body));
  };
  const save = () => run(() => (draft && isChanged ? store(draft, base) : Promise.resolve()));
  const suggest = () =>
    run(async () => {
      const { data } = await get<Page<JsonObject>>(`/${name}?limit=1000&total=none`);
      change(textOf({ ...draft, schema: suggestSchema(data) }));
      tellDone(`Suggested from ${data.length} resources. Nothing is saved yet.`);
    });
  const latest = useRef(save);
  // At once: a key may follow the last letter before effects have run.
  latest.current = save;
  useCommands(
    [{ label: "Save the definition", key: "ctrl+s", run: () => void latest.current() }],
    name,
  );
  const design = {
    definition: (draft ?? {}) as Definition,
    onChange: (next: Definition) => change(textOf(next)),
  };
  return (
    <>
      {isShown && <FieldsTable {...design} />}
      {isShown && <AccessChoices collection={name} {...design} />}
      <DefinitionText
        text={text}
        error={"error" in parsed ? parsed.error : undefined}
        errors={problem?.errors}
        onChange={change}
      />
      <div class="actions">
        <Button isDisabled={isBusy || !draft} onClick={() => void check()}>
          Check what would no longer fit
        </Button>
        <Button icon="wand-sparkles" isDisabled={isBusy || !draft} onClick={() => void suggest()}>
          Suggest a schema from what is there
        </Button>
      </div>
      {problem && <ProblemMessage problem={problem} />}
      {violations && <CheckResult collection={name} violations={violations} />}
      <BuildProgress collection={name} key={base.etag} />
      {clash && (
        <VersionsDialog
          key={clash.theirs.etag}
          {...clash}
          kind="definition"
          name={name}
          theirs={clash.theirs.body}
          onSave={async (chosen) =>
            isEqual(chosen, clash.theirs.body) ? adopt(clash.theirs) : store(chosen, clash.theirs)
          }
          onClose={() => setClash(undefined)}
        />
      )}
      <footer class="save-bar">
        <p class="faint" role="status">
          {isChanged ? "Unsaved changes" : "No changes"}
        </p>
        <Button
          kind="quiet"
          isDisabled={isBusy || !isChanged}
          onClick={() => change(textOf(base.body))}
        >
          Discard
        </Button>
        <Button
          kind="primary"
          icon="save"
          isBusy={isBusy}
          isDisabled={!isChanged || !draft}
          onClick={() => void save()}
        >
          Save
        </Button>
      </footer>
      <LeaveDialog onLeave={() => change(textOf(base.body))}>
        The definition is not saved.
      </LeaveDialog>
    </>
  );
}
