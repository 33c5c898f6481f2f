// The guide's file, and the receivers and senders of examples/ in it: between two comments each, written there by the
// build and folded back into one place by the page, which has tabs for them.

import {
	codeLanguageOf,
	EXAMPLE_LANGUAGES,
	type ExampleLanguage,
	type ExampleRole,
	readExample,
} from "../examples.ts";

/** In docs/, where people look for it. */
export const GUIDE_PATH = "docs/receiver-guide.md";

export const EXAMPLE_ROLES: readonly ExampleRole[] = ["receiver", "sender"];

const REGION = /<!-- example: ([a-z]+)\/([a-z]+) -->\n.*?<!-- \/example -->/gs;

/** Every region with what its file holds now. */
export function writeExamples(guide: string): string {
	return guide.replace(REGION, (_, language: string, role: string) => {
		const known = EXAMPLE_LANGUAGES.find(({ value }) => value === language);
		const knownRole = EXAMPLE_ROLES.find((name) => name === role);
		if (known === undefined || knownRole === undefined)
			throw new Error(`there is no example ${language}/${role}`);
		return writeRegion(known.value, known.label, knownRole);
	});
}

function writeRegion(language: ExampleLanguage, label: string, role: ExampleRole): string {
	const code = readExample(language, role).trimEnd();
	const fence = code.includes("```") ? "````" : "```";
	return [
		`<!-- example: ${language}/${role} -->`,
		"<details>",
		`<summary>${label}</summary>`,
		"",
		`${fence}${codeLanguageOf(language)}`,
		code,
		fence,
		"",
		"</details>",
		"<!-- /example -->",
	].join("\n");
}

/** Neighbouring regions of a role become one comment, `examples: receiver`. */
export function foldExamples(guide: string): string {
	const marked = guide.replace(REGION, (_, __, role: string) => `<!-- examples: ${role} -->`);
	return marked.replace(/(<!-- examples: [a-z]+ -->)(?:\s*\1)+/g, "$1");
}
