// Shows administrators the settings of the server, with where each value comes from.

import type { Principal } from "../model/principal.ts";
import type { Problem } from "../model/problem.ts";
import { requireAdmin } from "./access.ts";

export interface SettingValue {
  readonly name: string;
  /** Null when it is not set. Has no secret. */
  readonly value: string | number | readonly string[] | null;
  readonly source: "flag" | "environment" | "file" | "program" | "default";
  /** The flag, the variable or the path of the file. */
  readonly from: string | null;
}

export class Settings {
  #values: readonly SettingValue[];

  constructor(values: readonly SettingValue[]) {
    this.#values = values;
  }

  list(principal: Principal): readonly SettingValue[] | Problem {
    return requireAdmin(principal) ?? this.#values;
  }

  /** Called with what is to be shown from now on. */
  update(values: readonly SettingValue[]): void {
    this.#values = values;
  }
}
