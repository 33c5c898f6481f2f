// The corpus of addresses. It has addresses in a URL (edges and neighbours of every reserved block, and IPv6
// addresses that carry an IPv4 address), the same addresses as answers of a name server, other spellings of a
// host, names with unusual answers of a name server, and names that change between saving and sending. It is
// written independently of the policy that it tests. URLs that are refused for their form alone are in
// src/core/domain/postback-url.test.ts.

import { CARRIER_PREFIXES, CARRIERS, hex, IPV4_BLOCKS, IPV6_BLOCKS } from "../support/address-blocks.ts";
import { answerWith, type Entry } from "./judge-entries.ts";
import { NAME_ENTRIES } from "./names.ts";

/** Ordinary public addresses, which must be accepted. */
const PUBLIC = `
	1.1.1.1 8.8.8.8 9.9.9.9 17.253.144.10 93.184.215.14 101.0.0.1
	151.101.1.69 193.0.6.139 199.9.14.201 223.255.255.254
	2003::1 2400:cb00:2048:1::c629:d7a2 2606:4700:4700::1111 2001:4860:4860::8888
	2620:fe::fe 2a00:1450:400a:808::200e 2a01:4f8:0:1::add:9898 2c0f:fb50:4002:800::2004
`;

/**
 * Addresses in the reserved IPv4 blocks that attackers want most, mostly the edges of a block. They are
 * tested inside of IPv6 addresses.
 */
const RESERVED_INSIDE = `
	0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.1 127.255.255.255
	169.254.0.0 169.254.169.254 169.254.255.255 172.16.0.0 172.31.255.255 192.0.0.0 192.0.2.255 192.88.99.1
	192.168.0.0 192.168.255.255 198.18.0.0 203.0.113.255 224.0.0.1 255.255.255.255
`;

/** Public IPv4 addresses next to a reserved block. They are tested inside of IPv6 addresses. */
const PUBLIC_INSIDE = "9.9.9.9 11.0.0.0 172.32.0.0 223.255.255.255";

/** An address, the verdict that is expected, and a description. */
type Literal = readonly [address: string, expect: string, what: string];

const CARRIED: readonly Literal[] = CARRIERS.flatMap(({ form, spell }) => [
	...words(RESERVED_INSIDE).map(
		(ipv4): Literal => [
			spell(ipv4),
			`forbids carries ${ipv4}, which is not public`,
			`${form} with ${ipv4} inside`,
		],
	),
	...words(PUBLIC_INSIDE).map(
		(ipv4): Literal => [spell(ipv4), `dials ${spell(ipv4)}`, `${form} with the public ${ipv4} inside`],
	),
]);

const LITERALS: readonly Literal[] = [
	...[...IPV4_BLOCKS, ...IPV6_BLOCKS, ...CARRIER_PREFIXES].flatMap(({ cidr, what, addresses }) =>
		addresses.map(
			([address, verdict]): Literal => [
				address,
				verdict === null ? `dials ${address}` : `forbids ${verdict}`,
				`an edge or a neighbour of ${cidr} (${what})`,
			],
		),
	),
	...words(PUBLIC).map((address): Literal => [address, `dials ${address}`, "public"]),
	...CARRIED,
	// These forms look as if an IPv4 address was carried in an IPv6 address, but they are judged as plain IPv6
	// addresses.
	...["8.8.8.8", "10.0.0.1", "127.0.0.1"].flatMap((ipv4): Literal[] => [
		[
			`::${ipv4}`,
			"forbids is not public",
			"IPv4-compatible: RFC 4291 deprecates the form, and nobody lives there",
		],
		[`::ffff:0:${hex(ipv4)}`, "forbids is not public", "IPv4-translated (RFC 2765): no global unicast"],
		[`64:ff9b:1::${ipv4}`, "forbids is not public", "local NAT64: only its own network knows what it means"],
		[`fe80::5efe:${ipv4}`, "forbids is not public", "ISATAP behind a link-local prefix"],
	]),
	[
		"2a00:1450:1:2::7f00:1",
		"dials 2a00:1450:1:2::7f00:1",
		"127.0.0.1 in its last bytes, in no form that carries",
	],
];

/**
 * Other spellings of addresses that are not public, grouped by their reserved block. They are in octal or
 * hexadecimal, integers, shortened, in other digits and dots, or percent-encoded.
 */
const NOTATIONS: Readonly<Record<string, readonly string[]>> = {
	"(127.0.0.0/8)": [
		...["0177.0.0.1", "0177.0.0.01", "00177.0.0.1", "0177.0000.0000.0001", "017700000001"],
		...["0x7f.0.0.1", "0X7F.0.0.1", "0x7f.0x0.0x0.0x1", "0x7f.1", "0x7f000001", "0x000000007f000001"],
		...["2130706433", "127.1", "127.0.1", "127.0x1", "127.00.0x0.01", "１２７.0.0.1", "①②⑦.0.0.1"],
		...["𝟭𝟮𝟳.𝟬.𝟬.𝟭", "127。0。0。1", "127．0．0．1", "127｡0｡0｡1", "127.0.0.1。", "127.0.0.1\u00ad"],
		...["127.\u200b0.0.1", "%31%32%37.0.0.1", "127%2e0%2e0%2e1", "0x7F。1"],
	],
	// URL parsers read `0x` without a following digit as zero.
	"(0.0.0.0/8)": ["0", "0x0", "00.0", "0x"],
	"(10.0.0.0/8)": ["012.0.0.1", "0xa.1", "167772161", "10.1"],
	"(169.254.0.0/16)": [
		...["0xa9fea9fe", "2852039166", "025177524776", "0251.0376.0251.0376", "0xa9.254.0251.254"],
		...["169.16689662", "169.254.43518"],
	],
	"(192.168.0.0/16)": ["192.168.1", "0300.0250.0.1", "3232235521"],
	"(172.16.0.0/12)": ["0xac100001"],
	"(100.64.0.0/10)": ["1681915905"],
	"(255.255.255.255/32)": ["4294967295", "0xffffffff"],
	"(224.0.0.0/4)": ["0xe0000001"],
	"(::1/128)": [
		...["[0:0:0:0:0:0:0:1]", "[0000:0000:0000:0000:0000:0000:0000:0001]", "[0::0:1]"],
		...["[0:0:0:0:0:0:0.0.0.1]"],
	],
	"(::/128)": ["[::0]"],
	"(fe80::/10)": ["[FE80::1]"],
	"(fc00::/7)": ["[FD00:0:0:0:0:0:0:1]"],
	"carries 127.0.0.1,": ["[0:0:0:0:0:FFFF:7F00:1]"],
};

/**
 * Odd spellings of public addresses. They must be accepted, because the address that a spelling means counts
 * and not the spelling.
 */
const PUBLIC_NOTATIONS: readonly (readonly [host: string, dials: string])[] = [
	["010.010.010.010", "8.8.8.8"],
	["0x08080808", "8.8.8.8"],
	["134744072", "8.8.8.8"],
	["8.8.2056", "8.8.8.8"],
	["８.８.８.８", "8.8.8.8"],
	["0200.0.0.1", "128.0.0.1"],
	["[2A00:1450:400A:0808:0000:0000:0000:200E]", "2a00:1450:400a:808::200e"],
	["[2606:4700:4700:0:0::1111]", "2606:4700:4700::1111"],
];

/**
 * Hosts that must be refused. They have trailing dots, empty labels, numbers that are too large, zones,
 * brackets, spaces, or characters that no host has.
 */
const UNREADABLE = [
	...["127.0.0.1.", "8.8.8.8.", "localhost.", "shop.names.example.", "shop.names.example。"],
	...["shop..names.example", ".names.example", "256.0.0.1", "0400.0.0.1", "127.0.0.256", "127.0.65536"],
	...["4294967296", "0x100000000", "08.0.0.1", "127.0.0.0.1", "1.2.3.4.5", "[fe80::1%eth0]"],
	...["[fe80::1%25eth0]", "[::1%251]", "[2a00:1450::1%25eth0]", "[::ffff:127.1]", "[::ffff:0x7f.0.0.1]"],
	...["[::ffff:127.0.0.1.]", "[127.0.0.1]", "[::1", "::1", "[v1.fe80::1]", "[1:2:3:4:5:6:7]"],
	...["[1::2::3]", "127.0.0.1 ", "exa mple", "%", "%00.example", "127.0.0.1%00.example"],
	...["a<b.example", "*", "xn--a\u00fc.example", "shop~1.example"],
];

const LOCAL_NAMES = "localhost LOCALHOST ⓛⓞⓒⓐⓛⓗⓞⓢⓣ ｌｏｃａｌｈｏｓｔ shop.localhost a.b.LocalHost";
const THIS_MACHINE = "forbids 127.0.0.1 is not public";

/**
 * URLs that are refused for their form, each with the code of the fault. If such a URL is stored
 * nevertheless, nothing is dialled.
 */
const REFUSED_FORMS: readonly (readonly [url: string, fault: string])[] = [
	["https://8.8.8.8\\@127.0.0.1/", "postback_url_malformed"],
	["https://127.0.0.1\t/", "postback_url_malformed"],
	["https://8.8.8.8:0/", "postback_url_malformed"],
	["http://127.0.0.1/", "postback_url_not_https"],
	["gopher://127.0.0.1:25/", "postback_url_not_https"],
	["https://8.8.8.8@127.0.0.1/", "postback_url_has_credentials"],
	["https://127.0.0.1@8.8.8.8/", "postback_url_has_credentials"],
	["https://8.8.8.8#@127.0.0.1/", "postback_url_has_fragment"],
	["https://[]:443/", "postback_url_host_invalid"],
	["https://8.8.8.8/a/../b", "postback_url_not_wire_form"],
];

const MAX_LENGTH = 2_048;

/**
 * URLs of an accepted form. Each URL has its own public address, so that a connection attempt to that address
 * can be attributed to the URL.
 */
const GOOD_FORMS: readonly (readonly [url: string, what: string, dials: string])[] = [
	["https://93.184.215.1/", "no port: 443", "93.184.215.1"],
	["https://93.184.215.2:443/", "the usual port, written", "93.184.215.2"],
	["https://93.184.215.3:/", "an empty port", "93.184.215.3"],
	["https://93.184.215.4:0443/", "a port with a zero before it", "93.184.215.4"],
	["https://93.184.215.5:1/", "the first port", "93.184.215.5"],
	["https://93.184.215.6:65535/", "the last port", "93.184.215.6"],
	["https://93.184.215.7:22/", "a port of another service", "93.184.215.7"],
	["https://93.184.215.8:8443/a?b=c&d=@127.0.0.1", "an address in the query", "93.184.215.8"],
	["https://93.184.215.9/https://127.0.0.1/", "a URL in the path", "93.184.215.9"],
	["HTTPS://93.184.215.10/", "the scheme in capitals", "93.184.215.10"],
	["  https://93.184.215.11/  ", "spaces around it", "93.184.215.11"],
	[`https://93.184.215.12/${"a".repeat(MAX_LENGTH - 22)}`, "of the greatest length", "93.184.215.12"],
	["https://93.184.215.13", "no path", "93.184.215.13"],
];

/**
 * Internationalised names as people type them, each with the ASCII form that the name server sees and its
 * address.
 */
const INTERNATIONAL: readonly (readonly [typed: string, ascii: string, address: string])[] = [
	["bücher.names.example", "xn--bcher-kva.names.example", "93.184.216.1"],
	["BÜCHER2.names.example", "xn--bcher2-3ya.names.example", "93.184.216.2"],
	["xn--bcher3-3ya.names.example", "xn--bcher3-3ya.names.example", "93.184.216.3"],
	["例え.names.example", "xn--r8jz45g.names.example", "93.184.216.4"],
	["straße.names.example", "xn--strae-oqa.names.example", "93.184.216.5"],
	["innen。names。example", "innen.names.example", "10.20.30.1"],
	["größe-innen.names.example", "xn--gre-innen-h1a6w.names.example", "10.20.30.2"],
	["ｉｎｎｅｎ３.names.example", "innen3.names.example", "10.20.30.3"],
	["пример-innen.names.example", "xn---innen-2ofx0b2ald.names.example", "10.20.30.4"],
];

const SPELLING_ENTRIES: readonly Entry[] = [
	...Object.entries(NOTATIONS).flatMap(([block, hosts]) => {
		const because = block.startsWith("(") ? "is not public" : block;
		return hosts.map((at) => ({ what: "an address in another notation", at, expect: `forbids ${because}` }));
	}),
	...PUBLIC_NOTATIONS.map(([at, dials]) => ({ what: "written another way", at, expect: `dials ${dials}` })),
	...UNREADABLE.map((at) => ({
		what: "a host that cannot be read",
		at,
		expect: "refuses postback_url_host_invalid",
	})),
	...words(LOCAL_NAMES).map((at) => ({
		what: "this machine everywhere (RFC 6761)",
		at,
		expect: THIS_MACHINE,
	})),
	{
		what: "a name server that says localhost were public is not asked",
		at: "public.localhost",
		answers: answerWith("8.8.8.8"),
		expect: THIS_MACHINE,
	},
	...REFUSED_FORMS.map(([at, fault]) => ({
		what: "a URL of the wrong form",
		at,
		expect: `refuses ${fault}`,
	})),
	...GOOD_FORMS.flatMap(([url, what, dials]) => [
		{ what, at: url, expect: `dials ${dials}` },
		{
			what: `${what}, of a private address`,
			at: url.replace(dials, dials.replace("93.184.215.", "10.215.0.")),
			expect: "forbids is not public",
		},
	]),
	...INTERNATIONAL.map(([at, asked, address]) => ({
		what: "an internationalised name",
		at,
		asked,
		answers: answerWith(address),
		expect: address.startsWith("10.") ? "forbids is not public" : `dials ${address}`,
	})),
];

export function allEntries(): Entry[] {
	return [
		// The entries with names come first, because some of them take seconds and all others run in the
		// meantime.
		...NAME_ENTRIES,
		...LITERALS.map(([address, expect, what]) => ({
			what,
			at: address.includes(":") ? `[${address}]` : address,
			expect,
		})),
		...LITERALS.map(([address, expect, what], index) => ({
			what: `a name that stands for ${address}: ${what}`,
			at: `literal-${index}.names.example`,
			answers: answerWith(address),
			expect,
		})),
		...SPELLING_ENTRIES,
	];
}

function words(text: string): string[] {
	return text.trim().split(/\s+/);
}
