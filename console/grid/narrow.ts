// Whether the window was narrow when the console was opened, as on a phone. The styles ask the same.

type Ask = (query: string) => { readonly matches: boolean };

const { matchMedia } = globalThis as { matchMedia?: Ask };

export const isNarrow: boolean = matchMedia?.("(max-width: 760px)").matches ?? false;
