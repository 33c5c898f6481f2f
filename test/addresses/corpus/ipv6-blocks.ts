// IANA's IPv6 Special-Purpose Address Registry, and from its address-space registry what is not global unicast,
// written down from the registries and not from the product's table. Prefixes that carry an IPv4 address are
// here for their edges only: carriers.ts has the addresses inside.

import { block, type ReservedBlock } from "./block.ts";

/** Outside 2000::/3, and no block of its own. */
const NOT_UNICAST = "(::/0)";
const PROTOCOL = "(2001::/23)";

export const IPV6_BLOCKS: readonly ReservedBlock[] = [
	block("::/128", "unspecified, RFC 4291", { inside: ["::"] }),
	block("::1/128", "loopback, RFC 4291", { inside: ["::1"] }),
	block("::/96", "IPv4-compatible, deprecated by RFC 4291", {
		inside: ["::2", "::ffff:ffff"],
		[NOT_UNICAST]: ["::1:0:0"],
	}),
	block("::ffff:0:0:0/96", "IPv4-translated, RFC 2765", {
		[NOT_UNICAST]: ["::fffe:ffff:ffff:ffff", "::ffff:0:0:0", "::ffff:0:ffff:ffff", "::ffff:1:0:0"],
	}),
	block("64:ff9b:1::/48", "local-use translation (NAT64), RFC 8215", {
		inside: ["64:ff9b:1::", "64:ff9b:1::808:808", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"],
		[NOT_UNICAST]: ["64:ff9b:0:ffff:ffff:ffff:ffff:ffff", "64:ff9b:2::"],
	}),
	block("100::/64", "discard only, RFC 6666", {
		inside: ["100::", "100::ffff:ffff:ffff:ffff"],
		[NOT_UNICAST]: ["ff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
	}),
	block("100:0:0:1::/64", "dummy prefix, RFC 9780", {
		inside: ["100:0:0:1::", "100:0:0:1:ffff:ffff:ffff:ffff"],
		[NOT_UNICAST]: ["100:0:0:2::"],
	}),
	block("200::/7", "former OSI mapping, RFC 4048", {
		[NOT_UNICAST]: [
			"1ff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
			"200::",
			"3ff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
			"400::",
		],
	}),
	block("1000::/4", "reserved by the IETF, RFC 4291; global unicast begins behind it", {
		outside: ["2000::"],
		[NOT_UNICAST]: ["1000::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
	}),
	block("2001::/23", "IETF protocol assignments, RFC 2928 (Teredo has its first /32)", {
		inside: ["2001:1::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"],
		outside: ["2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::"],
	}),
	block("2001:1::1/128", "port control anycast, RFC 7723", { [PROTOCOL]: ["2001:1::1"] }),
	block("2001:1::2/128", "TURN anycast, RFC 8155", { [PROTOCOL]: ["2001:1::2"] }),
	block("2001:1::3/128", "service registration anycast, RFC 9665", { [PROTOCOL]: ["2001:1::3"] }),
	block("2001:2::/48", "benchmarking, RFC 5180", {
		inside: ["2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff"],
		[PROTOCOL]: ["2001:1:ffff:ffff:ffff:ffff:ffff:ffff", "2001:2:1::"],
	}),
	block("2001:3::/32", "automatic multicast tunnelling, RFC 7450", {
		inside: ["2001:3::", "2001:3:ffff:ffff:ffff:ffff:ffff:ffff"],
		[PROTOCOL]: ["2001:2:ffff:ffff:ffff:ffff:ffff:ffff", "2001:4::"],
	}),
	block("2001:4:112::/48", "AS112, RFC 7535", {
		inside: ["2001:4:112::", "2001:4:112:ffff:ffff:ffff:ffff:ffff"],
		[PROTOCOL]: ["2001:4:111:ffff:ffff:ffff:ffff:ffff", "2001:4:113::"],
	}),
	block("2001:10::/28", "former ORCHID, RFC 4843", {
		inside: ["2001:10::", "2001:1f:ffff:ffff:ffff:ffff:ffff:ffff"],
		[PROTOCOL]: ["2001:f:ffff:ffff:ffff:ffff:ffff:ffff"],
	}),
	block("2001:20::/28", "ORCHIDv2, RFC 7343", {
		inside: ["2001:20::", "2001:2f:ffff:ffff:ffff:ffff:ffff:ffff"],
	}),
	block("2001:30::/28", "drone identifiers, RFC 9374", {
		inside: ["2001:30::", "2001:3f:ffff:ffff:ffff:ffff:ffff:ffff"],
		[PROTOCOL]: ["2001:40::"],
	}),
	block("2001:db8::/32", "documentation, RFC 3849", {
		inside: ["2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"],
		outside: ["2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::"],
	}),
	block("2620:4f:8000::/48", "AS112 direct delegation, RFC 7534", {
		inside: ["2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff"],
		outside: ["2620:4f:7fff:ffff:ffff:ffff:ffff:ffff", "2620:4f:8001::"],
	}),
	block("3ffe::/16", "former 6bone, handed back by RFC 3701", {
		inside: ["3ffe::", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
		outside: ["3ffd:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
	}),
	block("3fff::/20", "documentation, RFC 9637", {
		inside: ["3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"],
		outside: ["3fff:1000::"],
	}),
	block("4000::/3", "reserved by the IETF, RFC 4291; global unicast ends before it", {
		outside: ["3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
		[NOT_UNICAST]: ["4000::", "5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
	}),
	block("5f00::/16", "segment routing (SRv6) identifiers, RFC 9602", {
		inside: ["5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
		[NOT_UNICAST]: ["5f01::"],
	}),
	block("8000::/3", "reserved by the IETF, RFC 4291", { [NOT_UNICAST]: ["8000::", "c000::"] }),
	block("fc00::/7", "unique local, RFC 4193; cloud metadata at fd00:ec2::254", {
		inside: ["fc00::", "fd00:ec2::254", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
		[NOT_UNICAST]: ["fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fe00::"],
	}),
	block("fe80::/10", "link local, RFC 4291", {
		inside: ["fe80::", "fe80::1", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
		[NOT_UNICAST]: ["fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
	}),
	block("fec0::/10", "former site local, RFC 3879", {
		inside: ["fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
	}),
	block("ff00::/8", "multicast, RFC 4291", {
		inside: ["ff00::", "ff02::1", "ff0e::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
	}),
];

/** Nothing special about them: they must pass. */
export const PUBLIC_IPV6 = [
	"2003::1",
	"2400:cb00:2048:1::c629:d7a2",
	"2606:4700:4700::1111",
	"2001:4860:4860::8888",
	"2620:fe::fe",
	"2a00:1450:400a:808::200e",
	"2a01:4f8:0:1::add:9898",
	"2c0f:fb50:4002:800::2004",
] as const;
