// The JSON Schemas of times.

export const timeSchema = { type: "string", format: "date-time" } as const;
export const optionalTimeSchema = { type: ["string", "null"], format: "date-time" } as const;

/** As the API shows times: ISO 8601 in UTC, with milliseconds. */
export const timeText = (at: number): string => new Date(at).toISOString();
