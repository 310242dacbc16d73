// One thing that was asked for, and what was measured.

export interface Verdict {
  readonly what: string;
  /** What the figure is a ratio to, or of what it is. */
  readonly setUp: string;
  readonly asked: string;
  /** Undefined when it was not measured, or when faults make the figure invalid. */
  readonly measured: number | undefined;
  readonly unit: Unit;
  readonly reached: boolean;
}

export type Unit = " KB" | "×" | " MB" | " ms" | " rows/s";

export const atLeast = (
  what: string,
  setUp: string,
  least: number,
  unit: Unit,
  measured: number | undefined,
): Verdict => {
  const asked = `≥ ${amount(least, unit)}`;
  return {
    what,
    setUp,
    asked,
    ...found(measured),
    unit,
    reached: (measured ?? Number.NaN) >= least,
  };
};

export const atMost = (
  what: string,
  setUp: string,
  most: number,
  unit: Unit,
  measured: number | undefined,
): Verdict => {
  const asked = `≤ ${amount(most, unit)}`;
  return {
    what,
    setUp,
    asked,
    ...found(measured),
    unit,
    reached: (measured ?? Number.NaN) <= most,
  };
};

const amount = (value: number, unit: Unit): string =>
  `${value.toLocaleString("en")}${unit === "×" ? " ×" : unit}`;

const found = (measured: number | undefined): Pick<Verdict, "measured"> => ({
  measured: Number.isFinite(measured) ? measured : undefined,
});

/** What has no faults. */
export const valid = <T extends { readonly faults: readonly string[] }>(
  figure: T,
): T | undefined => (figure.faults.length === 0 ? figure : undefined);
