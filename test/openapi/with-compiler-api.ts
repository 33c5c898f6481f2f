// Preloaded into openapi-typescript, which needs the compiler's JavaScript API. TypeScript 7 no longer has it, so imports of
// "typescript" lead to the copy of version 5 that @ts-morph/common contains. TypeScript 5 itself cannot be installed beside
// version 7, because both have a command tsc.

import { registerHooks } from "node:module";

const COMPILER = import.meta.resolve("@ts-morph/common/dist/typescript.js");

registerHooks({
	resolve: (specifier, context, nextResolve) =>
		nextResolve(specifier === "typescript" ? COMPILER : specifier, context),
});
