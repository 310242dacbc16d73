// Designs a collection: its fields in a table and its definition as JSON, checked before it is saved.

import { useEffect, useState } from "preact/hooks";
import { fetchJson, get } from "../api/client.ts";
import { isEqual, type Json, type JsonObject, parseObject } from "../api/json.ts";
import { asProblem, Problem } from "../api/problem.ts";
import type { Build, Collection, Definition, Page } from "../api/types.ts";
import { AccessChoices } from "../definition/access-choices.tsx";
import { CheckResult, type Violations } from "../definition/check-result.tsx";
import { FieldsTable } from "../definition/fields-table.tsx";
import { suggestSchema } from "../definition/suggest.ts";
import { loadCollections } from "../state/collections.ts";
import { useCommands } from "../state/commands.ts";
import { useCurrentRequest } from "../state/current-request.ts";
import { useLoad } from "../state/load.ts";
import { tellDone } from "../state/notices.ts";
import { route } from "../state/router.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { ProblemMessage, Shown } from "../ui/states.tsx";

export function DefinitionScreen() {
  const [, name = ""] = route.value.path;
  const path = `/-/collections/${name}`;
  const loaded = useLoad(path, (signal) => readDefinition(path, signal));
  return (
    <section class="page">
      <h1>Definition of {name}</h1>
      <Shown loaded={loaded} what="the definition">
        {(definition) => <Designer key={path} name={name} saved={definition} />}
      </Shown>
    </section>
  );
}

/** A collection that does not exist yet has an empty definition. */
async function readDefinition(path: string, signal?: AbortSignal): Promise<Definition> {
  try {
    return (await get<Collection>(path, signal)).definition;
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return {};
    throw error;
  }
}

const textOf = (definition: Definition): string => JSON.stringify(definition, null, 2);

function Designer({ name, saved }: { name: string; saved: Definition }) {
  const path = `/-/collections/${name}`;
  const [base, setBase] = useState(saved);
  const [text, setText] = useState(textOf(saved));
  const [violations, setViolations] = useState<Violations>();
  const [problem, setProblem] = useState<Problem>();
  const [isBusy, setBusy] = useState(false);
  const draft: Definition | undefined = parseObject(text);
  const isChanged = draft === undefined || !isEqual(draft as Json, base as Json);
  useCurrentRequest({ method: "PUT", path, body: (draft ?? {}) as Json });
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
  const put = (query: string) =>
    fetchJson<{ violations: Violations }>({
      method: "PUT",
      path: path + query,
      body: draft as Json,
    });
  const check = () =>
    run(async () => {
      setViolations((await put("?dry-run=true")).violations);
    });
  const save = () =>
    run(async () => {
      if (!isEqual((await readDefinition(path)) as Json, base as Json)) throw changedMeanwhile;
      setViolations((await put("")).violations);
      setBase(draft ?? base);
      tellDone(`Saved the definition of ${name}.`);
      await loadCollections();
    });
  const suggest = () =>
    run(async () => {
      const { data } = await get<Page<JsonObject>>(`/${name}?limit=1000&total=none`);
      change(textOf({ ...draft, schema: suggestSchema(data) }));
      tellDone(`Suggested from ${data.length} resources. Nothing is saved yet.`);
    });
  useCommands([{ label: "Save the definition", key: "ctrl+s", run: () => void save() }], text);
  return (
    <>
      {draft && (
        <>
          <FieldsTable definition={draft} onChange={(next) => change(textOf(next))} />
          <AccessChoices
            collection={name}
            definition={draft}
            onChange={(next) => change(textOf(next))}
          />
        </>
      )}
      <Field
        label="The definition as JSON"
        errors={draft === undefined ? ["This is no JSON object yet."] : []}
        help="The same as above, and everything else: limits, caching, pictures, boundary, grants."
      >
        {(attributes) => (
          <textarea
            {...attributes}
            class="json-text"
            rows={16}
            spellcheck={false}
            value={text}
            onInput={(event) => change(event.currentTarget.value)}
          />
        )}
      </Field>
      <div class="actions">
        <Button
          kind="primary"
          isBusy={isBusy}
          isDisabled={!isChanged || !draft}
          onClick={() => void save()}
        >
          Save
        </Button>
        <Button isDisabled={isBusy || !draft} onClick={() => void check()}>
          Check what would no longer fit
        </Button>
        <Button icon="wand-sparkles" isDisabled={isBusy || !draft} onClick={() => void suggest()}>
          Suggest a schema from what is there
        </Button>
        <Button kind="quiet" isDisabled={isBusy || !isChanged} onClick={() => change(textOf(base))}>
          Discard changes
        </Button>
      </div>
      {problem && <ProblemMessage problem={problem} />}
      {violations && <CheckResult collection={name} violations={violations} />}
      <BuildProgress path={path} key={textOf(base)} />
    </>
  );
}

const changedMeanwhile = new Problem(412, {
  title: "The definition has changed meanwhile",
  detail: "Someone else has saved it. Copy your text, reload this page, and change it again.",
});

const pollMs = 1_000;

/** Shows how far the indexes of existing resources are, while they are built. */
function BuildProgress({ path }: { path: string }) {
  const [build, setBuild] = useState<Build>();
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const poll = async (): Promise<void> => {
      const found = await get<Collection>(path, abort.signal).catch(() => undefined);
      if (abort.signal.aborted) return;
      setBuild(found?.build);
      if (found?.build?.status === "running") timer = setTimeout(() => void poll(), pollMs);
    };
    void poll();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [path]);
  if (build === undefined) return null;
  if (build.status === "failed")
    return (
      <p role="alert">
        The indexes were not built: {build.errors?.map(({ detail }) => detail).join("; ")}
      </p>
    );
  return (
    <p role="status">
      Indexes are built: {build.percent} %{" "}
      <progress aria-label="Indexes" value={build.done} max={build.total} />
    </p>
  );
}
