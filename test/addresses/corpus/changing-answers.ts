// Names that stand for something else when they are delivered to than when they were saved.

import { chain, failing, overIpv4, PRIVATE } from "./answer.ts";
import {
	type Answers,
	answerWith,
	type Entry,
	type Expectation,
	forbidden,
	passes,
	unresolvable,
} from "./entry.ts";

/** What a name stands for at one time, and the verdict on it. */
type Stand = readonly [answers: Answers, expect: Expectation];

const INSIDE: Stand = [answerWith("10.9.8.7"), PRIVATE];
const GONE: Stand = [failing("NXDOMAIN"), unresolvable("ENOTFOUND")];

function publicly(address: string): Stand {
	return [answerWith(address), passes(address)];
}

function forbiddenAs(because: string, ...addresses: readonly string[]): Stand {
	return [answerWith(...addresses), forbidden(because)];
}

const CHANGES: readonly (readonly [what: string, atSave: Stand, later: Stand])[] = [
	["public, then private", publicly("93.184.218.1"), INSIDE],
	["private, then public", INSIDE, publicly("93.184.218.2")],
	["public, then this machine", publicly("93.184.218.3"), forbiddenAs("(127.0.0.0/8)", "127.0.0.1")],
	["public, then this machine over IPv6", publicly("93.184.218.4"), forbiddenAs("(::1/128)", "::1")],
	[
		"public, then one private address more",
		publicly("93.184.218.5"),
		[answerWith("93.184.218.5", "10.9.8.7"), PRIVATE],
	],
	[
		"public, then a private IPv6 address more",
		publicly("93.184.218.6"),
		forbiddenAs("(fe80::/10)", "93.184.218.6", "fe80::1"),
	],
	[
		"public, then an alias of a private name",
		publicly("93.184.218.7"),
		[overIpv4(chain(3, "10.9.8.7")), PRIVATE],
	],
	[
		"public, then cloud metadata",
		publicly("93.184.218.8"),
		forbiddenAs("(169.254.0.0/16)", "169.254.169.254"),
	],
	["public, then gone", publicly("93.184.218.9"), GONE],
	["gone, then private", GONE, INSIDE],
	["public, then another public address", publicly("93.184.218.10"), publicly("93.184.218.11")],
	["public, then unspecified", publicly("93.184.218.12"), forbiddenAs("(0.0.0.0/8)", "0.0.0.0")],
];

export const CHANGING_ENTRIES: readonly Entry[] = CHANGES.map(
	([what, [answers, expect], [laterAnswers, laterExpect]], index) => ({
		what: `a name that changes: ${what}`,
		at: { host: `change-${index}.names.example` },
		answers,
		expect,
		later: { answers: laterAnswers, expect: laterExpect },
		reaches: "127.0.0.1",
	}),
);
