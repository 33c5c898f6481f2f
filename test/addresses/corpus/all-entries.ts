// The whole corpus: every family of entries, and every address of the blocks once more as the answer of a name
// server.

import { entriesOf } from "./block.ts";
import { BROKEN_ENTRIES } from "./broken-answers.ts";
import { CARRIER_ENTRIES, CARRIER_PREFIXES, NON_CARRIER_ENTRIES } from "./carriers.ts";
import { CHANGING_ENTRIES } from "./changing-answers.ts";
import { answerWith, type Entry, passes } from "./entry.ts";
import { HOST_NOTATION_ENTRIES } from "./host-notations.ts";
import { IPV4_BLOCKS, PUBLIC_IPV4 } from "./ipv4-blocks.ts";
import { IPV6_BLOCKS, PUBLIC_IPV6 } from "./ipv6-blocks.ts";
import { MIXED_ENTRIES } from "./mixed-answers.ts";
import { URL_FORM_ENTRIES } from "./url-forms.ts";

export function allEntries(): Entry[] {
	const literals: Entry[] = [
		...entriesOf(IPV4_BLOCKS),
		...entriesOf(IPV6_BLOCKS),
		...entriesOf(CARRIER_PREFIXES),
		...PUBLIC_IPV4.map((address) => ({ what: "public", at: { host: address }, expect: passes(address) })),
		...PUBLIC_IPV6.map((address) => ({
			what: "public",
			at: { host: `[${address}]` },
			expect: passes(address),
		})),
		...CARRIER_ENTRIES,
		...NON_CARRIER_ENTRIES,
	];
	return [
		// First, because some of them take seconds: everything else is done meanwhile.
		...BROKEN_ENTRIES,
		...MIXED_ENTRIES,
		...CHANGING_ENTRIES,
		...literals,
		...literals.flatMap(asName),
		...HOST_NOTATION_ENTRIES,
		...URL_FORM_ENTRIES,
	];
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
