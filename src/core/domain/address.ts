// Decides which IP addresses a callback may be sent to. Only public (global unicast) addresses are allowed
// (contract section 1, rule 2).

import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Maximum length of an address as text: INET6_ADDRSTRLEN without its zero byte. */
const MAX_ADDRESS_LENGTH = 45;

/** A network in CIDR notation. Bits of `first` beyond the prefix are ignored. */
export interface AddressRange {
	readonly text: string;
	readonly first: Address;
	readonly prefixBits: number;
}

/** Result of the check. `reason` is a phrase for people that names the address. */
export type AddressVerdict = { public: true } | { public: false; reason: string };

/**
 * Returns the IPv4 addresses (as bytes) that an IPv6 address contains. A packet to the IPv6 address may reach each of
 * them, so all of them must be public too.
 */
type FindInside = (bytes: number[]) => number[][];

/**
 * IPv6 networks whose addresses contain an IPv4 address, such as NAT64 and 6to4. An address in one of them is
 * public only if the embedded IPv4 address is.
 */
const NETWORKS: readonly (readonly [network: AddressRange, findInside: FindInside])[] = [
	[networkOf("::ffff:0:0/96"), findInLastBytes],
	[networkOf("64:ff9b::/96"), findInLastBytes],
	[networkOf("2001::/32"), findInTeredo],
	[networkOf("2002::/16"), findInSixToFour],
];
const GLOBAL_UNICAST = networkOf("2000::/3");
/**
 * The address block of the former 6bone network, which RFC 3701 gave back to IANA. It is the only block of
 * IANA's registries that ipaddr.js does not know.
 */
const SIX_BONE = networkOf("3ffe::/16");

/** Returns the verdict on the first forbidden address, or `public: true` if all addresses are public. */
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

/**
 * Judges one address. The text must have the form that a resolver or a parsed URL gives, without brackets or
 * zone. Any other form is refused.
 */
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

/** Returns whether the address is in one of the ranges. Returns false if the text is not an address. */
export function isInRanges(text: string, ranges: readonly AddressRange[]): boolean {
	const address = parseAddress(text);
	return address !== undefined && ranges.some((range) => isWithin(address, range));
}

/**
 * Parses an IPv4 or IPv6 network such as 10.0.0.0/8. An address without a prefix length is a network with
 * that one address.
 */
export function parseRange(text: string): AddressRange | undefined {
	const [, addressText = "", prefixText] = /^([^/]+)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text) ?? [];
	const first = parseAddress(addressText);
	if (first === undefined) return undefined;
	const addressBits = first.kind() === "ipv4" ? 32 : 128;
	const prefixBits = prefixText === undefined ? addressBits : Number(prefixText);
	return prefixBits <= addressBits ? { text, first, prefixBits } : undefined;
}

function networkOf(cidr: string): AddressRange {
	const range = parseRange(cidr);
	if (range === undefined) throw new Error(`${cidr} is not a network`);
	return range;
}

/**
 * Returns why the address is not public, or undefined if it is public. ipaddr.js treats unknown blocks as
 * unicast, but in IPv6 only 2000::/3 is global unicast.
 */
function findObjection(address: Address, allowed: readonly AddressRange[]): string | undefined {
	if (allowed.some((range) => isWithin(address, range))) return undefined;
	const [, findInside] = NETWORKS.find(([network]) => isWithin(address, network)) ?? [];
	const isGlobal =
		address.kind() === "ipv4" || (isWithin(address, GLOBAL_UNICAST) && !isWithin(address, SIX_BONE));
	if (findInside === undefined && !(isGlobal && address.range() === "unicast")) {
		// Turns "linkLocal" into "link local".
		return `is not public (${address.range().replace(/[A-Z]/g, (capital) => ` ${capital.toLowerCase()}`)})`;
	}
	if (address.kind() === "ipv4") return undefined;
	for (const bytes of (findInside ?? findInIsatap)(address.toByteArray())) {
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

// A Teredo address contains two IPv4 addresses: the server's as it is, and the client's with every bit
// inverted (RFC 4380).
function findInTeredo(bytes: number[]): number[][] {
	return [bytes.slice(4, 8), bytes.slice(12).map((byte) => byte ^ 0xff)];
}

function findInSixToFour(bytes: number[]): number[][] {
	return [bytes.slice(2, 6), ...findInIsatap(bytes)];
}

// An ISATAP address has any prefix, then 0000:5efe, then an IPv4 address (RFC 5214). The two low bits of the
// first byte of 0000:5efe may be set.
function findInIsatap(bytes: number[]): number[][] {
	const [flags = 0, ...mark] = bytes.slice(8, 12);
	const isIsatap = (flags & ~0x03) === 0 && mark.join() === "0,94,254";
	return isIsatap ? [bytes.slice(12)] : [];
}

// Parses an address in its plain form. ipaddr.js also accepts octal, hexadecimal and short forms, zones, and
// ::1.2.3.4 as a mapped address. These forms are refused first, because the code that opens the connection
// may interpret them differently.
function parseAddress(text: string): Address | undefined {
	if (text.length > MAX_ADDRESS_LENGTH) return undefined;
	// This is a fast path. ipaddr.js takes 10 µs to parse an address, and 13 to 16 µs to refuse other text,
	// because it throws.
	if (/^[\d.]+$/.test(text)) return parseFourParts(text);
	const groups = text.replace(/(?<=:)\d+\.\d+\.\d+\.\d+$/, spellInHex);
	return /^[\da-f:]+$/i.test(groups) && ipaddr.IPv6.isValid(groups) ? ipaddr.IPv6.parse(groups) : undefined;
}

/** Parses an IPv4 address of four decimal numbers without leading zeros. */
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
