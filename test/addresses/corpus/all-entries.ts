// The whole corpus: every family of entries, and every address of the blocks once more as the answer of a name
// server.

import { answerWith, type Entry } from "./entry.ts";
import { blockEntries, CARRIER_ENTRIES, NON_CARRIER_ENTRIES } from "./literals.ts";
import { NAME_ENTRIES } from "./names.ts";
import { SPELLING_ENTRIES } from "./spellings.ts";

export function allEntries(): Entry[] {
	const literals = [...blockEntries(), ...CARRIER_ENTRIES, ...NON_CARRIER_ENTRIES];
	return [...NAME_ENTRIES, ...literals, ...literals.flatMap(asName), ...SPELLING_ENTRIES];
}

function asName(entry: Entry, index: number): Entry[] {
	if (!("host" in entry.at)) return [];
	const address = entry.at.host.replace(/^\[|\]$/g, "");
	return [
		{
			...entry,
			what: `a name that stands for ${address}: ${entry.what}`,
			at: { host: `literal-${index}.names.example` },
			answers: answerWith(address),
		},
	];
}
