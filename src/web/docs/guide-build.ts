// What `npm run docs` writes into the guide: everything that the code or examples/ decides, each between two
// comments, so that the rest is written by hand and none of this can be.

import { writeExamples } from "./guide-examples.ts";
import { writeSampleCanonical, writeSampleRequest } from "./guide-request.ts";
import { answersTable, retryCalendar } from "./guide-tables.ts";

const PARTS: ReadonlyMap<string, () => string> = new Map([
	["answers", answersTable],
	["retry-calendar", retryCalendar],
	["sample-request", writeSampleRequest],
	["sample-canonical", writeSampleCanonical],
]);

const REGION = /<!-- generated: ([a-z-]+) -->\n.*?<!-- \/generated -->/gs;

export function buildGuide(guide: string): string {
	const filled = guide.replace(REGION, (_, name: string) => {
		const write = PARTS.get(name);
		if (write === undefined) throw new Error(`nothing writes the part ${name}`);
		return `<!-- generated: ${name} -->\n${write()}\n<!-- /generated -->`;
	});
	return writeExamples(filled);
}
