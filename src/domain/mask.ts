// How resources are shown to callers who may read the same fields: the representation and its validator.

import { createHmac } from "node:crypto";
import { RecentMap } from "../lib/recent-map.ts";
import { grantsOf, hasRules, isByCaller, isPublic, isPublicInPart } from "../model/access/grant.ts";
import type { Rules } from "../model/collection.ts";
import { definitionOf } from "../model/definition.ts";
import { type Principal, system } from "../model/principal.ts";
import { projectionOf } from "../model/query/projection.ts";
import { type Renderer, rendererOf, viewVersion, visibleOf } from "../model/render.ts";
import type { Resource } from "../model/resource.ts";
import { type AppliedGrant, isNamed } from "./view.ts";

/** The same object for the same rules and the same fields. */
export class Mask {
  readonly #masks: Masks;
  /** What is shown besides `id` and `createdAt`; undefined for all fields. */
  readonly fields: readonly string[] | undefined;
  readonly render: Renderer;
  /** Whether shared caches may store the response. */
  readonly isOpen: boolean;
  /** Whether others are shown something else. */
  readonly isByCaller: boolean;
  /** The grants with these fields, as bits. Undefined where the validator may show the revision. */
  readonly #bits: number | undefined;
  /** Returns the fields that are shown; undefined when all are. */
  readonly #shownFields: ((fields: string) => string) | undefined;

  constructor(masks: Masks, fields: Mask["fields"], bits: number | undefined, isForAdmin = false) {
    this.#masks = masks;
    this.fields = fields;
    this.#bits = bits;
    this.isOpen = masks.isOpen && !isForAdmin;
    this.isByCaller = masks.isByCaller || isForAdmin;
    const whole = rendererOf(masks.rules);
    const project = fields && projectionOf(["createdAt", ...fields]);
    this.#shownFields = shownFieldsOf(visibleOf(masks.rules), fields);
    this.render = project ? (resource, url) => project(whole(resource, url)) : whole;
  }

  get rules(): Rules | undefined {
    return this.#masks.rules;
  }

  /** Whether other callers can see the same resource differently. */
  get hasOthers(): boolean {
    return this.#masks.key !== undefined;
  }

  /** The resource with the fields that are shown, and no others. */
  shownOf(resource: Resource): Resource {
    if (this.#shownFields === undefined) return resource;
    return { ...resource, fields: this.#shownFields(resource.fields) };
  }

  shows(field: string): boolean {
    return isNamed(field, this.fields);
  }

  /** Whether the time of the last change is shown. */
  get showsUpdates(): boolean {
    return this.shows("updatedAt");
  }

  /**
   * Returns a text that changes with what is shown, and with nothing else. Where others may write what
   * the caller does not see, it is keyed, so that it does not show how much they write.
   */
  validator(resource: Resource): string {
    if (this.#bits === undefined) return this.#masks.revisionOf(resource);
    const shown = this.fields ? this.render(resource, "") : this.#masks.revisionOf(resource);
    return `v${this.#bits.toString(36)}_${this.#masks.hash(`${resource.id}\n${shown}`)}`;
  }

  /** Whether a validator is that of the resource's state, as any caller sees it. */
  isValidator(text: string, resource: Resource): boolean {
    if (text === this.#masks.revisionOf(resource) || text === this.validator(resource)) return true;
    const [, bits] = keyedValidator.exec(text) ?? [];
    return bits !== undefined && this.#masks.at(parseInt(bits, 36))?.validator(resource) === text;
  }
}

type TextChange = (fields: string) => string;

/** Removes the write-only fields, and then those that the caller is not shown. */
function shownFieldsOf(visible: TextChange | undefined, fields: Mask["fields"]) {
  const project = fields && projectionOf(fields);
  return visible && project ? (text: string) => project(visible(text)) : (visible ?? project);
}

const keyedValidator = /^v([0-9a-z]{1,4})_/;

/** 132 bits. */
const hashChars = 22;

/** The masks of a collection. Callers without a token have their own where only they share responses. */
export class Masks {
  readonly rules: Rules | undefined;
  /** Whether shared caches may store what these callers are shown. */
  readonly isOpen: boolean;
  readonly isByCaller: boolean;
  readonly #key: string | undefined;
  /** For callers who see all resources with all fields. */
  readonly whole: Mask;
  /** For administrators, who see more than rules show to others: only private caches store their responses. */
  readonly forAdmin: Mask;
  /** For callers who see some resources with all fields. */
  readonly #allFields: Mask;
  /** The fields of each grant, in the order of the definition. */
  readonly #listed: readonly (readonly string[] | undefined)[];
  readonly #byGrants = new Map<number, Mask>();

  /** `key` is the secret of the store; collections without rules need none. */
  constructor(rules: Rules | undefined, key: string | undefined, isOpen: boolean) {
    this.rules = rules;
    this.isOpen = isOpen;
    this.isByCaller = rules !== undefined && isByCaller(rules);
    this.#key = key;
    const definition = rules && definitionOf(rules);
    this.#listed = definition ? grantsOf(definition, "read").map(({ fields }) => fields) : [];
    this.whole = new Mask(this, undefined, undefined);
    this.#allFields = new Mask(this, undefined, 0);
    const isRuled = definition !== undefined && hasRules(definition);
    this.forAdmin = isRuled ? new Mask(this, undefined, undefined, true) : this.whole;
  }

  get key(): string | undefined {
    return this.#key;
  }

  /** The mask for a resource of which the caller sees a part of the collection, by the grants that hold. */
  part(grants: readonly AppliedGrant[]): Mask {
    if (grants.some(({ fields }) => fields === undefined)) return this.#allFields;
    const held = grants.reduce((bits, { index }) => bits | (1 << index), 0);
    const known = this.#byGrants.get(held);
    if (known !== undefined) return known;
    const bits = this.#sameFields(grants.flatMap(({ fields = [] }) => fields));
    const mask = this.#byGrants.get(bits) ?? new Mask(this, this.#fieldsOf(bits), bits);
    this.#byGrants.set(bits, mask);
    this.#byGrants.set(held, mask);
    return mask;
  }

  /** Returns the mask that a validator was made with. */
  at(bits: number): Mask | undefined {
    if (this.#key === undefined) return undefined;
    if (bits === 0) return this.#allFields;
    const known = this.#byGrants.get(bits);
    if (known !== undefined) return known;
    if (bits >= 1 << this.#listed.length) return undefined;
    return new Mask(this, this.#fieldsOf(bits), bits);
  }

  /**
   * The revision, the time, which differs after a restored backup, and the version of the view, which
   * differs when a new definition shows other fields of the same state.
   */
  revisionOf({ revision, updatedAt }: Resource): string {
    const version = viewVersion(this.rules);
    const shown = version === 0 ? "" : `-${version.toString(36)}`;
    return `${revision.toString(36)}-${updatedAt.toString(36)}${shown}`;
  }

  hash(text: string): string {
    if (this.#key === undefined) throw new Error("these rules have no key");
    const hmac = createHmac("sha256", this.#key).update(`validator\n${text}`);
    return hmac.digest("base64url").slice(0, hashChars);
  }

  /** Every grant whose fields are shown: equal for equal fields, whichever grants hold. */
  #sameFields(shown: readonly string[]): number {
    return this.#listed.reduce((bits, fields, index) => {
      const isShown = fields?.every((field) => isNamed(field, shown));
      return isShown ? bits | (1 << index) : bits;
    }, 0);
  }

  #fieldsOf(bits: number): readonly string[] {
    const all = this.#listed.flatMap((fields, index) => (bits & (1 << index) ? fields : []) ?? []);
    return [...new Set(all)];
  }
}

const ofRules = new WeakMap<Rules, Masks>();
const ofRulesInPart = new WeakMap<Rules, Masks>();
const ofNoRules = new Masks(undefined, undefined, false);
const maxRecentChars = 4 * 1024 * 1024;
/** By what the masks depend on, so that a definition with another index has the same ones. */
const recent = new RecentMap<string, Masks>(maxRecentChars, (_, text) => text.length);

/** Cached per object. */
export function masksOf(
  rules: Rules | undefined,
  key?: string,
  principal: Principal = system,
): Masks {
  if (rules === undefined) return ofNoRules;
  const isPart = principal.kind === "anonymous" && isPublicInPart(rules);
  const known = isPart ? ofRulesInPart : ofRules;
  const cached = known.get(rules);
  if (cached !== undefined && (key === undefined || cached.key === key)) return cached;
  const name = `${isPart}${key}${shownBy(rules)}`;
  const masks = recent.getOrAdd(name, () => new Masks(rules, key, isPart || isPublic(rules)));
  known.set(rules, masks);
  return masks;
}

/** The definition without indexes, which change nothing that is shown. */
function shownBy(rules: Rules): string {
  const { indexed: _, unique: __, searchable: ___, ...shown } = definitionOf(rules);
  return `${viewVersion(rules)}${JSON.stringify(shown)}`;
}
