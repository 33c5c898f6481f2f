// Names that stand for something else when they are delivered to than when they were saved.

import { chain, NOTHING, PRIVATE } from "./answer.ts";
import {
	type Answers,
	answerWith,
	type Entry,
	type Expectation,
	forbidden,
	passes,
	unresolvable,
} from "./entry.ts";

type Change = readonly [
	what: string,
	atSave: Answers,
	onSave: Expectation,
	later: Answers,
	onDelivery: Expectation,
];

const CHANGES: readonly Change[] = [
	[
		"public, then private",
		answerWith("93.184.218.1"),
		passes("93.184.218.1"),
		answerWith("10.9.8.7"),
		PRIVATE,
	],
	[
		"private, then public",
		answerWith("10.9.8.7"),
		PRIVATE,
		answerWith("93.184.218.2"),
		passes("93.184.218.2"),
	],
	[
		"public, then this machine",
		answerWith("93.184.218.3"),
		passes("93.184.218.3"),
		answerWith("127.0.0.1"),
		forbidden("(127.0.0.0/8)"),
	],
	[
		"public, then this machine over IPv6",
		answerWith("93.184.218.4"),
		passes("93.184.218.4"),
		answerWith("::1"),
		forbidden("(::1/128)"),
	],
	[
		"public, then one private address more",
		answerWith("93.184.218.5"),
		passes("93.184.218.5"),
		answerWith("93.184.218.5", "10.9.8.7"),
		PRIVATE,
	],
	[
		"public, then a private IPv6 address more",
		answerWith("93.184.218.6"),
		passes("93.184.218.6"),
		answerWith("93.184.218.6", "fe80::1"),
		forbidden("(fe80::/10)"),
	],
	[
		"public, then an alias of a private name",
		answerWith("93.184.218.7"),
		passes("93.184.218.7"),
		{ A: chain(3, "10.9.8.7"), AAAA: NOTHING },
		PRIVATE,
	],
	[
		"public, then cloud metadata",
		answerWith("93.184.218.8"),
		passes("93.184.218.8"),
		answerWith("169.254.169.254"),
		forbidden("(169.254.0.0/16)"),
	],
	[
		"public, then gone",
		answerWith("93.184.218.9"),
		passes("93.184.218.9"),
		{ A: { failure: "NXDOMAIN" }, AAAA: { failure: "NXDOMAIN" } },
		unresolvable("ENOTFOUND"),
	],
	[
		"gone, then private",
		{ A: { failure: "NXDOMAIN" }, AAAA: { failure: "NXDOMAIN" } },
		unresolvable("ENOTFOUND"),
		answerWith("10.9.8.7"),
		PRIVATE,
	],
	[
		"public, then another public address",
		answerWith("93.184.218.10"),
		passes("93.184.218.10"),
		answerWith("93.184.218.11"),
		passes("93.184.218.11"),
	],
	[
		"public, then unspecified",
		answerWith("93.184.218.12"),
		passes("93.184.218.12"),
		answerWith("0.0.0.0"),
		forbidden("(0.0.0.0/8)"),
	],
];

export const CHANGING_ENTRIES: readonly Entry[] = CHANGES.map(
	([what, answers, expect, later, expectLater], index) => ({
		what: `a name that changes: ${what}`,
		at: { host: `change-${index}.names.example` },
		answers,
		expect,
		later: { answers: later, expect: expectLater },
		reaches: "127.0.0.1",
	}),
);
