// A language of highlight.js: see core.d.cts.

declare const definition: (core: never) => object;

export = definition;
