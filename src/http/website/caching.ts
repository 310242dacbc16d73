// Tells how long the files of a website may be cached, by their names.

/** Where Vite and the tools that use it put files with a hash. */
const viteFolders = ["assets", "_app", "_astro", "_nuxt"];

/** A file with a hash of its content in its name never changes. Everything else is revalidated by its ETag. */
export function cachingOf(path: string): string {
  const folders = path.replace(/\.map$/, "").split("/");
  const name = folders.pop() ?? "";
  const isVites = folders.some((folder) => viteFolders.includes(folder));
  return hasHexadecimal(name) || hasCapitals.test(name) || (isVites && hasBase64(name))
    ? "public, max-age=31536000, immutable"
    : "no-cache";
}

/** As `main.8f3a12bc.js` and `main.8f3a12bc.chunk.js` of webpack and Parcel: with letters and digits, unlike a date or a word. */
const hasHexadecimal = (name: string): boolean =>
  name
    .split(/[.-]/)
    .slice(1, -1)
    .slice(-2)
    .some((word) => /^[\da-f]{8,64}$/.test(word) && /\d/.test(word) && /[a-f]/.test(word));

/** As `main-ABCD2345.js` of esbuild and Angular. */
const hasCapitals = /-[A-Z2-7]{8}\.(?:css|js)$/;

/** As `index-BX3f9a1c.js` of Vite: eight characters, with a capital letter after the first, unlike a word. */
function hasBase64(name: string): boolean {
  const stem = name.slice(0, Math.max(0, name.lastIndexOf(".")));
  const before = stem.at(-9) ?? "-";
  return ".-".includes(before) && /^[\w-]{8}$/.test(stem.slice(-8)) && /[A-Z]/.test(stem.slice(-7));
}
