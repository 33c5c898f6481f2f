// Names that stand for several addresses, good and bad together, and names that are aliases of others: one bad
// address refuses them all, wherever in the answer it stands.

import type { Reply } from "../../support/dns-message.ts";
import { chain, ipv4, type NameCase, nameEntries, overIpv4, PRIVATE } from "./answer.ts";
import { answerWith, type Entry, forbidden, passes, unresolvable } from "./entry.ts";

const MIXED: readonly NameCase[] = [
	["one private address", answerWith("10.9.8.7"), PRIVATE],
	["a private address behind a public one", answerWith("93.184.217.1", "10.9.8.7"), PRIVATE],
	["a private address before a public one", answerWith("10.9.8.7", "93.184.217.2"), PRIVATE],
	["a private address between public ones", answerWith("93.184.217.3", "10.9.8.7", "93.184.217.4"), PRIVATE],
	["the same private address three times", answerWith("10.9.8.7", "10.9.8.7", "10.9.8.7"), PRIVATE],
	[
		"a public IPv4 and a private IPv6 address",
		answerWith("93.184.217.5", "fd00::5"),
		forbidden("(fc00::/7)"),
	],
	["a private IPv4 and a public IPv6 address", answerWith("10.9.8.7", "2a00:1450:7::1"), PRIVATE],
	[
		"a public IPv4 and a mapped private address",
		answerWith("93.184.217.6", "::ffff:a09:807"),
		forbidden("carries 10.9.8.7,"),
	],
	[
		"a public IPv4 and a NAT64 metadata address",
		answerWith("93.184.217.7", "64:ff9b::a9fe:a9fe"),
		forbidden("carries 169.254.169.254,"),
	],
	[
		"public addresses of both families",
		answerWith("93.184.217.8", "2a00:1450:7::2"),
		passes("93.184.217.8", "2a00:1450:7::2"),
	],
	[
		"three public addresses",
		answerWith("93.184.217.9", "93.184.217.10", "93.184.217.11"),
		passes("93.184.217.9", "93.184.217.10", "93.184.217.11"),
	],
	["a private address as the 64th", overIpv4(many(64, "10.9.8.7")), PRIVATE],
	["65 addresses, all public", overIpv4(many(65, "93.185.1.1")), unresolvable("TOO_MANY_ADDRESSES")],
	["65 addresses, the last one private", overIpv4(many(65, "10.9.8.7")), unresolvable("TOO_MANY_ADDRESSES")],
	["a record that lives for no time", overIpv4({ ...ipv4("10.9.8.7"), ttlSeconds: 0 }), PRIVATE],
	[
		"a public record that lives for no time",
		overIpv4({ ...ipv4("93.184.217.12"), ttlSeconds: 0 }),
		passes("93.184.217.12"),
	],
	["a record that lives for 68 years", overIpv4({ ...ipv4("10.9.8.7"), ttlSeconds: 2_147_483_647 }), PRIVATE],
];

const ALIASES: readonly NameCase[] = [
	["an alias of a private name", overIpv4(chain(1, "10.9.8.7")), PRIVATE],
	["eight aliases to a private name", overIpv4(chain(8, "10.9.8.7")), PRIVATE],
	["fifteen aliases to a private name", overIpv4(chain(15, "10.9.8.7")), PRIVATE],
	["an alias of a public and a private address", overIpv4(chain(1, "93.184.217.20", "10.9.8.7")), PRIVATE],
	["an alias of a public name", overIpv4(chain(1, "93.184.217.21")), passes("93.184.217.21")],
	["eight aliases to a public name", overIpv4(chain(8, "93.184.217.22")), passes("93.184.217.22")],
	["an alias that leads nowhere", { A: chain(1), AAAA: chain(1) }, unresolvable("ENODATA")],
	[
		"an alias of itself",
		overIpv4({ answers: [{ type: "CNAME", data: "loop.alias.example" }] }),
		unresolvable("ENODATA"),
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
		unresolvable("ENODATA"),
	],
	[
		"an alias of localhost with its address",
		overIpv4({
			answers: [
				{ type: "CNAME", data: "localhost" },
				{ owner: "localhost", type: "A", data: "127.0.0.1" },
			],
		}),
		forbidden("(127.0.0.0/8)"),
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
		forbidden("(fc00::/7)"),
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

export const MIXED_ENTRIES: readonly Entry[] = [
	...nameEntries("mixed", MIXED),
	...nameEntries("alias", ALIASES),
	{
		what: "a name of one label that is a machine of the house",
		at: { host: "intranet" },
		answers: answerWith("192.168.1.1"),
		expect: forbidden("(192.168.0.0/16)"),
	},
	{
		what: "a name of the hosts file, which is not read",
		at: { host: "ip6-localhost" },
		expect: unresolvable("ENOTFOUND"),
	},
	{
		what: "a name with an address in it that means nothing",
		at: { host: "127.0.0.1.nip.example" },
		answers: answerWith("127.0.0.1"),
		expect: forbidden("(127.0.0.0/8)"),
		reaches: "127.0.0.1",
	},
];

function many(count: number, last: string): Reply {
	const first = Array.from({ length: count - 1 }, (_, index) => `93.185.0.${index + 1}`);
	return { answers: [...first, last].map((data) => ({ type: "A", data })) };
}
