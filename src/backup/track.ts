// How the parts of a long work report their progress.

export interface TrackedStep {
  readonly add: (count: number) => void;
  done(): void;
}

/** What is counted. */
export type CountedUnit = "bytes" | "files" | "resources";

export type Track = (
  name: string,
  options: { readonly total?: number; readonly unit: CountedUnit },
) => TrackedStep;
