// Tells how long the files of a website may be cached, by their names.

/** What bundlers add to a name is a hash of the content: another content has another name. */
const hashedNames = [
  // main.8f3a12bc.js, of webpack and Parcel, and chunk-8f3a12bc.css: hexadecimal, with letters and digits.
  /[.-](?=[a-f]*\d)(?=\d*[a-f])[\da-f]{8,64}(?:\.\w+){1,2}$/,
  // main-ABCD2345.js, of esbuild and Angular.
  /-[A-Z2-7]{8}\.(?:css|js)(?:\.map)?$/,
  // assets/index-BX3f9a1c.js, of Vite, and the folders of tools that use it: a capital letter within eight.
  /(?:^|\/)(?:assets|_app|_astro|_nuxt)\/(?:.*[/.-])?[\w-](?=[\w-]{0,6}[A-Z])[\w-]{7}(?:\.[a-z]\w*){1,2}$/,
];

/** Everything else is revalidated by its ETag. */
export const cachingOf = (path: string): string =>
  hashedNames.some((pattern) => pattern.test(path))
    ? "public, max-age=31536000, immutable"
    : "no-cache";
