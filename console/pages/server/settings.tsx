// Every setting with its value and where it comes from, and a button that reads them again.

import { useState } from "preact/hooks";
import { fetchJson, get } from "../../api/client.ts";
import type { Json } from "../../api/json.ts";
import { asProblem, type Problem } from "../../api/problem.ts";
import type { List, Reloaded, Setting } from "../../api/server-types.ts";
import { useCommands } from "../../state/commands.ts";
import { useCurrentRequest } from "../../state/current-request.ts";
import { useLoad } from "../../state/load.ts";
import { paramOf, setParam } from "../../state/params.ts";
import { Button } from "../../ui/button.tsx";
import { ScrollBox } from "../../ui/scroll-box.tsx";
import { ProblemMessage, Shown } from "../../ui/states.tsx";
import { ServerPage } from "./tabs.tsx";

export function Settings() {
  useCurrentRequest({ method: "GET", path: "/-/settings" });
  const loaded = useLoad("settings", (signal) => get<List<Setting>>("/-/settings", signal));
  const [result, setResult] = useState<Reloaded | Problem>();
  const [isBusy, setIsBusy] = useState(false);
  const reload = async (): Promise<void> => {
    setIsBusy(true);
    try {
      setResult(await fetchJson<Reloaded>({ method: "POST", path: "/-/settings" }));
      loaded.reload();
    } catch (error) {
      setResult(asProblem(error));
    }
    setIsBusy(false);
  };
  useCommands([{ label: "Reload settings", run: () => void reload() }], "settings");
  const filter = paramOf("filter");
  return (
    <ServerPage>
      <div class="tool-row">
        <input
          type="search"
          class="grow"
          aria-label="Filter settings"
          placeholder="Filter by name, value or source"
          value={filter}
          onInput={(event) => setParam("filter", event.currentTarget.value)}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={paramOf("set") !== ""}
            onChange={() => setParam("set", paramOf("set") === "" ? "yes" : "")}
          />
          Only those that are set
        </label>
        <Button icon="refresh-cw" isBusy={isBusy} onClick={() => void reload()}>
          Reload settings
        </Button>
      </div>
      <div role="status">{result && <Result result={result} />}</div>
      <Shown loaded={loaded} what="settings">
        {({ data }) => <SettingTable settings={data.filter((one) => isShown(one, filter))} />}
      </Shown>
    </ServerPage>
  );
}

const isShown = (setting: Setting, filter: string): boolean =>
  (paramOf("set") === "" || setting.source !== "default") &&
  JSON.stringify(Object.values(setting)).toLowerCase().includes(filter.trim().toLowerCase());

function Result({ result }: { result: Reloaded | Problem }) {
  if (result instanceof Error) return <ProblemMessage problem={result} />;
  const { changed, needRestart, defined } = result;
  const parts = [
    ["Changed", changed],
    ["Need a restart", needRestart],
    ["Defined again", defined],
  ] as const;
  const shown = parts.filter(([, names]) => names.length > 0);
  return (
    <p class="banner">
      {shown.length === 0
        ? "The settings were read again. Nothing has changed."
        : shown.map(([text, names]) => `${text}: ${names.join(", ")}.`).join(" ")}
    </p>
  );
}

const SettingTable = ({ settings }: { settings: readonly Setting[] }) => (
  <ScrollBox label="Settings">
    <table class="table">
      <thead>
        <tr>
          <th scope="col">Setting</th>
          <th scope="col">Value</th>
          <th scope="col">Source</th>
          <th scope="col">Changes</th>
        </tr>
      </thead>
      <tbody>
        {settings.map(({ name, value, source, from, reloadable }) => (
          <tr key={name} data-default={source === "default" || undefined}>
            <th scope="row">
              <code>{name}</code>
            </th>
            <td class="wide-cell">{textOf(value)}</td>
            <td>{from ?? source}</td>
            <td class="faint">{reloadable ? "with a reload" : "with a restart"}</td>
          </tr>
        ))}
      </tbody>
    </table>
    {settings.length === 0 && <p class="faint">No setting fits.</p>}
  </ScrollBox>
);

function textOf(value: Json): string {
  if (value === null || (Array.isArray(value) && value.length === 0)) return "–";
  return Array.isArray(value) ? value.join(", ") : String(value);
}
