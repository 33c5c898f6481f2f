// A name server that fails, says nothing, comes late, or sends messages that are broken, truncated or about
// something else.

import { failing, ipv4, type NameCase, NOTHING, nameEntries, overIpv4, PRIVATE } from "./answer.ts";
import { answerWith, type Entry, forbidden, passes, unresolvable } from "./entry.ts";

/** Below the second that the product waits for the other family, and beyond it. */
const A_LITTLE_LATE_MS = 200;
const TOO_LATE_MS = 2_500;

const PLAIN: readonly NameCase[] = [
	["a name that does not exist", failing("NXDOMAIN"), unresolvable("ENOTFOUND")],
	["a name without an address", overIpv4(NOTHING), unresolvable("ENODATA")],
	[
		"a server that says no name and gives an address",
		{ A: { failure: "NXDOMAIN", ...ipv4("10.9.8.7") }, AAAA: { failure: "NXDOMAIN" } },
		unresolvable("ENOTFOUND"),
	],
	[
		"a server that never answers",
		{ A: { isSilent: true }, AAAA: { isSilent: true } },
		unresolvable("ETIMEOUT"),
	],
	[
		"an IPv6 address that comes too late to be dialled",
		{ A: ipv4("93.184.217.32"), AAAA: { ...answerWith("fd00::4").AAAA, delayMs: TOO_LATE_MS } },
		passes("93.184.217.32"),
	],
	[
		"a private address in the additional section only",
		overIpv4({ answers: [], additional: [{ type: "A", data: "10.9.8.7" }] }),
		unresolvable("ENODATA"),
	],
	[
		"a public answer with a private address in the additional section",
		overIpv4({ ...ipv4("93.184.217.33"), additional: [{ type: "A", data: "10.9.8.7" }] }),
		passes("93.184.217.33"),
	],
	[
		"an IPv6 address in answer to a question for IPv4",
		overIpv4({ answers: [{ type: "AAAA", data: "fd00::6" }] }),
		unresolvable("ENODATA"),
	],
];

/** A resolver asks these again, or waits for the rest: what a stalled machine misses ends as a timeout. */
const TIMED: readonly NameCase[] = [
	["a server that fails", failing("SERVFAIL"), unresolvable("ESERVFAIL")],
	["a server that refuses", failing("REFUSED"), unresolvable("EREFUSED")],
	[
		"a server that fails for IPv4, private over IPv6",
		{ A: { failure: "SERVFAIL" }, AAAA: answerWith("fd00::2").AAAA },
		forbidden("(fc00::/7)"),
	],
	[
		"a server that fails for IPv6, private over IPv4",
		{ A: ipv4("10.9.8.7"), AAAA: { failure: "SERVFAIL" } },
		PRIVATE,
	],
	[
		"a server that fails for IPv6, public over IPv4",
		{ A: ipv4("93.184.217.30"), AAAA: { failure: "SERVFAIL" } },
		passes("93.184.217.30"),
	],
	[
		"a message that ends in the middle of an address",
		overIpv4({ ...ipv4("10.9.8.7"), cutBytes: 2 }),
		unresolvable("EBADRESP"),
	],
	[
		"a truncated public answer, private in full",
		overIpv4({ ...ipv4("93.184.217.34", "10.9.8.7"), overUdp: ipv4("93.184.217.34").answers ?? [] }),
		PRIVATE,
	],
	[
		"a truncated private answer, public in full",
		overIpv4({ ...ipv4("93.184.217.35"), overUdp: ipv4("10.9.8.7").answers ?? [] }),
		passes("93.184.217.35"),
	],
	["a truncated answer of nothing, private in full", overIpv4({ ...ipv4("10.9.8.7"), overUdp: [] }), PRIVATE],
	[
		"a private IPv6 address that comes a little late",
		{ A: ipv4("93.184.217.31"), AAAA: { ...answerWith("fd00::3").AAAA, delayMs: A_LITTLE_LATE_MS } },
		forbidden("(fc00::/7)"),
	],
	[
		"a private IPv4 address that comes a little late",
		{ A: { ...ipv4("10.9.8.7"), delayMs: A_LITTLE_LATE_MS }, AAAA: answerWith("2a00:1450:7::3").AAAA },
		PRIVATE,
	],
];

export const BROKEN_ENTRIES: readonly Entry[] = [
	...nameEntries("broken", PLAIN),
	...nameEntries("timed", TIMED).map((entry) => ({ ...entry, isTimed: true })),
	{ what: "a name nobody knows", at: { host: "nowhere.names.example" }, expect: unresolvable("ENOTFOUND") },
];
