// What all fields of a form know.

import type { Signal } from "@preact/signals";
import { type ComponentType, createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Json } from "../api/json.ts";
import type { Problem } from "../api/problem.ts";
import type { Reference, Schema, StoredFile } from "../api/types.ts";

export interface FormContext {
  readonly root: Schema;
  readonly references: Readonly<Record<string, Reference>>;
  /** Why the server rejected what was sent. */
  readonly problem: Problem | undefined;
  /** Why a member of the resource cannot be changed, or undefined. */
  readonly lockOf: (name: string) => string | undefined;
  /** Texts that are not JSON yet, by the pointer of their field. */
  readonly textErrors: Signal<ReadonlyMap<string, string>>;
  readonly files: FormFiles;
}

export const Form = createContext<FormContext | undefined>(undefined);

/** The files of a form: they are sent with a new resource, and at once to one that exists. */
export interface FormFiles {
  /** What was chosen and is not sent yet, by the name of its field. */
  readonly chosen: ReadonlyMap<string, readonly File[]>;
  readonly choose: (field: string, files: readonly File[]) => void;
  /** How a file that the resource has is shown. */
  readonly Preview: ComponentType<{ file: StoredFile }>;
}

/** Why a field is locked, unless the whole form is and says it once. */
export function useLockText(lock: string | undefined): string | undefined {
  const whole = useContext(Form)?.lockOf("");
  return lock === whole ? undefined : lock;
}

/** A field, whatever its kind. */
export interface FieldProps {
  readonly name: string;
  readonly label: string;
  readonly schema: Schema;
  readonly value: Json | undefined;
  /** A JSON Pointer. */
  readonly pointer: string;
  /** As definitions write it: `lines[].product`. */
  readonly path: string;
  readonly isRequired?: boolean;
  /** Why it cannot be changed. */
  readonly lock?: string | undefined;
  readonly onChange: (value: Json | undefined) => void;
}
