// The errors of requests that never reach the application, alike on both runtimes.

/** Why a request is rejected before the application handles it. */
export interface HttpError {
  readonly status: number;
  readonly detail: string;
}

export const malformed = (detail: string): HttpError => ({ status: 400, detail });

export const isError = (value: object): value is HttpError => "detail" in value;

export const versionNotSupported: HttpError = {
  status: 505,
  detail: "Only HTTP/1.1 and HTTP/1.0 are supported.",
};

export const targetTooLong: HttpError = { status: 414, detail: "The request target is too long." };

export const proxyNotSupported: HttpError = {
  status: 501,
  detail: "This server is not a proxy and does not support CONNECT.",
};

export const unknownExpectation: HttpError = {
  status: 417,
  detail: "The only supported expectation is `100-continue`.",
};

export const unknownMethod: HttpError = {
  status: 501,
  detail: "This server does not support the method at any address.",
};

export const notHttp = malformed("This is not an HTTP request.");

export const foldedField = malformed(
  "A header field continues on a second line; line folding is not accepted (RFC 9112 §5.2).",
);

export const endedEarly = malformed("The connection ended before the request did.");

export const extensionsTooLarge: HttpError = {
  status: 413,
  detail: "The chunk extensions are too large.",
};

export const requestTimedOut: HttpError = {
  status: 408,
  detail: "The request did not arrive in time.",
};

export const bodyTimedOut: HttpError = {
  status: 408,
  detail: "The rest of the request did not arrive in time.",
};

export const failed: HttpError = {
  status: 500,
  detail: "The server failed while handling this request.",
};

/** More header lines are rejected. */
export const maxFieldLines = 1_000;

export const tooManyLines: HttpError = {
  status: 431,
  detail: `The request has more than ${maxFieldLines} header lines.`,
};

export const fieldTooLarge = (name: string, maxBytes: number): HttpError => ({
  status: 431,
  detail: `The field ${name} is over ${maxBytes} bytes.`,
});

export const sectionTooLarge = (maxBytes: number): HttpError => ({
  status: 431,
  detail: `The header section is over ${maxBytes} bytes.`,
});

export const badFieldLine = malformed(
  "A header line is not a name, a colon and a value, without a space before the colon (RFC 9112 §5).",
);

export const forbiddenCharacter = malformed(
  "A header field contains a control character or a single CR or LF.",
);

export const badLength = malformed("Content-Length is not one number (RFC 9110 §8.6).");

export const repeatedHost = malformed("Host was sent more than once (RFC 9112 §3.2).");
