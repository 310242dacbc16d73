// Writes a query string as people read it.

/** Brackets and commas stay as they are; both the server and `URLSearchParams` read them. */
export const queryText = (params: URLSearchParams): string =>
  params.toString().replace(/%(5B|5D|2C|3A)/g, (code) => decodeURIComponent(code));
