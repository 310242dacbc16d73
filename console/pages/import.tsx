// Imports a file into a collection: choose, look, try, import.

import { useRef, useState } from "preact/hooks";
import { asProblem, type Problem } from "../api/problem.ts";
import { ChooseFile } from "../import/choose-file.tsx";
import { openSource, type Source } from "../import/file.ts";
import { type Mapping, suggestMapping } from "../import/mapping.ts";
import { MappingTable } from "../import/mapping-table.tsx";
import { Report } from "../import/report.tsx";
import {
  type ImportOptions,
  type ImportProgress,
  importPath,
  importSource,
  importType,
} from "../import/send.ts";
import { findCollection, loadCollections } from "../state/collections.ts";
import { useCurrentRequest } from "../state/current-request.ts";
import { tellDone } from "../state/notices.ts";
import { collectionPath, linkTo, route } from "../state/router.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { formatBytes, formatNumber } from "../ui/format.ts";
import { ProblemMessage } from "../ui/states.tsx";

export function Import() {
  const [, name = ""] = route.value.path;
  const [source, setSource] = useState<Source>();
  const [problem, setProblem] = useState<Problem>();
  const open = async (file: File): Promise<void> => {
    setProblem(undefined);
    try {
      setSource(await openSource(file));
    } catch (error) {
      setProblem(asProblem(error));
    }
  };
  return (
    <section class="page">
      <h1>Import into {name}</h1>
      {problem && <ProblemMessage problem={problem} />}
      {source === undefined ? (
        <ChooseFile onFile={(file) => void open(file)} />
      ) : (
        <ImportSource
          key={source.file.name}
          collection={name}
          source={source}
          onReset={() => setSource(undefined)}
        />
      )}
    </section>
  );
}

interface ImportSourceProps {
  readonly collection: string;
  readonly source: Source;
  readonly onReset: () => void;
}

type Step = "ready" | "trying" | "tried" | "importing" | "done";

function ImportSource({ collection, source, onReset }: ImportSourceProps) {
  const definition = findCollection(collection)?.definition ?? {};
  const fields = Object.keys(definition.schema?.properties ?? {});
  const keys = ["id", ...(definition.unique ?? []).filter((one) => typeof one === "string")];
  const [mapping, setMapping] = useState<Mapping>(() => suggestMapping(source.columns, fields));
  const [key, setKey] = useState<string>();
  const [step, setStep] = useState<Step>("ready");
  const [progress, setProgress] = useState<ImportProgress>();
  const [problem, setProblem] = useState<Problem>();
  const abort = useRef<AbortController>(undefined);
  const options = (isDryRun: boolean): ImportOptions => ({ collection, mapping, key, isDryRun });
  useCurrentRequest({
    method: "POST",
    path: importPath(options(false), source),
    headers: { "Content-Type": importType(source) },
  });
  const run = async (isDryRun: boolean): Promise<void> => {
    abort.current = new AbortController();
    setStep(isDryRun ? "trying" : "importing");
    setProblem(undefined);
    // The counts of a dry run would say that something was written.
    setProgress(undefined);
    try {
      const done = await importSource(source, options(isDryRun), setProgress, abort.current.signal);
      setProgress(done);
      setStep(isDryRun ? "tried" : "done");
      if (!isDryRun) tellDone(`Imported ${formatNumber(done.created + done.replaced)} resources.`);
    } catch (error) {
      if (!abort.current.signal.aborted) setProblem(asProblem(error));
      setStep("ready");
    }
    if (!isDryRun) await loadCollections();
  };
  const change = (next: Mapping): void => {
    setMapping(next);
    setStep("ready");
    setProgress(undefined);
  };
  const isRunning = step === "trying" || step === "importing";
  return (
    <>
      <p>
        <strong>{source.file.name}</strong>, {formatBytes(source.file.size)},{" "}
        {source.format.toUpperCase()}
        {source.encoding !== "utf-8" && `, read as ${source.encoding}`}{" "}
        <Button kind="quiet" isDisabled={isRunning} onClick={onReset}>
          Choose another file
        </Button>
      </p>
      {step !== "done" && (
        <fieldset class="plain" disabled={isRunning}>
          <legend class="hidden-text">What is imported</legend>
          <MappingTable source={source} mapping={mapping} fields={fields} onChange={change} />
          <Field
            label="If a resource is there already"
            help="A replaced resource gets exactly the fields of its record."
          >
            {(attributes) => (
              <select
                {...attributes}
                value={key ?? ""}
                onChange={(event) => {
                  setKey(event.currentTarget.value || undefined);
                  setStep("ready");
                }}
              >
                <option value="">Every record is a new resource</option>
                {keys.map((one) => (
                  <option key={one} value={one}>
                    Replace the one with the same {one}
                  </option>
                ))}
              </select>
            )}
          </Field>
        </fieldset>
      )}
      {progress && (
        <Report progress={progress} isDryRun={step.startsWith("tr")} isRunning={isRunning} />
      )}
      {problem && <ProblemMessage problem={problem} />}
      <div class="actions">
        {step === "done" ? (
          <a class="button primary" href={linkTo(collectionPath(collection))}>
            Show {collection}
          </a>
        ) : (
          <>
            <Button isDisabled={isRunning} onClick={() => void run(true)}>
              Try without writing
            </Button>
            <Button kind="primary" isDisabled={isRunning} onClick={() => void run(false)}>
              Import
            </Button>
            {isRunning && <Button onClick={() => abort.current?.abort()}>Stop</Button>}
          </>
        )}
      </div>
    </>
  );
}
