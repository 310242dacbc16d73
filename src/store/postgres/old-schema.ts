// The migration steps of databases up to version 6, which upgrade.ts brings to today's tables.

/**
 * Every key begins with the key of the collection, so that the tables can be distributed over machines.
 * A removed resource keeps its row without seq and fields: so one index contains all changes since a
 * revision, and every write to the table is an upsert. `holes` counts removed positions.
 */
const first: string = `
  CREATE TABLE collections (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    revision bigint NOT NULL,
    seq bigint NOT NULL,
    total bigint NOT NULL,
    definition text NOT NULL,
    created bigint NOT NULL,
    updated bigint NOT NULL
  ) WITH (fillfactor = 50);
  CREATE TABLE resources (
    collection bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    seq bigint,
    revision bigint NOT NULL,
    created bigint NOT NULL,
    updated bigint NOT NULL,
    fields text,
    PRIMARY KEY (collection, id),
    UNIQUE (collection, seq),
    UNIQUE (collection, revision)
  );
  CREATE TABLE holes (
    collection bigint NOT NULL,
    place bigint NOT NULL,
    alive bigint[] NOT NULL,
    PRIMARY KEY (collection, place)
  ) WITH (fillfactor = 70);
  CREATE TABLE tokens (
    id text COLLATE "C" PRIMARY KEY,
    hash text COLLATE "C" NOT NULL UNIQUE,
    name text NOT NULL,
    scopes text NOT NULL,
    created bigint NOT NULL,
    expires bigint,
    used bigint,
    revoked bigint
  );
  CREATE TABLE kept (
    name text COLLATE "C" PRIMARY KEY,
    fingerprint text NOT NULL,
    outcomes text NOT NULL,
    until bigint NOT NULL
  );
  CREATE INDEX kept_by_until ON kept (until);
`;

/** The version of the rules. */
const second: string = `
  ALTER TABLE collections ADD COLUMN defined bigint NOT NULL DEFAULT 0;
`;

/**
 * `entries` contains the indexes of definitions: sort keys (see model/query/sort-key.ts), in byte order.
 * In `words`, each vector also contains a word for its collection, so that one index serves all
 * collections.
 */
const third: string = `
  ALTER TABLE resources ADD COLUMN owner text;
  CREATE TABLE entries (
    collection bigint NOT NULL,
    field text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    PRIMARY KEY (collection, field, key, seq)
  );
  CREATE TABLE words (
    collection bigint NOT NULL,
    seq bigint NOT NULL,
    vector tsvector NOT NULL,
    PRIMARY KEY (collection, seq)
  );
  CREATE INDEX words_by_vector ON words USING gin (vector) WITH (fastupdate = off);
`;

/** Adds the files of a resource, and the keys of all files that resources reference. */
const fourth: string = `
  ALTER TABLE resources ADD COLUMN parts text;
  CREATE TABLE files (
    collection bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    PRIMARY KEY (collection, key)
  );
  CREATE INDEX files_by_key ON files (key);
`;

/**
 * `epochs` contains the last revision of each earlier epoch of a collection (see ../core/epochs.ts); the rows
 * of collection 0 are the epochs of writers. `shares_date` is 1 for existing rows, because the former
 * times are not known. Existing rows have no checksum until they are written again. Idempotency-Keys
 * expire by `key_clock` (see ../core/key-clock.ts).
 */
const fifth: string = `
  CREATE TABLE epochs (
    collection bigint NOT NULL,
    epoch bigint NOT NULL,
    last bigint NOT NULL,
    PRIMARY KEY (collection, epoch)
  );
  ALTER TABLE collections ADD COLUMN epoch bigint NOT NULL DEFAULT 0;
  ALTER TABLE collections ADD COLUMN shares_date bigint NOT NULL DEFAULT 1;
  UPDATE collections SET epoch = floor(random() * 268435456)::bigint;
  ALTER TABLE resources ADD COLUMN shares_date bigint NOT NULL DEFAULT 1;
  ALTER TABLE resources ADD COLUMN checksum bigint;
  CREATE TABLE key_clock (
    one boolean PRIMARY KEY CHECK (one),
    now bigint NOT NULL,
    seen bigint NOT NULL
  );
  INSERT INTO key_clock VALUES (true, 0, 0);
`;

/** Tokens of older versions have no subject; theirs is their id. */
const sixth: string = "ALTER TABLE tokens ADD COLUMN subject text";

export const oldSteps: readonly string[] = [first, second, third, fourth, fifth, sixth];
