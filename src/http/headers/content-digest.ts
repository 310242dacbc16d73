// Reads Content-Digest (RFC 9530) and verifies the received bytes; writes the digests of responses.

import { createHash, type Hash } from "node:crypto";
import { Problem } from "../../model/problem.ts";
import { splitField } from "./field-list.ts";

/** The supported algorithms; others are ignored (§5). */
const algorithms: Readonly<Record<string, string>> = { "sha-256": "sha256", "sha-512": "sha512" };

/** A dictionary member with a byte sequence (RFC 9651 §3.2). */
const member = /^([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/]*={0,2}):$/;
/** A parameter of a member, which is ignored. */
const parameter = /^[a-z*][a-z0-9_.*-]*(?:=(?:[^"]+|".*"))?$/;

/** Computes the digests while the content arrives. */
export class DigestCheck {
  readonly #expected: ReadonlyMap<string, string>;
  readonly #hashes: ReadonlyMap<string, Hash>;

  constructor(expected: ReadonlyMap<string, string>) {
    this.#expected = expected;
    this.#hashes = new Map(
      [...expected.keys()].map((name) => [name, createHash(algorithms[name] ?? "")]),
    );
  }

  add(bytes: Uint8Array): void {
    for (const hash of this.#hashes.values()) hash.update(bytes);
  }

  /** Called once, at the end of the content. */
  verify(): Problem | undefined {
    for (const [name, hash] of this.#hashes) {
      const actual = hash.digest("base64");
      if (actual !== this.#expected.get(name)) return mismatch(name, actual);
    }
    return undefined;
  }
}

/** Reads the field; returns undefined when it has no digest that can be verified. */
export function readDigest(headers: Headers): DigestCheck | Problem | undefined {
  const field = headers.get("content-digest");
  if (field === null) return undefined;
  const expected = new Map<string, string>();
  for (const piece of splitField(field, ",")) {
    const [bytes = "", ...parameters] = splitField(piece, ";").map((part) => part.trim());
    const [, name, digest = ""] = member.exec(bytes) ?? [];
    const isRead = parameters.every((part) => parameter.test(part));
    if (name === undefined || !isRead) return malformed;
    // The last member of a name counts (RFC 9651 §4.2.2), in canonical base64.
    const isKnown = Object.hasOwn(algorithms, name);
    if (isKnown) expected.set(name, Buffer.from(digest, "base64").toString("base64"));
  }
  return expected.size === 0 ? undefined : new DigestCheck(expected);
}

/** Writes a digest from the hash in hex. */
export const writeDigest = (sha256: string): string =>
  `sha-256=:${Buffer.from(sha256, "hex").toString("base64")}:`;

/** Returns whether the client excludes sha-256 (§4); any other preference cannot be met. */
export const declinesDigest = (
  headers: Headers,
  field: "want-content-digest" | "want-repr-digest",
): boolean =>
  splitField(headers.get(field) ?? "", ",").some(
    (piece) => splitField(piece, ";")[0]?.trim() === "sha-256=0",
  );

const malformed = new Problem(
  "malformed-request",
  "Content-Digest must look like `sha-256=:<digest in base64>:` (RFC 9530).",
);

const mismatch = (name: string, actual: string): Problem =>
  new Problem("invalid-body", "The received content does not match Content-Digest.", {
    errors: [{ pointer: "", detail: `its digest is ${name}=:${actual}:` }],
  });
