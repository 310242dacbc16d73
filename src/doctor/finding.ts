// What the checks of a store have found, in plain words, with what to do.

export type FindingState = "ok" | "warning" | "error";

export interface Finding {
  readonly check: string;
  readonly state: FindingState;
  readonly message: string;
  /** What to do. */
  readonly advice?: string;
  readonly collection?: string;
  /** The path of the resource, where it is known. */
  readonly resource?: string;
  /** Whether a repair takes care of it. */
  readonly isRepairable?: boolean;
}

export type FoundProblem = Omit<Finding, "check"> & { readonly state: "warning" | "error" };

/** So many of a check are named; the others are counted. */
const maxNamed = 10;

interface Check {
  wellMessage: string;
  readonly named: FoundProblem[];
  unnamed: number;
  /** The worst of those that are not named. */
  rest: FoundProblem["state"];
}

const newCheck = (): Check => ({ wellMessage: "", named: [], unnamed: 0, rest: "warning" });

export class Findings {
  readonly #checks = new Map<string, Check>();
  /** The names of all collections with something that a repair takes care of. */
  readonly repairable = new Set<string>();

  /** Records that a check was made, and what to say when it finds nothing. */
  checked(check: string, wellMessage: string): void {
    this.#of(check).wellMessage = wellMessage;
  }

  add(check: string, problem: FoundProblem): void {
    const found = this.#of(check);
    const { collection, isRepairable, state } = problem;
    if (collection !== undefined && isRepairable) this.repairable.add(collection);
    if (found.named.length < maxNamed) found.named.push(problem);
    else {
      found.unnamed++;
      if (state === "error") found.rest = state;
    }
  }

  hasProblem(check: string): boolean {
    return (this.#checks.get(check)?.named.length ?? 0) > 0;
  }

  /** In the order in which the checks were made. */
  list(): readonly Finding[] {
    return [...this.#checks].flatMap(([check, found]): Finding[] => {
      const { wellMessage, named, unnamed } = found;
      if (named.length === 0) return [{ check, state: "ok", message: wellMessage }];
      const rest: Finding = { check, state: found.rest, message: `And ${unnamed} more.` };
      return [...named.map((problem) => ({ check, ...problem })), ...(unnamed > 0 ? [rest] : [])];
    });
  }

  #of(check: string): Check {
    const found = this.#checks.get(check) ?? newCheck();
    this.#checks.set(check, found);
    return found;
  }
}

/** The worst state decides. */
export const worstOf = (findings: readonly Finding[]): FindingState =>
  (["error", "warning"] as const).find((worst) => findings.some(({ state }) => state === worst)) ??
  "ok";
