// The syntax of entity tags (RFC 9110 §8.8.3) and of lists of them, as in If-Match.

const entityTag = /^(?:W\/)?"[!#-~\x80-\xff]*"$/;

/** `*`, or tags with commas between them; empty elements are allowed (§5.6.1). */
export const entityTags =
  /^(?:[ \t]*\*[ \t]*|[, \t]*(?:W\/)?"[!#-~\x80-\xff]*"(?:[ \t]*,[, \t]*(?:W\/)?"[!#-~\x80-\xff]*")*[, \t]*)$/;

export const entityTagSchema = { type: "string", pattern: entityTag.source } as const;
export const entityTagsSchema = { type: "string", pattern: entityTags.source } as const;
