// Splits and joins the query string of a signed URL. The signature covers the text before it as it was sent.

export const signatureName = "signature";

const signed = /^(?:(.+)&)?signature=([A-Za-z0-9.-]+)$/;

/** Returns undefined when the last parameter is not the signature. */
export function splitSignature(
  query: string,
): { readonly parameters: string; readonly signature: string } | undefined {
  const [, parameters = "", signature] = signed.exec(query) ?? [];
  return signature === undefined ? undefined : { parameters, signature };
}

export const withQuery = (path: string, query: string): string =>
  query === "" ? path : `${path}?${query}`;

export const withSignature = (target: string, signature: string): string =>
  `${target}${target.includes("?") ? "&" : "?"}${signatureName}=${signature}`;
