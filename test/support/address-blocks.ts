// Reserved address blocks, with the addresses at both edges and their neighbours outside. Every address is
// written out and none is computed. If the product makes a block one bit too wide or too narrow, one of these
// four addresses shows it. The list follows IANA's registries (RFC 6890 and its updates, multicast, and the
// IPv6 space outside global unicast) and not the product's table.

export interface ReservedBlock {
	cidr: string;
	/** Name of the block, and the document that defines it. */
	what: string;
	/** Each address with the words that its refusal must contain, or null if the address is public. */
	addresses: readonly (readonly [address: string, verdict: string | null])[];
}

/**
 * IPv4 blocks. For each block the table lists its edges and other notable addresses, public neighbours
 * outside it, and neighbours that belong to another refused block.
 */
export const IPV4_BLOCKS = readTable(`
	0.0.0.0/8 | this network, RFC 791 | in 0.0.0.0 0.0.0.1 0.255.255.255 | out 1.0.0.0
	10.0.0.0/8 | private use, RFC 1918 | in 10.0.0.0 10.255.255.255 | out 9.255.255.255 11.0.0.0
	100.64.0.0/10 | shared address space, RFC 6598; cloud metadata at 100.100.100.200 | in 100.64.0.0 100.100.100.200 100.127.255.255 | out 100.63.255.255 100.128.0.0
	127.0.0.0/8 | loopback, RFC 1122 | in 127.0.0.0 127.0.0.1 127.0.0.53 127.127.127.127 127.255.255.254 127.255.255.255 | out 126.255.255.255 128.0.0.0
	169.254.0.0/16 | link local, RFC 3927; cloud metadata at 169.254.169.254 | in 169.254.0.0 169.254.169.254 169.254.170.2 169.254.255.255 | out 169.253.255.255 169.255.0.0
	172.16.0.0/12 | private use, RFC 1918 | in 172.16.0.0 172.17.0.1 172.31.255.255 | out 172.15.255.255 172.32.0.0
	192.0.0.0/24 | IETF protocol assignments, RFC 6890 | in 192.0.0.0 192.0.0.255 | out 191.255.255.255 192.0.1.0
	192.0.0.0/29 | IPv4 service continuity, RFC 7335 | as (192.0.0.0/24): 192.0.0.7 192.0.0.8
	192.0.0.9/32 | port control anycast, RFC 7723 | as (192.0.0.0/24): 192.0.0.9
	192.0.0.10/32 | TURN anycast, RFC 8155 | as (192.0.0.0/24): 192.0.0.10 192.0.0.11
	192.0.0.170/31 | NAT64 discovery, RFC 8880 | as (192.0.0.0/24): 192.0.0.170 192.0.0.171
	192.0.2.0/24 | documentation (TEST-NET-1), RFC 5737 | in 192.0.2.0 192.0.2.255 | out 192.0.1.255 192.0.3.0
	192.31.196.0/24 | AS112, RFC 7535 | in 192.31.196.0 192.31.196.255 | out 192.31.195.255 192.31.197.0
	192.52.193.0/24 | automatic multicast tunnelling, RFC 7450 | in 192.52.193.0 192.52.193.255 | out 192.52.192.255 192.52.194.0
	192.88.99.0/24 | former 6to4 relay anycast, RFC 7526 | in 192.88.99.0 192.88.99.1 192.88.99.255 | out 192.88.98.255 192.88.100.0
	192.88.99.2/32 | 6a44 relay anycast, RFC 6751 | as (192.88.99.0/24): 192.88.99.2 192.88.99.3
	192.168.0.0/16 | private use, RFC 1918 | in 192.168.0.0 192.168.255.255 | out 192.167.255.255 192.169.0.0
	192.175.48.0/24 | AS112 direct delegation, RFC 7534 | in 192.175.48.0 192.175.48.255 | out 192.175.47.255 192.175.49.0
	198.18.0.0/15 | benchmarking, RFC 2544 | in 198.18.0.0 198.19.255.255 | out 198.17.255.255 198.20.0.0
	198.51.100.0/24 | documentation (TEST-NET-2), RFC 5737 | in 198.51.100.0 198.51.100.255 | out 198.51.99.255 198.51.101.0
	203.0.113.0/24 | documentation (TEST-NET-3), RFC 5737 | in 203.0.113.0 203.0.113.255 | out 203.0.112.255 203.0.114.0
	224.0.0.0/4 | multicast, RFC 5771 | in 224.0.0.0 224.0.0.251 232.0.0.0 233.252.0.255 239.0.0.0 239.255.255.255 | out 223.255.255.255
	240.0.0.0/4 | reserved, RFC 1112 | in 240.0.0.0 255.255.255.254
	255.255.255.255/32 | limited broadcast, RFC 919 | in 255.255.255.255
`);

export const IPV6_BLOCKS = readTable(`
	::/128 | unspecified, RFC 4291 | in ::
	::1/128 | loopback, RFC 4291 | in ::1
	::/96 | IPv4-compatible, deprecated by RFC 4291 | in ::2 ::ffff:ffff | as (::/0): ::1:0:0
	::ffff:0:0:0/96 | IPv4-translated, RFC 2765 | as (::/0): ::fffe:ffff:ffff:ffff ::ffff:0:0:0 ::ffff:0:ffff:ffff ::ffff:1:0:0
	64:ff9b:1::/48 | local-use translation (NAT64), RFC 8215 | in 64:ff9b:1:: 64:ff9b:1::808:808 64:ff9b:1:ffff:ffff:ffff:ffff:ffff | as (::/0): 64:ff9b:0:ffff:ffff:ffff:ffff:ffff 64:ff9b:2::
	100::/64 | discard only, RFC 6666 | in 100:: 100::ffff:ffff:ffff:ffff | as (::/0): ff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
	100:0:0:1::/64 | dummy prefix, RFC 9780 | in 100:0:0:1:: 100:0:0:1:ffff:ffff:ffff:ffff | as (::/0): 100:0:0:2::
	200::/7 | former OSI mapping, RFC 4048 | as (::/0): 1ff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 200:: 3ff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 400::
	1000::/4 | reserved by the IETF, RFC 4291; global unicast begins behind it | out 2000:: | as (::/0): 1000:: 1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
	2001::/23 | IETF protocol assignments, RFC 2928 (Teredo has its first /32) | in 2001:1:: 2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff | out 2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff 2001:200::
	2001:1::1/128 | port control anycast, RFC 7723 | as (2001::/23): 2001:1::1
	2001:1::2/128 | TURN anycast, RFC 8155 | as (2001::/23): 2001:1::2
	2001:1::3/128 | service registration anycast, RFC 9665 | as (2001::/23): 2001:1::3
	2001:2::/48 | benchmarking, RFC 5180 | in 2001:2:: 2001:2:0:ffff:ffff:ffff:ffff:ffff | as (2001::/23): 2001:1:ffff:ffff:ffff:ffff:ffff:ffff 2001:2:1::
	2001:3::/32 | automatic multicast tunnelling, RFC 7450 | in 2001:3:: 2001:3:ffff:ffff:ffff:ffff:ffff:ffff | as (2001::/23): 2001:2:ffff:ffff:ffff:ffff:ffff:ffff 2001:4::
	2001:4:112::/48 | AS112, RFC 7535 | in 2001:4:112:: 2001:4:112:ffff:ffff:ffff:ffff:ffff | as (2001::/23): 2001:4:111:ffff:ffff:ffff:ffff:ffff 2001:4:113::
	2001:10::/28 | former ORCHID, RFC 4843 | in 2001:10:: 2001:1f:ffff:ffff:ffff:ffff:ffff:ffff | as (2001::/23): 2001:f:ffff:ffff:ffff:ffff:ffff:ffff
	2001:20::/28 | ORCHIDv2, RFC 7343 | in 2001:20:: 2001:2f:ffff:ffff:ffff:ffff:ffff:ffff
	2001:30::/28 | drone identifiers, RFC 9374 | in 2001:30:: 2001:3f:ffff:ffff:ffff:ffff:ffff:ffff | as (2001::/23): 2001:40::
	2001:db8::/32 | documentation, RFC 3849 | in 2001:db8:: 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff | out 2001:db7:ffff:ffff:ffff:ffff:ffff:ffff 2001:db9::
	2620:4f:8000::/48 | AS112 direct delegation, RFC 7534 | in 2620:4f:8000:: 2620:4f:8000:ffff:ffff:ffff:ffff:ffff | out 2620:4f:7fff:ffff:ffff:ffff:ffff:ffff 2620:4f:8001::
	3ffe::/16 | former 6bone, handed back by RFC 3701 | in 3ffe:: 3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff | out 3ffd:ffff:ffff:ffff:ffff:ffff:ffff:ffff
	3fff::/20 | documentation, RFC 9637 | in 3fff:: 3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff | out 3fff:1000::
	4000::/3 | reserved by the IETF, RFC 4291; global unicast ends before it | out 3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff | as (::/0): 4000:: 5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
	5f00::/16 | segment routing (SRv6) identifiers, RFC 9602 | in 5f00:: 5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff | as (::/0): 5f01::
	8000::/3 | reserved by the IETF, RFC 4291 | as (::/0): 8000:: c000::
	fc00::/7 | unique local, RFC 4193; cloud metadata at fd00:ec2::254 | in fc00:: fd00:ec2::254 fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff | as (::/0): fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff fe00::
	fe80::/10 | link local, RFC 4291 | in fe80:: fe80::1 febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff | as (::/0): fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff
	fec0::/10 | former site local, RFC 3879 | in fec0:: feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
	ff00::/8 | multicast, RFC 4291 | in ff00:: ff02::1 ff0e::1 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
`);

/**
 * Prefixes of the IPv6 forms that contain an IPv4 address. The table lists neighbours beyond both edges, and
 * the edges that no entry of the carriers covers.
 */
export const CARRIER_PREFIXES = readTable(`
	::ffff:0:0/96 | IPv4-mapped, RFC 4291 | as (::/0): ::fffe:ffff:ffff ::1:0:0:0
	64:ff9b::/96 | translation (NAT64), RFC 6052 | as (::/0): 64:ff9a:ffff:ffff:ffff:ffff:ffff:ffff 64:ff9b::1:0:0 | as carries 0.0.0.0,: 64:ff9b::
	2001::/32 | Teredo, RFC 4380 | as carries 0.0.0.0,: 2001:: | as carries 255.255.255.255,: 2001:0:ffff:ffff:ffff:ffff:ffff:ffff
	2002::/16 | 6to4, RFC 3056 | out 2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff 2003:: | as carries 0.0.0.0,: 2002:: | as carries 255.255.255.255,: 2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff
`);

/** An IPv6 form that contains an IPv4 address. Its verdict is that of the address inside. */
export interface Carrier {
	form: string;
	spell(ipv4: string): string;
}

/** Public address for the second place in forms that contain two IPv4 addresses. */
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
	{ form: "ISATAP, group", spell: (ipv4) => `2a00:1450:1:2:300:5efe:${hex(ipv4)}` },
	{ form: "ISATAP in 6to4", spell: (ipv4) => `2002:${hex(OUTSIDER)}:1:0:5efe:${ipv4}` },
];

/** Parses a table whose lines have the format `CIDR | name | in, out or as WORDS: addresses | …`. */
function readTable(table: string): ReservedBlock[] {
	return table
		.trim()
		.split("\n")
		.map((line) => {
			const [cidr = "", what = "", ...groups] = line.trim().split(" | ");
			const addresses = groups.flatMap((group) => {
				const [, how, words = "", list] = /^(in|out|as (.+?):) (.+)$/.exec(group) ?? [];
				if (list === undefined) throw new Error(`the table of blocks has "${group}"`);
				const verdict = how === "out" ? null : words.startsWith("carries") ? words : "is not public";
				return list.split(" ").map((address) => [address, verdict] as const);
			});
			return { cidr, what, addresses };
		});
}

/** Returns the address as the last two groups of an IPv6 address. */
export function hex(ipv4: string): string {
	const [a = 0, b = 0, c = 0, d = 0] = ipv4.split(".").map(Number);
	return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}

/** Returns the address in the inverted form in which Teredo encodes a client. */
export function invert(ipv4: string): string {
	const bytes = ipv4.split(".").map((byte) => 255 - Number(byte));
	return bytes.join(".");
}
