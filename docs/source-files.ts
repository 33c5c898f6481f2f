// Reads the files that the documentation is made from. They are in the repository and not in the released program.

import { readFileSync } from "node:fs";
import { EXAMPLE_LANGUAGES, type ExampleLanguage, type ExampleRole } from "#core/web/examples.ts";

const ROOT = new URL("../", import.meta.url);

/** Reads a text file by its path in the repository. */
export function readSource(path: string): string {
	return readFileSync(new URL(path, ROOT), "utf8");
}

/**
 * Reads an example program. It has the brand "Service" and a placeholder address: see fillIn in src/core/web/examples.ts.
 */
export function readExample(language: ExampleLanguage, role: ExampleRole): string {
	const files = EXAMPLE_LANGUAGES.find(({ value }) => value === language);
	if (files === undefined) throw new Error(`there are no examples in ${language}`);
	return readSource(`examples/${language}/${files[role]}`);
}
