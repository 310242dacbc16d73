// The shapes of the API that the console reads, as the server declares them.

import type { Json, JsonObject } from "./json.ts";

export type { Page } from "../../client/collection.ts";

export interface Collection {
  readonly name: string;
  readonly total: number;
  readonly bytes: number;
  readonly revision: number;
  readonly definition: Definition;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly build?: Build;
}

/** How far an index is. */
export interface Build {
  readonly status: "running" | "failed";
  readonly done: number;
  readonly total: number;
  readonly percent: number;
  readonly errors?: readonly { readonly detail: string }[];
}

/** See docs/definitions.md. Only what the console looks at has a type of its own. */
export interface Definition {
  readonly description?: string;
  readonly schema?: Schema;
  readonly access?: JsonObject;
  readonly unique?: readonly (string | readonly string[])[];
  readonly indexed?: readonly (string | readonly string[])[];
  readonly searchable?: readonly (string | { readonly field: string; readonly weight: number })[];
  readonly references?: Readonly<Record<string, Reference>>;
  readonly [name: string]: unknown;
}

export interface Reference {
  readonly collection: string;
  readonly onDelete?: string;
}

/** A JSON Schema, as far as the console reads it. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly title?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly Json[];
  readonly const?: Json;
  readonly default?: Json;
  readonly examples?: readonly Json[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly readOnly?: boolean;
  readonly writeOnly?: boolean;
  readonly additionalProperties?: boolean | Schema;
  readonly [name: string]: unknown;
}

/** A resource as the API shows it. */
export interface Resource extends JsonObject {
  readonly id: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** Whether the caller may do something, with all fields or with some. */
export type Right = boolean | { readonly fields: readonly string[] };

export interface Rights {
  readonly read: Right;
  readonly create: Right;
  readonly update: Right;
  readonly delete: Right;
}

/** The description of a file, where it stands in its resource. */
export interface StoredFile {
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly sha256?: string;
  readonly url: string;
}
