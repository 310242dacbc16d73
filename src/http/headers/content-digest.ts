// Content-Digest (RFC 9530): whether what arrived is what was sent, byte for byte.

import { createHash, type Hash } from "node:crypto";
import { Problem } from "../../model/problem.ts";
import { splitField } from "./field-list.ts";

/** Those that are fit for it; what else there is, is ignored (§5). */
const algorithms: Readonly<Record<string, string>> = { "sha-256": "sha256", "sha-512": "sha512" };

/** One member of the dictionary is a byte sequence (RFC 9651 §3.2). */
const member = /^([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/]*={0,2}):$/;
/** A parameter of a member, which means nothing here. */
const parameter = /^[a-z*][a-z0-9_.*-]*(?:=(?:[^"]+|".*"))?$/;

/** The content's digests, made while it arrives. */
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

  /** Once, at the end of the content. */
  refuse(): Problem | undefined {
    for (const [name, hash] of this.#hashes) {
      const actual = hash.digest("base64");
      if (actual !== this.#expected.get(name)) return mismatch(name, actual);
    }
    return undefined;
  }
}

/** What the request says its content is; undefined when it says nothing that we can check. */
export function readDigest(headers: Headers): DigestCheck | Problem | undefined {
  const field = headers.get("content-digest");
  if (field === null) return undefined;
  const expected = new Map<string, string>();
  for (const piece of splitField(field, ",")) {
    const [bytes = "", ...parameters] = splitField(piece, ";").map((part) => part.trim());
    const [, name, digest = ""] = member.exec(bytes) ?? [];
    const isRead = parameters.every((part) => parameter.test(part));
    if (name === undefined || !isRead) return malformed;
    // The last of a name counts (RFC 9651 §4.2.2), spelled as we would.
    const isKnown = Object.hasOwn(algorithms, name);
    if (isKnown) expected.set(name, Buffer.from(digest, "base64").toString("base64"));
  }
  return expected.size === 0 ? undefined : new DigestCheck(expected);
}

const malformed = new Problem(
  "malformed-request",
  "Content-Digest looks like `sha-256=:<the digest in base64>:` (RFC 9530).",
);

const mismatch = (name: string, actual: string): Problem =>
  new Problem(
    "invalid-body",
    "The content that arrived is not the one that Content-Digest tells of.",
    { errors: [{ pointer: "", detail: `its digest is ${name}=:${actual}:` }] },
  );
