// State that the test actions share. Its name begins with `_`, so it is not an action.

/** What was recorded after the response. */
export const seen: string[] = [];
