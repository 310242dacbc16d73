// Reads the responses of a connection from its bytes, as a client does.

export interface SentResponse {
  readonly status: number;
  /** By lower-case name. */
  readonly fields: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

/** The responses to requests with these methods, at most so many, without 1xx; throws if there are other bytes. */
export function readResponses(
  sent: Buffer,
  methods: readonly string[],
  max = Number.POSITIVE_INFINITY,
): SentResponse[] {
  const responses: SentResponse[] = [];
  for (let at = 0; at < sent.length && responses.length < max; ) {
    const { response, end } = readResponse(sent, at, methods[responses.length]);
    if (response.status >= 200) responses.push(response);
    at = end;
  }
  return responses;
}

function readResponse(
  sent: Buffer,
  start: number,
  method: string | undefined,
): { readonly response: SentResponse; readonly end: number } {
  const headEnd = sent.indexOf("\r\n\r\n", start);
  if (headEnd < 0) throw new Error(`no head: ${JSON.stringify(sent.toString("latin1", start))}`);
  const [line = "", ...lines] = sent.toString("latin1", start, headEnd).split("\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3}) [ -~]*$/.exec(line)?.[1]);
  if (!(status >= 100)) throw new Error(`no status: ${JSON.stringify(line)}`);
  const fields = new Map(lines.map(readField));
  const { body, end } = readBody(sent, headEnd + 4, { status, fields, method });
  return { response: { status, fields, body }, end };
}

function readField(line: string): [string, string] {
  const match = /^([\w-]+): ?([\t -~\x80-\xff]*)$/.exec(line);
  if (match === null) throw new Error(`no field: ${JSON.stringify(line)}`);
  return [(match[1] ?? "").toLowerCase(), match[2] ?? ""];
}

interface Head {
  readonly status: number;
  readonly fields: ReadonlyMap<string, string>;
  readonly method: string | undefined;
}

function readBody(sent: Buffer, start: number, { status, fields, method }: Head) {
  const length = fields.get("content-length");
  if (status < 200 || status === 204 || status === 304 || method === "HEAD")
    return { body: Buffer.alloc(0), end: start };
  if (fields.get("transfer-encoding") === "chunked") return readChunks(sent, start);
  if (length === undefined && fields.get("connection") !== "close") throw new Error("no length");
  const end = length === undefined ? sent.length : start + Number(length);
  if (!(end <= sent.length)) throw new Error(`${sent.length - start} of ${length} bytes`);
  return { body: sent.subarray(start, end), end };
}

function readChunks(sent: Buffer, start: number) {
  const chunks: Buffer[] = [];
  for (let at = start; ; ) {
    const lineEnd = sent.indexOf("\r\n", at);
    const size = Number.parseInt(sent.toString("latin1", at, Math.max(at, lineEnd)), 16);
    const end = lineEnd + 2 + size;
    if (lineEnd < 0 || sent.toString("latin1", end, end + 2) !== "\r\n")
      throw new Error("no chunk");
    if (size === 0) return { body: Buffer.concat(chunks), end: end + 2 };
    chunks.push(sent.subarray(lineEnd + 2, end));
    at = end + 2;
  }
}
