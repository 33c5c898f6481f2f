// Names, by what a name server says of them: several addresses, good and bad together; aliases; a server that fails, says
// nothing, comes late or sends messages that are broken, truncated or about something else; and answers that change
// between saving and sending. One bad address refuses them all, wherever in the answer it stands.

import type { Reply, ResourceRecord } from "../support/dns-message.ts";
import { type Answers, answerWith, type Entry } from "./judge-entries.ts";

/** What the name has, its answers, and what must come of it. */
type NameCase = readonly [what: string, answers: Answers, expect: string];

/** The name is there and has no such record. */
const NOTHING: Reply = { answers: [] };
const PRIVATE = "forbids 10.9.8.7 is not public";

/** Below the second that the product waits for the other family, and beyond it. */
const A_LITTLE_LATE_MS = 200;
const TOO_LATE_MS = 2_500;

const PLAIN: readonly NameCase[] = [
	["a name that does not exist", failing("NXDOMAIN"), "fails ENOTFOUND"],
	["a name without an address", overIpv4(NOTHING), "fails ENODATA"],
	[
		"a server that says no name and gives an address",
		{ A: { failure: "NXDOMAIN", ...ipv4("10.9.8.7") }, AAAA: { failure: "NXDOMAIN" } },
		"fails ENOTFOUND",
	],
	["a server that never answers", { A: { isSilent: true }, AAAA: { isSilent: true } }, "fails ETIMEOUT"],
	[
		"an IPv6 address that comes too late to be dialled",
		{ A: ipv4("93.184.217.32"), AAAA: { ...answerWith("fd00::4").AAAA, delayMs: TOO_LATE_MS } },
		"dials 93.184.217.32",
	],
	[
		"a private address in the additional section only",
		overIpv4({ answers: [], additional: [{ type: "A", data: "10.9.8.7" }] }),
		"fails ENODATA",
	],
	[
		"a public answer with a private address in the additional section",
		overIpv4({ ...ipv4("93.184.217.33"), additional: [{ type: "A", data: "10.9.8.7" }] }),
		"dials 93.184.217.33",
	],
	[
		"an IPv6 address in answer to a question for IPv4",
		overIpv4({ answers: [{ type: "AAAA", data: "fd00::6" }] }),
		"fails ENODATA",
	],
];

/** A resolver asks these again, or waits for the rest: what a stalled machine misses ends as a timeout. */
const TIMED: readonly NameCase[] = [
	["a server that fails", failing("SERVFAIL"), "fails ESERVFAIL"],
	["a server that refuses", failing("REFUSED"), "fails EREFUSED"],
	[
		"a server that fails for IPv4, private over IPv6",
		{ A: { failure: "SERVFAIL" }, AAAA: answerWith("fd00::2").AAAA },
		"forbids is not public",
	],
	[
		"a server that fails for IPv6, private over IPv4",
		{ A: ipv4("10.9.8.7"), AAAA: { failure: "SERVFAIL" } },
		PRIVATE,
	],
	[
		"a server that fails for IPv6, public over IPv4",
		{ A: ipv4("93.184.217.30"), AAAA: { failure: "SERVFAIL" } },
		"dials 93.184.217.30",
	],
	[
		"a message that ends in the middle of an address",
		overIpv4({ ...ipv4("10.9.8.7"), cutBytes: 2 }),
		"fails EBADRESP",
	],
	[
		"a truncated public answer, private in full",
		overIpv4({ ...ipv4("93.184.217.34", "10.9.8.7"), overUdp: ipv4("93.184.217.34").answers ?? [] }),
		PRIVATE,
	],
	[
		"a truncated private answer, public in full",
		overIpv4({ ...ipv4("93.184.217.35"), overUdp: ipv4("10.9.8.7").answers ?? [] }),
		"dials 93.184.217.35",
	],
	["a truncated answer of nothing, private in full", overIpv4({ ...ipv4("10.9.8.7"), overUdp: [] }), PRIVATE],
	[
		"a private IPv6 address that comes a little late",
		{ A: ipv4("93.184.217.31"), AAAA: { ...answerWith("fd00::3").AAAA, delayMs: A_LITTLE_LATE_MS } },
		"forbids is not public",
	],
	[
		"a private IPv4 address that comes a little late",
		{ A: { ...ipv4("10.9.8.7"), delayMs: A_LITTLE_LATE_MS }, AAAA: answerWith("2a00:1450:7::3").AAAA },
		PRIVATE,
	],
];

const BROKEN_ENTRIES: readonly Entry[] = [
	...nameEntries("broken", PLAIN),
	...nameEntries("timed", TIMED).map((entry) => ({ ...entry, isTimed: true })),
	{ what: "a name nobody knows", at: "nowhere.names.example", expect: "fails ENOTFOUND" },
];

const MIXED: readonly NameCase[] = [
	["one private address", answerWith("10.9.8.7"), PRIVATE],
	["a private address behind a public one", answerWith("93.184.217.1", "10.9.8.7"), PRIVATE],
	["a private address before a public one", answerWith("10.9.8.7", "93.184.217.2"), PRIVATE],
	["a private address between public ones", answerWith("93.184.217.3", "10.9.8.7", "93.184.217.4"), PRIVATE],
	["the same private address three times", answerWith("10.9.8.7", "10.9.8.7", "10.9.8.7"), PRIVATE],
	[
		"a public IPv4 and a private IPv6 address",
		answerWith("93.184.217.5", "fd00::5"),
		"forbids is not public",
	],
	["a private IPv4 and a public IPv6 address", answerWith("10.9.8.7", "2a00:1450:7::1"), PRIVATE],
	[
		"a public IPv4 and a mapped private address",
		answerWith("93.184.217.6", "::ffff:a09:807"),
		"forbids carries 10.9.8.7,",
	],
	[
		"a public IPv4 and a NAT64 metadata address",
		answerWith("93.184.217.7", "64:ff9b::a9fe:a9fe"),
		"forbids carries 169.254.169.254,",
	],
	[
		"public addresses of both families",
		answerWith("93.184.217.8", "2a00:1450:7::2"),
		"dials 93.184.217.8 2a00:1450:7::2",
	],
	[
		"three public addresses",
		answerWith("93.184.217.9", "93.184.217.10", "93.184.217.11"),
		"dials 93.184.217.9 93.184.217.10 93.184.217.11",
	],
	["a private address as the 64th", overIpv4(many(64, "10.9.8.7")), PRIVATE],
	["65 addresses, all public", overIpv4(many(65, "93.185.1.1")), "fails TOO_MANY_ADDRESSES"],
	["65 addresses, the last one private", overIpv4(many(65, "10.9.8.7")), "fails TOO_MANY_ADDRESSES"],
	["a record that lives for no time", overIpv4({ ...ipv4("10.9.8.7"), ttlSeconds: 0 }), PRIVATE],
	[
		"a public record that lives for no time",
		overIpv4({ ...ipv4("93.184.217.12"), ttlSeconds: 0 }),
		"dials 93.184.217.12",
	],
	["a record that lives for 68 years", overIpv4({ ...ipv4("10.9.8.7"), ttlSeconds: 2_147_483_647 }), PRIVATE],
];

const ALIASES: readonly NameCase[] = [
	["an alias of a private name", overIpv4(chain(1, "10.9.8.7")), PRIVATE],
	["eight aliases to a private name", overIpv4(chain(8, "10.9.8.7")), PRIVATE],
	["fifteen aliases to a private name", overIpv4(chain(15, "10.9.8.7")), PRIVATE],
	["an alias of a public and a private address", overIpv4(chain(1, "93.184.217.20", "10.9.8.7")), PRIVATE],
	["an alias of a public name", overIpv4(chain(1, "93.184.217.21")), "dials 93.184.217.21"],
	["eight aliases to a public name", overIpv4(chain(8, "93.184.217.22")), "dials 93.184.217.22"],
	["an alias that leads nowhere", { A: chain(1), AAAA: chain(1) }, "fails ENODATA"],
	[
		"an alias of itself",
		overIpv4({ answers: [{ type: "CNAME", data: "loop.alias.example" }] }),
		"fails ENODATA",
	],
	[
		"two aliases of each other",
		overIpv4({
			answers: [
				{ type: "CNAME", data: "one.alias.example" },
				{ owner: "one.alias.example", type: "CNAME", data: "two.alias.example" },
				{ owner: "two.alias.example", type: "CNAME", data: "one.alias.example" },
			],
		}),
		"fails ENODATA",
	],
	[
		"an alias of localhost with its address",
		overIpv4({
			answers: [
				{ type: "CNAME", data: "localhost" },
				{ owner: "localhost", type: "A", data: "127.0.0.1" },
			],
		}),
		"forbids is not public",
	],
	[
		"a public alias over IPv4 and a private one over IPv6",
		{
			A: chain(1, "93.184.217.23"),
			AAAA: {
				answers: [
					{ type: "CNAME", data: "inside.alias.example" },
					{ owner: "inside.alias.example", type: "AAAA", data: "fd00::1" },
				],
			},
		},
		"forbids is not public",
	],
	[
		"a private address under a name nobody asked for",
		overIpv4({
			answers: [
				{ type: "A", data: "93.184.217.24" },
				{ owner: "stranger.example", type: "A", data: "10.9.8.7" },
			],
		}),
		PRIVATE,
	],
];

const MIXED_ENTRIES: readonly Entry[] = [
	...nameEntries("mixed", MIXED),
	...nameEntries("alias", ALIASES),
	{
		what: "a name of one label that is a machine of the house",
		at: "intranet",
		answers: answerWith("192.168.1.1"),
		expect: "forbids is not public",
	},
	{
		what: "a name of the hosts file, which is not read",
		at: "ip6-localhost",
		expect: "fails ENOTFOUND",
	},
	{
		what: "a name with an address in it that means nothing",
		at: "127.0.0.1.nip.example",
		answers: answerWith("127.0.0.1"),
		expect: "forbids is not public",
	},
];

/** What a name stands for at one time, and the verdict on it. */
type Stand = readonly [answers: Answers, expect: string];

const INSIDE: Stand = [answerWith("10.9.8.7"), PRIVATE];
const GONE: Stand = [failing("NXDOMAIN"), "fails ENOTFOUND"];

const CHANGES: readonly (readonly [what: string, atSave: Stand, later: Stand])[] = [
	["public, then private", publicly("93.184.218.1"), INSIDE],
	["private, then public", INSIDE, publicly("93.184.218.2")],
	["public, then this machine", publicly("93.184.218.3"), forbiddenAs("is not public", "127.0.0.1")],
	["public, then this machine over IPv6", publicly("93.184.218.4"), forbiddenAs("is not public", "::1")],
	[
		"public, then one private address more",
		publicly("93.184.218.5"),
		[answerWith("93.184.218.5", "10.9.8.7"), PRIVATE],
	],
	[
		"public, then a private IPv6 address more",
		publicly("93.184.218.6"),
		forbiddenAs("is not public", "93.184.218.6", "fe80::1"),
	],
	[
		"public, then an alias of a private name",
		publicly("93.184.218.7"),
		[overIpv4(chain(3, "10.9.8.7")), PRIVATE],
	],
	["public, then cloud metadata", publicly("93.184.218.8"), forbiddenAs("is not public", "169.254.169.254")],
	["public, then gone", publicly("93.184.218.9"), GONE],
	["gone, then private", GONE, INSIDE],
	["public, then another public address", publicly("93.184.218.10"), publicly("93.184.218.11")],
	["public, then unspecified", publicly("93.184.218.12"), forbiddenAs("is not public", "0.0.0.0")],
];

const CHANGING_ENTRIES: readonly Entry[] = CHANGES.map(
	([what, [answers, expect], [laterAnswers, laterExpect]], index) => ({
		what: `a name that changes: ${what}`,
		at: `change-${index}.names.example`,
		answers,
		expect,
		later: { answers: laterAnswers, expect: laterExpect },
	}),
);

/** Broken ones first, because some of them take seconds: everything else is done meanwhile. */
export const NAME_ENTRIES: readonly Entry[] = [...BROKEN_ENTRIES, ...MIXED_ENTRIES, ...CHANGING_ENTRIES];

function ipv4(...addresses: readonly string[]): Reply {
	return answerWith(...addresses).A;
}

/** Nothing over IPv6. */
function overIpv4(reply: Reply): Answers {
	return { A: reply, AAAA: NOTHING };
}

/** Over both families. */
function failing(failure: NonNullable<Reply["failure"]>): Answers {
	return { A: { failure }, AAAA: { failure } };
}

/** Each aliased to the next, and what the last one stands for, in one message as resolvers send it. */
function chain(length: number, ...addresses: readonly string[]): Reply {
	const links = Array.from({ length }, (_, index): ResourceRecord => {
		const owner = index === 0 ? {} : { owner: `link-${index}.alias.example` };
		return { ...owner, type: "CNAME", data: `link-${index + 1}.alias.example` };
	});
	const ends = addresses.map(
		(data): ResourceRecord => ({ owner: `link-${length}.alias.example`, type: "A", data }),
	);
	return { answers: [...links, ...ends] };
}

/** Each under a name of its own. */
function nameEntries(family: string, cases: readonly NameCase[]): Entry[] {
	return cases.map(([what, answers, expect], index) => ({
		what: `a name with ${what}`,
		at: `${family}-${index}.names.example`,
		answers,
		expect,
	}));
}

function many(count: number, last: string): Reply {
	const first = Array.from({ length: count - 1 }, (_, index) => `93.185.0.${index + 1}`);
	return { answers: [...first, last].map((data) => ({ type: "A", data })) };
}

function publicly(address: string): Stand {
	return [answerWith(address), `dials ${address}`];
}

function forbiddenAs(because: string, ...addresses: readonly string[]): Stand {
	return [answerWith(...addresses), `forbids ${because}`];
}
