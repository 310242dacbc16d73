// Makes the response to HEAD from the response to the same GET.

/**
 * Both runtimes remove the body of a response to HEAD and keep its length, except for a stream: Bun
 * replaces its Content-Length with `chunked`, and node-server reads it to the end.
 */
export async function withoutStream(getResponse: Response | Promise<Response>): Promise<Response> {
  const response = await getResponse;
  if (!response.headers.has("content-length")) return response;
  await response.body?.cancel();
  return new Response(null, { status: response.status, headers: response.headers });
}
