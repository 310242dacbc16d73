// The body of a problem (RFC 9457) as the server writes it, and how it is read.

export interface ProblemDetail {
  /** A JSON Pointer (RFC 6901) into the body that was sent. */
  readonly pointer?: string;
  readonly parameter?: string;
  readonly detail: string;
}

export interface ProblemBody {
  readonly type?: string;
  readonly title?: string;
  readonly status?: number;
  readonly detail?: string;
  readonly requestId?: string;
  readonly errors?: readonly ProblemDetail[];
}

const isDetail = (value: unknown): value is ProblemDetail => {
  const {
    pointer = "",
    parameter = "",
    detail,
  } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return [pointer, parameter, detail].every((text) => typeof text === "string");
};

/** What of a body is as the server has it: what is between may answer with something else. */
export function problemBodyOf(body: unknown): ProblemBody {
  const { errors, ...others } = (body ?? {}) as Readonly<Record<string, unknown>>;
  const texts = Object.entries(others).filter(([, value]) => typeof value === "string");
  return {
    ...Object.fromEntries(texts),
    ...(Array.isArray(errors) && { errors: errors.filter(isDetail) }),
  };
}

/** The last part of its type, such as `not-found`; types of the IANA registry have it after a `#`. */
export const kindOf = ({ type }: ProblemBody): string => type?.split(/[/#]/).at(-1) ?? "unknown";

/** The errors of a member of the body, such as `/address/city`, and of what is below it. */
export const errorsAt = (
  errors: readonly ProblemDetail[],
  pointer: string,
): readonly ProblemDetail[] =>
  errors.filter((error) => error.pointer === pointer || error.pointer?.startsWith(`${pointer}/`));

/** A browser sends a request by itself again that was cut, and this part of an upload is there already. */
export const isRepeatedPart = (kind: string): boolean =>
  kind === "mismatching-upload-offset" ||
  kind === "inconsistent-upload-length" ||
  kind === "completed-upload";
