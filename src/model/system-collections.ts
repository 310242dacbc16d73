// Lists the collections of the server's own data. Their names begin with `-`, so that no address reaches them.

/**
 * The access document is stored as the definition of this name, so it is as durable as definitions, and as
 * current in every process and node.
 */
export const accessName = "-access";
/** See background/leases.ts. */
export const leasesName = "-leases";

interface SystemCollection {
  /** The text that is stored. Undefined where it is data itself, as the access document. */
  readonly definition?: string;
  /** Whether its content means nothing to another run of the server. */
  readonly isVolatile?: true;
}

const all: Readonly<Record<string, SystemCollection>> = {
  [accessName]: {},
  [leasesName]: {
    definition: JSON.stringify({
      schema: { required: ["holder"], properties: { holder: { type: "string" } } },
    }),
    isVolatile: true,
  },
};

/** No collection of users has such a name (see id.ts). */
export const systemName = /^-/;
export const isSystemName = (name: string): boolean => systemName.test(name);

/** Removals in it are deleted at once, and backups leave it out, so that it is empty after a restore. */
export const isVolatile = (name: string): boolean => all[name]?.isVolatile === true;

/** The definition that this version of the server has for it. */
export const systemDefinition = (name: string): string => all[name]?.definition ?? "{}";
