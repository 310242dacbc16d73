// Shows administrators the settings of the server, with where each value comes from.

import type { Principal } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import { requireAdmin } from "./access.ts";

export interface SettingValue {
  readonly name: string;
  /** Null when it is not set. Has no secret. */
  readonly value: string | number | readonly string[] | null;
  readonly source: "flag" | "environment" | "file" | "program" | "default";
  /** The flag, the variable or the path of the file. */
  readonly from: string | null;
  /** Whether it can change while the server runs. */
  readonly reloadable: boolean;
}

/** What a reload has changed. */
export interface Reloaded {
  /** The settings that have other values now. */
  readonly changed: readonly string[];
  /** The settings whose new values need a restart. They stay as they were. */
  readonly needRestart: readonly string[];
  /** The collections that were defined, or defined anew. */
  readonly defined: readonly string[];
}

/** Why nothing was changed. */
export interface NotReloaded {
  readonly errors: readonly string[];
  readonly isOutage: boolean;
}

type Reload = () => Promise<Reloaded | NotReloaded>;

export class Settings {
  readonly #values: () => readonly SettingValue[];
  #reload: Reload = async () => setByProgram;

  constructor(values: () => readonly SettingValue[]) {
    this.#values = values;
  }

  list(principal: Principal): readonly SettingValue[] | Problem {
    return requireAdmin(principal) ?? this.#values();
  }

  /** Reads file, folders and actions again, and uses what can change; all of it or nothing. */
  async reload(principal: Principal): Promise<Reloaded | Problem> {
    const forbidden = requireAdmin(principal);
    if (forbidden !== undefined) return forbidden;
    const result = await this.#reload();
    return "errors" in result ? notReloaded(result) : result;
  }

  /** Called with how it is done. */
  reloadBy(reload: Reload): void {
    this.#reload = reload;
  }
}

const setByProgram: NotReloaded = {
  errors: ["the settings come from the program that runs Restante, which has to pass others"],
  isOutage: false,
};

const notReloaded = ({ errors, isOutage }: NotReloaded): Problem =>
  new Problem(
    isOutage ? "unavailable" : "conflict",
    `The settings were not reloaded, and nothing was changed:\n${errors.join("\n")}`,
  );
