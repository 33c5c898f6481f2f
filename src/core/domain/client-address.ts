// Finds the address of the client that sent a request. It is the socket's address, or the one that a trusted
// proxy names.

import ipaddr from "ipaddr.js";
import { type AddressRange, isAddress, isInRanges } from "./address.ts";

/**
 * Placeholder for the address of a request without a client address. All such requests share the limits of this
 * placeholder.
 */
const UNKNOWN = "0.0.0.0";

/** Number of 16-bit groups in an IPv6 /48. */
const SITE_PARTS = 3;

/** Address ranges of this machine and of private networks. No customer's request comes directly from them. */
const INSIDE: readonly string[] = [
	"unspecified",
	"loopback",
	"private",
	"linkLocal",
	"uniqueLocal",
	"carrierGradeNat",
];

/**
 * Returns the client's address. Each proxy appends to X-Forwarded-For the address that its request came from.
 * The client is the last address in the list that is not a trusted proxy. Everything before it may be
 * invented by the client.
 */
export function findClientAddress(
	socketAddress: string | undefined,
	forwardedFor: string | undefined,
	trustedProxies: readonly AddressRange[],
): string {
	let client = plainAddress(socketAddress ?? "");
	if (!isAddress(client)) return UNKNOWN;
	for (const hop of (forwardedFor ?? "").split(",").reverse()) {
		const named = plainAddress(hop.trim());
		if (!isInRanges(client, trustedProxies) || !isAddress(named)) break;
		client = named;
	}
	return client;
}

/**
 * Returns the block of addresses that one customer of a provider usually has: an IPv4 address, or the first
 * 64 bits of an IPv6 address.
 */
export function addressBlockOf(address: string): string {
	if (!ipaddr.IPv6.isValid(address)) return address;
	return firstParts(ipaddr.IPv6.parse(address), 4);
}

/**
 * Returns the block of addresses that one person can easily control: an IPv4 /24, which is the smallest block
 * that is routed on the Internet, or an IPv6 /48, which is the largest block that one site usually gets (RFC
 * 6177). Returns null if the address does not identify the caller, because it is missing or belongs to an
 * untrusted proxy.
 */
export function blockOf(address: string): string | null {
	if (!isAddress(address)) return null;
	const parsed = ipaddr.parse(address);
	if (INSIDE.includes(parsed.range())) return null;
	if (parsed instanceof ipaddr.IPv4) return parsed.octets.slice(0, 3).join(".");
	return firstParts(parsed, SITE_PARTS);
}

/**
 * Returns the largest block that a provider usually gives to one customer, which is the first 48 bits of an
 * IPv6 address. Returns null for IPv4.
 */
export function siteOf(address: string): string | null {
	return ipaddr.IPv6.isValid(address) ? firstParts(ipaddr.IPv6.parse(address), SITE_PARTS) : null;
}

function firstParts({ parts }: ipaddr.IPv6, count: number): string {
	return parts
		.slice(0, count)
		.map((part) => part.toString(16))
		.join(":");
}

/**
 * Converts mapped addresses such as ::ffff:192.0.2.1 to IPv4. A dual-stack socket shows IPv4 clients in this
 * form.
 */
function plainAddress(text: string): string {
	return text.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, "");
}
