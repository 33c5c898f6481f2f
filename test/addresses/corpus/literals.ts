// Addresses as they stand in a URL: the edges and neighbours of every reserved block, ordinary public ones, and IPv6 forms
// that carry an IPv4 address, each around addresses of the reserved blocks and around public ones.

import { CARRIER_PREFIXES, CARRIERS, hex, IPV4_BLOCKS, IPV6_BLOCKS } from "../../support/address-blocks.ts";
import { type Entry, forbidden, passes } from "./entry.ts";

/** Nothing special about them: they must pass. */
const PUBLIC = `
	1.1.1.1 8.8.8.8 9.9.9.9 17.253.144.10 93.184.215.14 101.0.0.1
	151.101.1.69 193.0.6.139 199.9.14.201 223.255.255.254
	2003::1 2400:cb00:2048:1::c629:d7a2 2606:4700:4700::1111 2001:4860:4860::8888
	2620:fe::fe 2a00:1450:400a:808::200e 2a01:4f8:0:1::add:9898 2c0f:fb50:4002:800::2004
`;

export function blockEntries(): Entry[] {
	const edges = [...IPV4_BLOCKS, ...IPV6_BLOCKS, ...CARRIER_PREFIXES].flatMap(({ cidr, what, addresses }) =>
		addresses.map(([address, verdict]) => ({
			what: `${address}, an edge or a neighbour of ${cidr} (${what})`,
			at: { host: inUrl(address) },
			expect: verdict === null ? passes(address) : forbidden(verdict),
			...reach(address),
		})),
	);
	const ordinary = PUBLIC.trim().split(/\s+/);
	return [
		...edges,
		...ordinary.map((address) => ({ what: "public", at: { host: inUrl(address) }, expect: passes(address) })),
	];
}

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

function inUrl(address: string): string {
	return address.includes(":") ? `[${address}]` : address;
}

/** What is this machine itself: a canary listens there. The unspecified address is dialled as loopback. */
function reach(address: string): Pick<Entry, "reaches"> {
	if (address.startsWith("127.")) return { reaches: address };
	if (address === "0.0.0.0") return { reaches: "127.0.0.1" };
	return address === "::" || address === "::1" ? { reaches: "::1" } : {};
}
