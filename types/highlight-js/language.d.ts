// A language of highlight.js: see core.d.ts.

declare const definition: (core: never) => object;

// biome-ignore lint/style/noDefaultExport: it is the package's.
export default definition;
