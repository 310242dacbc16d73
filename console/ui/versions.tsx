// Two versions of an object side by side, field by field: choose, then save on top of the newer one.

import { useState } from "preact/hooks";
import { isEqual, type Json, type JsonObject, memberOf } from "../api/json.ts";
import { changedNames, conflictsOf, withMember } from "../api/patch.ts";
import { asProblem, type Problem } from "../api/problem.ts";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";

type Side = "mine" | "theirs";

interface VersionsDialogProps {
  readonly kind: "resource" | "definition";
  readonly name: string;
  /** What was read before the change. */
  readonly base: JsonObject;
  readonly mine: JsonObject;
  readonly theirs: JsonObject;
  readonly onSave: (chosen: JsonObject) => Promise<void>;
  readonly onClose: () => void;
}

export function VersionsDialog(props: VersionsDialogProps) {
  const { kind, name: title, base, mine, theirs, onSave, onClose: close } = props;
  const names = namesOf(base, mine, theirs);
  const both = new Set(conflictsOf(base, mine, theirs));
  const [sides, setSides] = useState<ReadonlyMap<string, Side>>(
    () => new Map(names.map((name) => [name, firstSide(base, mine, name)])),
  );
  const [problem, setProblem] = useState<Problem>();
  const [isBusy, setBusy] = useState(false);
  const takeAll = (side: Side): void => setSides(new Map(names.map((name) => [name, side])));
  const save = async (): Promise<void> => {
    setBusy(true);
    try {
      await onSave(chosenState(mine, theirs, sides));
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  };
  return (
    <Dialog title={`Someone else has changed this ${kind}`} kind="wide" onClose={close}>
      <p>
        Choose for each field of <code>{title}</code> what is saved.
        {both.size === 0 && " You changed different fields, so both changes can stay."}
      </p>
      <div class="dialog-foot start">
        <Button onClick={() => takeAll("mine")}>Take all mine</Button>
        <Button onClick={() => takeAll("theirs")}>Take all theirs</Button>
      </div>
      <div class="versions-box">
        <table class="table versions">
          <thead>
            <tr>
              <th scope="col">Field</th>
              <th scope="col">Before</th>
              <th scope="col">Mine</th>
              <th scope="col">Theirs</th>
            </tr>
          </thead>
          <tbody>
            {names.map((name) => (
              <tr key={name} data-both={both.has(name) || undefined}>
                <th scope="row">
                  {name}
                  {both.has(name) && <span class="tag">both changed</span>}
                </th>
                <td data-label="Before">
                  <Version value={memberOf(base, name)} />
                </td>
                {(["mine", "theirs"] as const).map((side) => (
                  <td key={side} data-label={side === "mine" ? "Mine" : "Theirs"}>
                    <label class="version-choice">
                      <input
                        type="radio"
                        name={`side of ${name}`}
                        aria-label={`${name}: ${side}`}
                        checked={sides.get(name) === side}
                        onChange={() => setSides(new Map([...sides, [name, side]]))}
                      />
                      <Version value={memberOf(side === "mine" ? mine : theirs, name)} />
                    </label>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {problem && (
        <p class="note danger" role="alert">
          {problem.detail}{" "}
          {problem.errors.map(({ pointer, detail }) => `${pointer} ${detail}`).join("; ")}
        </p>
      )}
      <div class="dialog-foot">
        <Button onClick={close}>Go back to editing</Button>
        <Button kind="primary" icon="save" isBusy={isBusy} onClick={() => void save()}>
          Save the chosen version
        </Button>
      </div>
    </Dialog>
  );
}

/** Fields that differ between the two versions. */
const namesOf = (base: JsonObject, mine: JsonObject, theirs: JsonObject): readonly string[] =>
  [...new Set([...changedNames(base, mine), ...changedNames(base, theirs)])].filter(
    (name) => !isEqual(memberOf(mine, name), memberOf(theirs, name)),
  );

/** What only one side has changed stays so. */
const firstSide = (base: JsonObject, mine: JsonObject, name: string): Side =>
  isEqual(memberOf(base, name), memberOf(mine, name)) ? "theirs" : "mine";

const chosenState = (
  mine: JsonObject,
  theirs: JsonObject,
  sides: ReadonlyMap<string, Side>,
): JsonObject =>
  [...sides]
    .filter(([, side]) => side === "mine")
    .reduce((state, [name]) => withMember(state, name, memberOf(mine, name)), theirs);

function Version({ value }: { value: Json | undefined }) {
  if (value === undefined) return <span class="faint">not set</span>;
  const text = typeof value === "string" && value !== "" ? value : JSON.stringify(value, null, 2);
  return (
    <span class="version" dir="auto">
      {text}
    </span>
  );
}
