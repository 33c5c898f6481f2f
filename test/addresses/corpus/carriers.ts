// IPv6 forms that carry an IPv4 address, each around addresses of the reserved blocks and around public ones:
// the verdict is the one on the address inside.

import { block, type ReservedBlock } from "./block.ts";
import { type Entry, forbidden, passes } from "./entry.ts";

interface Carrier {
	form: string;
	spell(ipv4: string): string;
}

/** In the other place of the forms that have two. */
const OUTSIDER = "8.8.4.4";

export const CARRIERS: readonly Carrier[] = [
	{ form: "IPv4-mapped", spell: (ipv4) => `::ffff:${ipv4}` },
	{ form: "IPv4-mapped in hex", spell: (ipv4) => `::ffff:${hex(ipv4)}` },
	{ form: "IPv4-mapped in full", spell: (ipv4) => `0000:0000:0000:0000:0000:FFFF:${ipv4}` },
	{ form: "6to4", spell: (ipv4) => `2002:${hex(ipv4)}::` },
	{ form: "6to4 with a host", spell: (ipv4) => `2002:${hex(ipv4)}:1:2:3:4:5` },
	{ form: "Teredo client", spell: (ipv4) => `2001:0:${hex(OUTSIDER)}:8000:63bf:${hex(invert(ipv4))}` },
	{ form: "Teredo server", spell: (ipv4) => `2001:0:${hex(ipv4)}:8000:63bf:${hex(invert(OUTSIDER))}` },
	{ form: "NAT64", spell: (ipv4) => `64:ff9b::${ipv4}` },
	{ form: "NAT64 in hex", spell: (ipv4) => `64:ff9b::${hex(ipv4)}` },
	{ form: "ISATAP", spell: (ipv4) => `2a00:1450:1:2:0:5efe:${ipv4}` },
	{ form: "ISATAP, universal", spell: (ipv4) => `2a00:1450:1:2:200:5efe:${hex(ipv4)}` },
	{ form: "ISATAP in 6to4", spell: (ipv4) => `2002:${hex(OUTSIDER)}:1:0:5efe:${ipv4}` },
];

/** Both edges of the blocks that matter most to whoever wants in. */
const RESERVED_INSIDE = [
	...["0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255"],
	...["127.0.0.1", "127.255.255.255", "169.254.0.0", "169.254.169.254", "169.254.255.255"],
	...["172.16.0.0", "172.31.255.255", "192.0.0.0", "192.0.2.255", "192.88.99.1", "192.168.0.0"],
	...["192.168.255.255", "198.18.0.0", "203.0.113.255", "224.0.0.1", "255.255.255.255"],
];

/** Public, and next to a block. */
const PUBLIC_INSIDE = ["9.9.9.9", "11.0.0.0", "172.32.0.0", "223.255.255.255"];

export const CARRIER_ENTRIES: readonly Entry[] = CARRIERS.flatMap(({ form, spell }) => [
	...RESERVED_INSIDE.map((ipv4) => ({
		what: `${form} with ${ipv4} inside`,
		at: { host: `[${spell(ipv4)}]` },
		expect: forbidden(`carries ${ipv4}, which is in`),
		// The kernel takes a mapped address for the IPv4 address inside.
		...(ipv4.startsWith("127.") && form.startsWith("IPv4-mapped") ? { reaches: ipv4 } : {}),
	})),
	...PUBLIC_INSIDE.map((ipv4) => ({
		what: `${form} with the public ${ipv4} inside`,
		at: { host: `[${spell(ipv4)}]` },
		expect: passes(spell(ipv4)),
	})),
]);

/** The prefixes of the forms: beyond both edges, and the edges that no address above spells. */
export const CARRIER_PREFIXES: readonly ReservedBlock[] = [
	block("::ffff:0:0/96", "IPv4-mapped, RFC 4291", { "(::/0)": ["::fffe:ffff:ffff", "::1:0:0:0"] }),
	block("64:ff9b::/96", "translation (NAT64), RFC 6052", {
		"(::/0)": ["64:ff9a:ffff:ffff:ffff:ffff:ffff:ffff", "64:ff9b::1:0:0"],
		"carries 0.0.0.0,": ["64:ff9b::"],
	}),
	block("2001::/32", "Teredo, RFC 4380", {
		"carries 0.0.0.0,": ["2001::"],
		"carries 255.255.255.255,": ["2001:0:ffff:ffff:ffff:ffff:ffff:ffff"],
	}),
	block("2002::/16", "6to4, RFC 3056", {
		outside: ["2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::"],
		"carries 0.0.0.0,": ["2002::"],
		"carries 255.255.255.255,": ["2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
	}),
];

/** Forms that look like a carrier and are judged as what they are. */
export const NON_CARRIER_ENTRIES: readonly Entry[] = [
	...["8.8.8.8", "10.0.0.1", "127.0.0.1"].flatMap((ipv4) => [
		{
			what: `IPv4-compatible ${ipv4}: RFC 4291 deprecates the form, and nobody lives there`,
			at: { host: `[::${ipv4}]` },
			expect: forbidden("(::/96)"),
		},
		{
			what: `IPv4-translated ${ipv4} (RFC 2765): no global unicast`,
			at: { host: `[::ffff:0:${hex(ipv4)}]` },
			expect: forbidden("(::/0)"),
		},
		{
			what: `local NAT64 with ${ipv4}: only its own network knows where the address stands in it`,
			at: { host: `[64:ff9b:1::${ipv4}]` },
			expect: forbidden("(64:ff9b:1::/48)"),
		},
		{
			what: `ISATAP with ${ipv4} behind a link-local prefix`,
			at: { host: `[fe80::5efe:${ipv4}]` },
			expect: forbidden("(fe80::/10)"),
		},
	]),
	{
		what: "a public address with 127.0.0.1 in its last bytes, and no form that carries",
		at: { host: "[2a00:1450:1:2::7f00:1]" },
		expect: passes("2a00:1450:1:2::7f00:1"),
	},
];

function hex(ipv4: string): string {
	const [a = 0, b = 0, c = 0, d = 0] = ipv4.split(".").map(Number);
	return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}

function invert(ipv4: string): string {
	const bytes = ipv4.split(".").map((byte) => 255 - Number(byte));
	return bytes.join(".");
}
