// Tries the access rules of a collection as any subject, and shows which grant decides and why.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { fetchJson } from "../api/client.ts";
import { parseToSend } from "../api/exact.ts";
import { type Json, type JsonObject, parseObject } from "../api/json.ts";
import type { ProblemDetail } from "../api/problem.ts";
import { useCurrentRequest } from "../state/current-request.ts";
import { useLoad } from "../state/load.ts";
import { goTo, linkTo, route, screenPath } from "../state/router.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";
import { Shown } from "../ui/states.tsx";

const verbs = ["read", "create", "update", "delete"] as const;

interface Condition {
  readonly field?: string;
  readonly operator?: string;
  readonly wanted?: Json;
  readonly found?: Json;
  readonly combined?: "or" | "and" | "not";
  readonly parts?: readonly (readonly Condition[])[];
  readonly holds: boolean;
}

interface ExplainedGrant {
  readonly name: string;
  readonly to: boolean;
  readonly missing?: readonly string[];
  readonly where?: readonly Condition[];
  readonly check?: readonly Condition[];
  readonly errors?: readonly ProblemDetail[];
  readonly allows: boolean;
}

interface Report {
  readonly allowed: boolean;
  readonly status: number;
  readonly detail?: string;
  readonly grant?: string;
  readonly subject?: string;
  readonly scopes: readonly string[];
  readonly roles: readonly string[];
  readonly boundary?: readonly Condition[];
  readonly grants: readonly ExplainedGrant[];
}

export function Rules() {
  const { path, params } = route.value;
  const [, name = ""] = path;
  const question = questionOf(name, params);
  const request = { method: "QUERY", path: "/-/access", body: question };
  useCurrentRequest(request);
  const isComplete = params.has("verb");
  return (
    <section class="page">
      <h1>Try the rules of {name}</h1>
      <p class="faint">
        Nothing is changed. The answer comes from the same code that decides about real requests.
      </p>
      <QuestionForm key={params.toString()} collection={name} params={params} />
      {isComplete && <Answer key={JSON.stringify(question)} question={question} />}
    </section>
  );
}

/** The members of the question are parameters of the address. */
function questionOf(collection: string, params: URLSearchParams): JsonObject {
  const list = (text: string | null): readonly string[] | undefined =>
    text ? text.split(",").map((item) => item.trim()) : undefined;
  const members: Readonly<Record<string, Json | undefined>> = {
    collection,
    verb: params.get("verb") ?? "read",
    subject: params.get("subject") || undefined,
    roles: list(params.get("roles")),
    scopes: list(params.get("scopes")),
    id: params.get("id") || undefined,
    change: parseObject(params.get("change") ?? "", parseToSend),
  };
  const known = Object.entries(members).filter((member) => member[1] !== undefined);
  return Object.fromEntries(known) as JsonObject;
}

interface QuestionFormProps {
  readonly collection: string;
  readonly params: URLSearchParams;
}

function QuestionForm({ collection, params }: QuestionFormProps) {
  const [verb, setVerb] = useState(params.get("verb") ?? "read");
  const [error, setError] = useState<string>();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const sent = new FormData(event.currentTarget as HTMLFormElement);
    const entries = [...sent].map(([key, value]) => [key, String(value).trim()] as const);
    const next = new URLSearchParams(
      entries.filter(([, value]) => value !== "").map((e) => [...e]),
    );
    const change = next.get("change");
    if (change !== null && parseObject(change) === undefined) {
      setError("This is no JSON object.");
      return;
    }
    goTo(linkTo(screenPath(collection, "rules"), next));
  };
  const needsId = verb === "update" || verb === "delete";
  const hasChange = verb === "create" || verb === "update";
  const text = (name: string, label: string, help: string, isRequired = false) => (
    <Field label={label} help={help} isRequired={isRequired}>
      {(attributes) => (
        <input
          {...attributes}
          type="text"
          name={name}
          required={isRequired}
          defaultValue={params.get(name) ?? ""}
          autocomplete="off"
        />
      )}
    </Field>
  );
  return (
    <form class="question card" onSubmit={submit}>
      {text("subject", "Subject", "Empty for callers without a token.")}
      <Field label="Wants to">
        {(attributes) => (
          <select
            {...attributes}
            name="verb"
            value={verb}
            onChange={(event) => setVerb(event.currentTarget.value)}
          >
            {verbs.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        )}
      </Field>
      {verb !== "create" && text("id", "Resource", "The id.", needsId)}
      {text("roles", "Roles", "Separated by commas. Empty: those of the subject's tokens.")}
      {text("scopes", "Scopes", "Separated by commas. Empty: those of the subject's tokens.")}
      {hasChange && (
        <Field
          label="Change"
          help="The fields that are sent, as JSON."
          errors={error === undefined ? [] : [error]}
        >
          {(attributes) => (
            <textarea
              {...attributes}
              name="change"
              rows={3}
              defaultValue={params.get("change") ?? ""}
            />
          )}
        </Field>
      )}
      <div class="actions">
        <Button type="submit" kind="primary">
          Try
        </Button>
      </div>
    </form>
  );
}

function Answer({ question }: { question: JsonObject }) {
  const request = { method: "QUERY", path: "/-/access", body: question };
  const loaded = useLoad(JSON.stringify(question), (signal) => fetchJson<Report>(request, signal));
  return (
    <Shown loaded={loaded} what="the answer">
      {(report) => (
        <div class="rules-answer" role="status">
          <h2 class={report.allowed ? "verdict yes" : "verdict no"}>
            <Icon name={report.allowed ? "check" : "x"} />
            {report.allowed ? "Allowed" : "Not allowed"}
            {report.grant !== undefined && ` by “${report.grant}”`}
          </h2>
          <p>
            {report.allowed ? "The request would be accepted." : report.detail} The status would be{" "}
            {report.status}.
          </p>
          <p class="faint">
            Scopes: {report.scopes.join(", ") || "none"}. Roles: {report.roles.join(", ") || "none"}
            .
          </p>
          {report.boundary && (
            <GrantCard title="Boundary" holds={report.boundary.every(({ holds }) => holds)}>
              <Conditions list={report.boundary} />
            </GrantCard>
          )}
          {report.grants.map((grant, index) => (
            <GrantReport key={`${index} ${grant.name}`} grant={grant} />
          ))}
          {report.grants.length === 0 && (
            <p>
              No grant was asked: the scope of the token alone decides, or the caller is an
              administrator.
            </p>
          )}
        </div>
      )}
    </Shown>
  );
}

interface GrantCardProps {
  readonly title: string;
  readonly holds: boolean;
  readonly children?: ComponentChildren;
}

const GrantCard = ({ title, holds, children }: GrantCardProps) => (
  <article class="grant card">
    <h3 class={holds ? "verdict yes" : "verdict no"}>
      <Icon name={holds ? "check" : "x"} />
      {title}
      <span class="hidden-text">{holds ? " allows it" : " does not allow it"}</span>
    </h3>
    {children}
  </article>
);

const GrantReport = ({ grant }: { grant: ExplainedGrant }) => (
  <GrantCard title={grant.name} holds={grant.allows}>
    {!grant.to && <p>It is not for this caller.</p>}
    {grant.missing && <p>The caller has no {grant.missing.join(", ")}.</p>}
    {grant.where && <Conditions title="Before" list={grant.where} />}
    {grant.check && <Conditions title="After" list={grant.check} />}
    {grant.errors?.map(({ pointer, detail }) => (
      <p key={`${pointer} ${detail}`}>
        <code>{pointer}</code> {detail}
      </p>
    ))}
  </GrantCard>
);

function Conditions({ title, list }: { title?: string; list: readonly Condition[] }) {
  return (
    <>
      {title && <h4>{title}</h4>}
      <ul class="conditions">
        {list.map((condition, index) => (
          <li key={index} class={condition.holds ? "yes" : "no"}>
            <Icon name={condition.holds ? "check" : "x"} />
            <ConditionText condition={condition} />
          </li>
        ))}
      </ul>
    </>
  );
}

function ConditionText({ condition }: { condition: Condition }) {
  const { field, operator = "eq", wanted, found, combined, parts = [] } = condition;
  if (combined !== undefined)
    return (
      <div>
        {combined}
        {parts.map((part, index) => (
          <Conditions key={index} list={part} />
        ))}
      </div>
    );
  return (
    <span>
      <code>{field}</code> {operator} <code>{JSON.stringify(wanted)}</code>, found{" "}
      <code>{JSON.stringify(found)}</code>
      <span class="hidden-text">{condition.holds ? ": it holds" : ": it does not hold"}</span>
    </span>
  );
}
