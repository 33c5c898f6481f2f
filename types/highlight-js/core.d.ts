// What we use of highlight.js. Its own types bring those of a browser into every file, where a `window` that is not
// there would then compile; tsconfig.json leads here instead. (The release is bundled without that file.)

declare const core: {
	configure(options: { classPrefix: string }): void;
	registerLanguage(name: string, definition: (core: never) => object): void;
	highlight(code: string, options: { language: string; ignoreIllegals: boolean }): { value: string };
};

// biome-ignore lint/style/noDefaultExport: it is the package's.
export default core;
