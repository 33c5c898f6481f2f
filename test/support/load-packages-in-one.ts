// Redirects imports to the bundles that packages-in-one.ts has built. The command `node
// --import=…/load-packages-in-one.ts?list=FILE&program=URL …` redirects the listed packages and the program that
// src/ringback.js imports.

import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";

const { searchParams } = new URL(import.meta.url);
const list = searchParams.get("list") ?? "";
const program = searchParams.get("program") ?? "";
const urls = new Map<string, string>(Object.entries(JSON.parse(readFileSync(list, "utf8"))));
const packages = new Set([...urls.keys()].map(packageOf));

registerHooks({
	resolve(specifier, context, nextResolve) {
		if (specifier === "./main.ts" && context.parentURL?.endsWith("/src/ringback.js") === true) {
			return { url: program, format: "module", shortCircuit: true };
		}
		const isOwn = !(context.parentURL ?? "").includes("/node_modules/");
		if (!isOwn || !packages.has(packageOf(specifier))) return nextResolve(specifier, context);
		const url = urls.get(specifier);
		if (url === undefined)
			throw new Error(`"${specifier}" must stand in test/support/packages-in-one.ts, too`);
		return { url, format: "module", shortCircuit: true };
	},
});

function packageOf(specifier: string): string {
	const [first = "", second = ""] = specifier.split("/", 2);
	return first.startsWith("@") ? `${first}/${second}` : first;
}
