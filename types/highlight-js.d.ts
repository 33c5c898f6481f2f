// The part of highlight.js that docs/highlight.ts uses. The package's own types declare the globals of a browser, so that
// `window` would compile in every file. tsconfig.json refers to this file instead.

declare const hljs: {
	configure(options: { classPrefix: string }): void;
	getLanguage(name: string): { name?: string } | undefined;
	highlight(code: string, options: { language: string; ignoreIllegals: boolean }): { value: string };
};

// biome-ignore lint/style/noDefaultExport: the package has a default export.
export default hljs;
