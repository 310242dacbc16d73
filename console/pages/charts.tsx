// Charts of a collection: counts and other figures, over time and by value.

import {
  type Bar,
  barsOf,
  type ChartQuery,
  chartFields,
  chartPath,
  firstTime,
  isTimeGroup,
  timeUnits,
  unitFor,
} from "../api/aggregate.ts";
import { get } from "../api/client.ts";
import type { JsonObject } from "../api/json.ts";
import type { Page } from "../api/types.ts";
import { Columns } from "../plot/columns.tsx";
import { collections, findCollection } from "../state/collections.ts";
import { useCurrentRequest } from "../state/current-request.ts";
import { useLoad } from "../state/load.ts";
import { collectionPath, goTo, linkTo, route, screenPath } from "../state/router.ts";
import { Field } from "../ui/field.tsx";
import { formatNumber } from "../ui/format.ts";
import { ScrollBox } from "../ui/scroll-box.tsx";
import { Message, Shown } from "../ui/states.tsx";

const { timeZone } = Intl.DateTimeFormat().resolvedOptions();

export function Charts() {
  const { path, params } = route.value;
  const [, name = ""] = path;
  const given = params.get("by") ?? undefined;
  const field = firstTime(findCollection(name)?.definition.schema);
  const isReady = given !== undefined || collections.value !== undefined;
  const first = useLoad<string>(`${name} ${given ?? field} ${isReady}`, async (signal) =>
    isReady ? (given ?? firstGroup(name, field, signal)) : new Promise(() => {}),
  );
  return (
    <section class="page">
      <h1>Charts of {name}</h1>
      <Shown loaded={first} what="the figures">
        {(by) => <ChartPage name={name} by={given ?? by} params={params} />}
      </Shown>
    </section>
  );
}

/** With an interval that fits the times that are there. */
async function firstGroup(name: string, field: string, signal: AbortSignal): Promise<string> {
  const path = `/${name}?aggregate=min(${field}),max(${field})`;
  const { data } = await get<Page<JsonObject>>(path, signal);
  const [from, to] = [data[0]?.[`min(${field})`], data[0]?.[`max(${field})`]];
  return `${unitFor(String(from), String(to))}(${field})`;
}

interface ChartPageProps {
  readonly name: string;
  readonly by: string;
  readonly params: URLSearchParams;
}

function ChartPage({ name, by, params }: ChartPageProps) {
  const query = { figure: params.get("aggregate") ?? "count", by };
  const filter = new URLSearchParams(params);
  for (const key of ["aggregate", "by", "sort", "page", "limit"]) filter.delete(key);
  const request = { method: "GET", path: chartPath(name, query, filter, timeZone) };
  useCurrentRequest(request);
  const loaded = useLoad(request.path, (signal) => get<Page<JsonObject>>(request.path, signal));
  const change = (next: ChartQuery): void => {
    const chosen = new URLSearchParams(filter);
    chosen.set("aggregate", next.figure);
    chosen.set("by", next.by);
    goTo(linkTo(screenPath(name, "charts"), chosen), true);
  };
  return (
    <>
      <Choices name={name} query={query} onChange={change} />
      <Shown loaded={loaded} what="the figures">
        {({ data }) => (
          <Chart name={name} query={query} filter={filter} bars={barsOf(data, query)} />
        )}
      </Shown>
    </>
  );
}

interface ChoicesProps {
  readonly name: string;
  readonly query: ChartQuery;
  readonly onChange: (query: ChartQuery) => void;
}

function Choices({ name, query, onChange }: ChoicesProps) {
  const fields = chartFields(findCollection(name)?.definition.schema);
  const figures = [
    "count",
    ...fields.numbers.flatMap((field) =>
      ["sum", "avg", "min", "max"].map((one) => `${one}(${field})`),
    ),
  ];
  const groups = [
    ...fields.times.flatMap((field) => timeUnits.map((unit) => `${unit}(${field})`)),
    ...fields.values,
  ];
  const withCurrent = (list: readonly string[], current: string): readonly string[] =>
    list.includes(current) ? list : [...list, current];
  return (
    <div class="choices">
      <Field label="Figure">
        {(attributes) => (
          <select
            {...attributes}
            value={query.figure}
            onChange={(event) => onChange({ ...query, figure: event.currentTarget.value })}
          >
            {withCurrent(figures, query.figure).map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        )}
      </Field>
      <Field label="By">
        {(attributes) => (
          <select
            {...attributes}
            value={query.by}
            onChange={(event) => onChange({ ...query, by: event.currentTarget.value })}
          >
            {withCurrent(groups, query.by).map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        )}
      </Field>
    </div>
  );
}

interface ChartProps {
  readonly name: string;
  readonly query: ChartQuery;
  readonly filter: URLSearchParams;
  readonly bars: readonly Bar[];
}

function Chart({ name, query, filter, bars }: ChartProps) {
  if (bars.length === 0)
    return (
      <Message icon="chart-column" title="There is nothing to show">
        <p>No resource has these values.</p>
      </Message>
    );
  const largest = Math.max(...bars.map(({ size }) => size), 0);
  return (
    <>
      {isTimeGroup(query.by) && <Columns key={query.by} query={query} bars={bars} />}
      <BarTable name={name} query={query} filter={filter} bars={bars} largest={largest} />
    </>
  );
}

function BarTable({ name, query, filter, bars, largest }: ChartProps & { largest: number }) {
  const ordered = isTimeGroup(query.by) ? bars.toReversed() : bars;
  return (
    <ScrollBox label="Figures">
      <table class="table group-table">
        <thead>
          <tr>
            <th scope="col">{query.by}</th>
            <th scope="col" class="number">
              {query.figure}
            </th>
            <th scope="col">
              <span class="hidden-text">Size</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {ordered.map(({ label, value, size }) => (
            <tr key={label}>
              <th scope="row">
                {value === undefined ? (
                  label
                ) : (
                  <a href={listOf(name, query.by, value, filter)}>{label}</a>
                )}
              </th>
              <td class="number">{formatNumber(size)}</td>
              <td class="bar-cell">
                <meter min={0} max={largest || 1} value={Math.max(0, size)} aria-hidden="true" />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  );
}

/** The resources of a group. */
function listOf(name: string, field: string, value: Bar["value"], filter: URLSearchParams): string {
  const params = new URLSearchParams(filter);
  if (value === null) params.set(`${field}[exists]`, "false");
  else params.set(`${field}[eq]`, typeof value === "string" ? value : JSON.stringify(value));
  return linkTo(collectionPath(name), params);
}
