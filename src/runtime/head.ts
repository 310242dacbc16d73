// The answer to a HEAD request, made from the answer to the same GET.

/**
 * Both runtimes strip the body of an answer to HEAD and state its length. A stream is the exception:
 * Bun replaces its declared length by `chunked`, and node-server reads it to the end for nothing.
 */
export async function withoutStream(answer: Response | Promise<Response>): Promise<Response> {
  const response = await answer;
  if (!response.headers.has("content-length")) return response;
  await response.body?.cancel();
  return new Response(null, { status: response.status, headers: response.headers });
}
