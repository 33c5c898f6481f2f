// Checks a shop's programs against the types of the installed package, with the strictest settings.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runProgram } from "../support/run-program.ts";

const MODULES = fileURLToPath(new URL("../../node_modules/", import.meta.url));
const STRICT = {
	strict: true,
	exactOptionalPropertyTypes: true,
	noUncheckedIndexedAccess: true,
	noPropertyAccessFromIndexSignature: true,
	// The package's own declarations must be checked, too.
	skipLibCheck: false,
	noEmit: true,
	target: "es2022",
	types: [] as string[],
};

/** Folder with Node's types, for a shop that has not installed them. */
export const NODE_TYPES = join(MODULES, "@types");

export async function checkTypes(
	shop: string,
	programs: Readonly<Record<string, string>>,
	options: object,
): Promise<void> {
	for (const [name, program] of Object.entries(programs)) writeFileSync(join(shop, name), program);
	const config = { compilerOptions: { ...STRICT, ...options }, files: Object.keys(programs) };
	writeFileSync(join(shop, "tsconfig.json"), JSON.stringify(config));
	await runProgram(process.execPath, [join(MODULES, "typescript/bin/tsc"), "--project", shop], shop);
}
