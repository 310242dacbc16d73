// The supported values of `format`, with a description of each for error messages.

/** The maximum length of a string with any format. */
export const maxFormatChars = 8192;

export const formats: Readonly<Record<string, string>> = {
  "date-time": "a date and time such as 2026-03-01T09:30:00Z, with seconds up to 59",
  date: "a date such as 2026-03-01",
  time: "a time with its zone, such as 09:30:00Z",
  duration: "a duration such as P1DT2H",
  email: "an email address",
  "idn-email": "an email address",
  hostname: "a host name",
  "idn-hostname": "a host name",
  ipv4: "an IPv4 address",
  ipv6: "an IPv6 address",
  uri: "an absolute URI such as https://example.com/a",
  "uri-reference": "a URI, absolute or relative",
  iri: "an absolute IRI such as https://example.com/a",
  "iri-reference": "an IRI, absolute or relative",
  "uri-template": "a URI template such as /people/{id}",
  uuid: "a UUID such as 0198c1d2-7b3a-7c4e-9f00-3a5b6c7d8e9f",
  "json-pointer": "a JSON Pointer such as /a/0",
  "relative-json-pointer": "a relative JSON Pointer such as 1/a",
  regex: "a regular expression",
};
