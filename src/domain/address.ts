// This room is the pure rules: no I/O, no clock, no await.
// Here: which addresses a callback may go to: global unicast only (contract section 1, rule 2).
// The first block of the table that holds an address decides, and what no block calls public is refused.

import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** The longest text form, INET6_ADDRSTRLEN without its zero byte. */
const MAX_ADDRESS_LENGTH = 45;

/** A network in CIDR notation; bits of `first` beyond the prefix do not count. */
export interface AddressRange {
	readonly text: string;
	readonly first: Address;
	readonly prefixBits: number;
}

/** `reason` is a phrase for people that names the address. */
export type AddressVerdict = { public: true } | { public: false; reason: string };

/** The IPv4 addresses, as bytes, that a packet to this address may end up at: each must be public too. */
type FindInside = (bytes: number[]) => number[][];

interface Block {
	range: AddressRange;
	/** What the block is, if it is not public; otherwise how to find what has to be judged in its stead. */
	use: string | FindInside;
}

// IANA's IPv4 and IPv6 special-purpose registries, with the blocks the registries call globally reachable but
// where no shop can live (anycast relays, AS112). A table of our own and not `range()` of ipaddr.js: there an
// unknown block counts as unicast. Narrow before wide: ::1 before ::/96, Teredo before 2001::/23.
const BLOCKS: readonly Block[] = [
	block("0.0.0.0/8", "this-network space"),
	block("10.0.0.0/8", "a private network"),
	block("100.64.0.0/10", "a carrier's shared address space"),
	block("127.0.0.0/8", "the loopback network"),
	block("169.254.0.0/16", "the link-local network"),
	block("172.16.0.0/12", "a private network"),
	block("192.0.0.0/24", "a block for protocol assignments"),
	block("192.0.2.0/24", "a documentation network"),
	block("192.31.196.0/24", "the AS112 name-server network"),
	block("192.52.193.0/24", "the multicast-tunnelling relay network"),
	block("192.88.99.0/24", "the former 6to4 relay network"),
	block("192.168.0.0/16", "a private network"),
	block("192.175.48.0/24", "the AS112 name-server network"),
	block("198.18.0.0/15", "a benchmarking network"),
	block("198.51.100.0/24", "a documentation network"),
	block("203.0.113.0/24", "a documentation network"),
	block("224.0.0.0/4", "multicast space"),
	block("255.255.255.255/32", "broadcast space"),
	block("240.0.0.0/4", "reserved space"),
	block("0.0.0.0/0", () => []),

	block("::/128", "unspecified-address space"),
	block("::1/128", "the loopback network"),
	// Deprecated by RFC 4291 and nobody's: reserved, whatever address stands inside.
	block("::/96", "the former IPv4-compatible space"),
	block("::ffff:0:0/96", findInLastBytes),
	block("64:ff9b::/96", findInLastBytes),
	// RFC 8215 leaves the place of the IPv4 address in it to each network, so that nobody else can read it.
	block("64:ff9b:1::/48", "the local translation (NAT64) network"),
	block("100::/64", "the discard-only network"),
	block("100:0:0:1::/64", "the dummy network"),
	block("2001::/32", findInTeredo),
	block("2001:2::/48", "a benchmarking network"),
	block("2001:3::/32", "the multicast-tunnelling relay network"),
	block("2001:4:112::/48", "the AS112 name-server network"),
	block("2001:10::/28", "the former ORCHID identifier space"),
	block("2001:20::/28", "the ORCHIDv2 identifier space"),
	block("2001:30::/28", "the drone identifier space"),
	block("2001::/23", "a block for protocol assignments"),
	block("2001:db8::/32", "a documentation network"),
	block("2002::/16", findInSixToFour),
	block("2620:4f:8000::/48", "the AS112 name-server network"),
	block("3ffe::/16", "the former 6bone test network"),
	block("3fff::/20", "a documentation network"),
	block("5f00::/16", "the segment-routing network"),
	block("fc00::/7", "a private (unique local) network"),
	block("fe80::/10", "the link-local network"),
	block("fec0::/10", "a private (site-local) network"),
	block("ff00::/8", "multicast space"),
	block("2000::/3", findInIsatap),
	block("::/0", "space that is not global unicast"),
];

/** Every address must be public; the verdict is the first bad one's. */
export function judgeAddresses(
	addresses: readonly string[],
	allowed: readonly AddressRange[],
): AddressVerdict {
	if (addresses.length === 0) return { public: false, reason: "there is no address" };
	for (const address of addresses) {
		const verdict = judgeAddress(address, allowed);
		if (!verdict.public) return verdict;
	}
	return { public: true };
}

/** Takes the forms a resolver or a parsed URL gives, without brackets or zone; no other form is public. */
export function judgeAddress(text: string, allowed: readonly AddressRange[]): AddressVerdict {
	const address = parseAddress(text);
	if (address === undefined) {
		return {
			public: false,
			reason: `${JSON.stringify(text.slice(0, MAX_ADDRESS_LENGTH))} is not an IP address`,
		};
	}
	const objection = findObjection(address, allowed);
	return objection === undefined ? { public: true } : { public: false, reason: `${text} ${objection}` };
}

export function isAddress(text: string): boolean {
	return parseAddress(text) !== undefined;
}

/** False for what is no address. */
export function isInRanges(text: string, ranges: readonly AddressRange[]): boolean {
	const address = parseAddress(text);
	return address !== undefined && ranges.some((range) => isWithin(address, range));
}

/** An IPv4 or IPv6 network such as 10.0.0.0/8; a bare address is a network of one. */
export function parseRange(text: string): AddressRange | undefined {
	const [, addressText = "", prefixText] = /^([^/]+)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text) ?? [];
	const first = parseAddress(addressText);
	if (first === undefined) return undefined;
	const addressBits = first.kind() === "ipv4" ? 32 : 128;
	const prefixBits = prefixText === undefined ? addressBits : Number(prefixText);
	return prefixBits <= addressBits ? { text, first, prefixBits } : undefined;
}

function block(cidr: string, use: string | FindInside): Block {
	const range = parseRange(cidr);
	if (range === undefined) throw new Error(`${cidr} in the block table is not a network`);
	return { range, use };
}

function findObjection(address: Address, allowed: readonly AddressRange[]): string | undefined {
	if (allowed.some((range) => isWithin(address, range))) return undefined;
	const found = BLOCKS.find(({ range }) => isWithin(address, range));
	if (found === undefined) return "is in no known block";
	if (typeof found.use === "string") return `is in ${found.use} (${found.range.text})`;
	for (const bytes of found.use(address.toByteArray())) {
		const inside = new ipaddr.IPv4(bytes);
		const objection = findObjection(inside, allowed);
		if (objection !== undefined) return `carries ${inside}, which ${objection}`;
	}
	return undefined;
}

function isWithin(address: Address, range: AddressRange): boolean {
	return address.kind() === range.first.kind() && address.match(range.first, range.prefixBits);
}

function findInLastBytes(bytes: number[]): number[][] {
	return [bytes.slice(12)];
}

// RFC 4380: the server's address stands plain, the client's with every bit inverted.
function findInTeredo(bytes: number[]): number[][] {
	return [bytes.slice(4, 8), bytes.slice(12).map((byte) => byte ^ 0xff)];
}

function findInSixToFour(bytes: number[]): number[][] {
	return [bytes.slice(2, 6), ...findInIsatap(bytes)];
}

// RFC 5214: any prefix, then 0000:5efe and the IPv4 address; the two low bits of the first byte may be set.
function findInIsatap(bytes: number[]): number[][] {
	const [flags = 0, ...mark] = bytes.slice(8, 12);
	const isIsatap = (flags & ~0x03) === 0 && mark.join() === "0,94,254";
	return isIsatap ? [bytes.slice(12)] : [];
}

// ipaddr.js also reads octal, hexadecimal and short forms, zones, and ::1.2.3.4 as if it were mapped. It is
// given none of them, because whoever dials may read them otherwise.
function parseAddress(text: string): Address | undefined {
	if (text.length > MAX_ADDRESS_LENGTH) return undefined;
	// For speed: ipaddr.js takes 10 µs to read one, and 13 to 16 to refuse other text, where it throws and catches inside.
	if (/^[\d.]+$/.test(text)) return parseFourParts(text);
	const groups = text.replace(/(?<=:)\d+\.\d+\.\d+\.\d+$/, spellInHex);
	return /^[\da-f:]+$/i.test(groups) && ipaddr.IPv6.isValid(groups) ? ipaddr.IPv6.parse(groups) : undefined;
}

/** Four decimal numbers without leading zeros. */
function parseFourParts(text: string): ipaddr.IPv4 | undefined {
	if (!/^(?:0|[1-9]\d{0,2})(?:\.(?:0|[1-9]\d{0,2})){3}$/.test(text)) return undefined;
	const parts = text.split(".").map(Number);
	return parts.every((part) => part <= 255) ? new ipaddr.IPv4(parts) : undefined;
}

function spellInHex(quad: string): string {
	const parts = parseFourParts(quad)?.toIPv4MappedAddress().parts.slice(6);
	if (parts === undefined) return quad;
	return parts.map((part) => part.toString(16)).join(":");
}
