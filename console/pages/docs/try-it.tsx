// Fills in an operation, sends the real request, and shows the answer.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type RawAnswer, tryRequest } from "../../api/try-request.ts";
import { useCurrentRequest } from "../../state/current-request.ts";
import { Button } from "../../ui/button.tsx";
import { copyText } from "../../ui/clipboard.ts";
import { Field } from "../../ui/field.tsx";
import { formatBytes } from "../../ui/format.ts";
import type { OpenApiDocument, OperationDetail, Parameter } from "./document.ts";
import { Prose } from "./prose.tsx";
import { type Filled, keyOf, missingIn, requestOf } from "./request.ts";
import { exampleOf, typeText } from "./schema.ts";

interface TryItProps {
  readonly document: OpenApiDocument;
  readonly operation: OperationDetail;
}

/** Forms with files are sent by other screens. */
const sendable = ({ body }: OperationDetail) =>
  body.filter(({ type }) => !/^(multipart|\*)\/|octet-stream|urlencoded/.test(type));

function emptyOf({ document, operation }: TryItProps): Filled {
  const [first] = sendable(operation);
  const example = first && exampleOf(document, first.schema);
  const body =
    first === undefined || !first.type.includes("json") ? "" : JSON.stringify(example, null, 2);
  return { values: {}, type: first?.type ?? "", body };
}

export function TryIt(props: TryItProps) {
  const { document, operation } = props;
  const [filled, setFilled] = useState(() => emptyOf(props));
  const [answer, setAnswer] = useState<RawAnswer | Error>();
  const running = useRef<AbortController | undefined>(undefined);
  const [isBusy, setIsBusy] = useState(false);
  const request = requestOf(operation, filled);
  const missing = missingIn(operation, filled);
  useCurrentRequest(request);
  useEffect(() => () => running.current?.abort(), []);
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    running.current = new AbortController();
    setIsBusy(true);
    setAnswer(await tryRequest(request, running.current.signal).catch((error: Error) => error));
    setIsBusy(false);
  };
  const setValue = (key: string, value: string) =>
    setFilled((former) => ({ ...former, values: { ...former.values, [key]: value } }));
  const field = (one: Parameter) => (
    <ParameterField
      key={keyOf(one)}
      parameter={one}
      typeName={typeText(document, one.schema)}
      value={filled.values[keyOf(one)] ?? ""}
      onChange={(value) => setValue(keyOf(one), value)}
    />
  );
  const isDelete = operation.method === "DELETE";
  return (
    <form class="try" onSubmit={(event) => void send(event)}>
      <h2>Try it</h2>
      {operation.parameters.filter(({ isRequired }) => isRequired).map(field)}
      {sendable(operation).length > 0 && (
        <BodyField operation={operation} filled={filled} onChange={setFilled} />
      )}
      <Optional list={operation.parameters.filter(({ isRequired }) => !isRequired)} field={field} />
      <p class="tool-row">
        <Button
          kind={isDelete ? "danger" : "primary"}
          type="submit"
          isBusy={isBusy}
          isDisabled={missing.length > 0}
        >
          Send {operation.method}
        </Button>
        <span class="faint">
          {missing.length > 0
            ? `Fill in ${missing.join(", ")}.`
            : "This sends the real request, with your token."}
        </span>
      </p>
      <p role="status" class="hidden-text">
        {answer && (answer instanceof Error ? "No response" : `Response ${answer.status}`)}
      </p>
      {answer && <AnswerView answer={answer} />}
    </form>
  );
}

interface OptionalProps {
  readonly list: readonly Parameter[];
  readonly field: (parameter: Parameter) => ComponentChildren;
}

/** There are many, and most requests need none of them. */
function Optional({ list, field }: OptionalProps) {
  const [isOpen, setIsOpen] = useState(false);
  if (list.length === 0) return null;
  return (
    <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>Optional parameters ({list.length})</summary>
      {isOpen && <div class="optional">{list.map(field)}</div>}
    </details>
  );
}

interface ParameterFieldProps {
  readonly parameter: Parameter;
  readonly typeName: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

const ParameterField = ({ parameter, typeName, value, onChange }: ParameterFieldProps) => (
  <Field
    label={parameter.name}
    isRequired={parameter.isRequired}
    help={
      <>
        {parameter.in}, {typeName}.{" "}
        {parameter.description && <Plain text={parameter.description} />}
      </>
    }
  >
    {(attributes) => (
      <input
        {...attributes}
        value={value}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    )}
  </Field>
);

/** Inside a paragraph there is no other. */
const Plain = ({ text }: { text: string }) => <>{text.replaceAll("`", "")}</>;

interface BodyFieldProps {
  readonly operation: OperationDetail;
  readonly filled: Filled;
  readonly onChange: (filled: Filled) => void;
}

const BodyField = ({ operation, filled, onChange }: BodyFieldProps) => (
  <>
    <Field label="Content-Type">
      {(attributes) => (
        <select
          {...attributes}
          value={filled.type}
          onChange={(event) => onChange({ ...filled, type: event.currentTarget.value })}
        >
          {sendable(operation).map(({ type }) => (
            <option key={type}>{type}</option>
          ))}
        </select>
      )}
    </Field>
    <Field label="Body">
      {(attributes) => (
        <textarea
          {...attributes}
          class="code-input"
          rows={Math.min(16, filled.body.split("\n").length + 1)}
          spellcheck={false}
          value={filled.body}
          onInput={(event) => onChange({ ...filled, body: event.currentTarget.value })}
        />
      )}
    </Field>
  </>
);

const longestShown = 100_000;

function AnswerView({ answer }: { answer: RawAnswer | Error }) {
  if (answer instanceof Error) return <Prose text={`There was no answer: ${answer.message}`} />;
  const { status, statusText, headers, text, bytes, milliseconds } = answer;
  const body = text === null ? "" : pretty(text);
  return (
    <section class="answer" aria-label="Response">
      <p class="tool-row">
        <strong class={status < 400 ? "light good" : "light bad"}>
          {status} {statusText}
        </strong>
        <span class="faint">
          {Math.round(milliseconds)} ms, {formatBytes(bytes)}
        </span>
        {body !== "" && (
          <Button icon="copy" onClick={() => void copyText(body, "the body")}>
            Copy the body
          </Button>
        )}
      </p>
      <details>
        <summary>Header fields</summary>
        <pre class="code-block">
          {headers.map(([name, value]) => `${name}: ${value}`).join("\n")}
        </pre>
      </details>
      {text === null && <p class="faint">The body is not text.</p>}
      {body !== "" && <pre class="code-block">{body.slice(0, longestShown)}</pre>}
      {body.length > longestShown && (
        <p class="faint">The rest is not shown. Copy has all of it.</p>
      )}
    </section>
  );
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
