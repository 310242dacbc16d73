// How the parts of a long work report their progress.

export interface TrackedStep {
  readonly add: (count: number) => void;
  done(): void;
}

export type Track = (
  name: string,
  options: { readonly total?: number; readonly unit: "bytes" | "files" | "resources" },
) => TrackedStep;
