// Failures that schemathesis reports although the server is right, each with its reason.

interface Exception {
  /** The kinds of failure: `schemathesis explain ST202` describes one. */
  readonly codes: readonly string[];
  /** Matches schemathesis's description of the case: failure, answer and request. */
  readonly text: RegExp;
  readonly reason: string;
}

export const exceptions: readonly Exception[] = [
  {
    codes: ["ST201"],
    text: /Invalid component: parameters? `If-(?:None-Match|Modified-Since|Unmodified-Since)`/,
    reason: "A precondition that is malformed is ignored, as RFC 9110 has it (13.1.2 to 13.1.4).",
  },
  {
    codes: ["ST201"],
    text: /Invalid component: parameter `(?:year|rating)\[\w+\]`/,
    reason: "A filter of an integer field may be any number: year[lt]=0.5 has a clear meaning.",
  },
  {
    codes: ["ST202", "ST203"],
    text: /cannot be combined with|at most 100 conditions are allowed|is in (?:fields|sort) twice/,
    reason: "OpenAPI has no way to say that parameters exclude each other; the descriptions do.",
  },
  {
    codes: ["ST201"],
    text: /violates `(?:maximum|minimum)` .*became -?9007199254740992\)/,
    reason:
      "The document has the integers that every client can read; a larger exact one is accepted.",
  },
  {
    codes: ["ST202"],
    text: /\[414\] URI Too Long/,
    reason: "Parameters that are short enough alone may be too long together.",
  },
  {
    codes: ["ST202"],
    text: /^PATCH [\s\S]*"detail":"\w+ is required"/,
    reason: "Whether a patch leaves an object without a required member depends on the resource.",
  },
  {
    codes: ["ST202"],
    text: /"pointer":"\/expiresAt","detail":"must be in the future"/,
    reason: "A schema cannot say that a time must be in the future.",
  },
  {
    codes: ["ST202"],
    text: /"pointer":"\/operations\/\d+\/(?:path|body|contentType|ifMatch|ifNoneMatch)"/,
    reason:
      "What an operation of a batch may have depends on its method; generators need one flat type.",
  },
  {
    codes: ["ST202"],
    text: /"pointer":"\/cover\/type","detail":"must be one of/,
    reason: "The media type of a file is that of its part, which schemathesis chooses freely.",
  },
  {
    codes: ["ST202"],
    text: /__proto__ is not accepted as a name/,
    reason: "No member may be called __proto__ at any depth, which the problem says.",
  },
  {
    codes: ["ST202"],
    text: /confirm must be the name of the collection/,
    reason: "A schema cannot say that a parameter repeats a part of the path.",
  },
  {
    codes: ["ST202"],
    text: /The definition is not valid.*the schema has no field/,
    reason: "A schema cannot say that one member of a definition names fields of another.",
  },
  {
    codes: ["ST202"],
    text: /The definition is not valid[\s\S]*"pointer":"\/(?:unique|indexed)\/\d+/,
    reason:
      "Generators have no type for a field or a list of fields, so the document leaves it open.",
  },
  {
    codes: ["ST202"],
    text: /a value cannot be moved into itself/,
    reason: "A schema cannot compare the two paths of a JSON Patch operation.",
  },
  {
    codes: ["ST202"],
    text: /"pointer":"(?!\/(?:year|rating|lines\/\d+\/count)")(?:[^"\\]|\\.)*","detail":"this number would be read as/,
    reason: "A member that the schema does not declare has no bounds, and a number must be exact.",
  },
  {
    codes: ["ST104", "ST109"],
    text: /\[201\] Created[\s\S]*Prefer: return=minimal/,
    reason:
      "With return=minimal a 201 has no body (RFC 7240); a response cannot be described as either.",
  },
  {
    codes: ["ST203"],
    text: /missing required 'Authorization' header/,
    reason: "schemathesis sends the Authorization field of its command line in these cases, too.",
  },
  {
    codes: ["ST401"],
    text: /429 Too Many Requests.*invalid credentials provided/,
    reason: "After 20 wrong tokens in a minute an address gets 429 instead of 401.",
  },
  {
    codes: ["ST204", "ST205"],
    text: /QUERY/,
    reason: "OpenAPI 3.1 cannot describe the method QUERY; `?version=3.2` does.",
  },
  {
    codes: ["ST103", "ST107", "ST108", "ST202"],
    text: /^(?:Stateful tests|\w+ \/\{collection\})[\s\S]*:\d+\/-\//,
    reason:
      "schemathesis takes `-` of an answer as a collection's name, which its pattern does not allow.",
  },
  {
    codes: ["ST202"],
    text: /"(?:parameter|pointer)":"[^"]*","detail":"(?:there is no field|\\"[^"]*" is not a reference)/,
    reason:
      "Which fields and references a collection has is not known where any collection is meant.",
  },
  {
    codes: ["ST202"],
    text: /a unique field and its value are needed/,
    reason: "Which fields are unique is not known where any collection is meant.",
  },
  {
    codes: ["ST202"],
    text: /The URL is signed\. Send it without Authorization/,
    reason: "OpenAPI has no way to say that a parameter excludes a token.",
  },
  {
    codes: ["ST202"],
    text: /must be the URL of a file on this server/,
    reason: "Whether a path is that of a file depends on the files.",
  },
  {
    codes: ["ST202"],
    text: /at least one line is needed/,
    reason: "A text of blank lines alone has no resource in it.",
  },
  {
    codes: ["ST202"],
    text: /Only a file, or a form with files, can be sent in several requests/,
    reason: "OpenAPI has no way to say which header fields go with which media type.",
  },
  {
    codes: ["ST202"],
    text: /\[413\] Content Too Large[\s\S]*Upload-Length/,
    reason: "How large an upload may be is a setting.",
  },
  {
    codes: ["ST101", "ST107", "ST202"],
    text: /\[104\] Unknown/,
    reason: "The HTTP library of Python takes an interim response as the last one.",
  },
  {
    codes: ["ST201"],
    text: /^PUT \/\{collection\}\/\{id\}\/\{name\}[\s\S]*Missing request body/,
    reason: "No bytes are an empty file.",
  },
  {
    codes: ["ST202"],
    text: /"pointer":"\/sets\/[^"]*","detail":"name one of the operators/,
    reason: "What a condition may be depends on its field, so the document leaves it open.",
  },
];
