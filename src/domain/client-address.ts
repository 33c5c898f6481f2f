// Finds the client's address of a request: the socket's address, or the one that a trusted proxy names.

import ipaddr from "ipaddr.js";
import { type AddressRange, isAddress, isInRanges } from "./address.ts";

/** Placeholder if there is no address. All such clients share its limits. */
const UNKNOWN = "0.0.0.0";

/** Number of 16-bit groups in an IPv6 /48. */
const SITE_PARTS = 3;

/** Ranges from which a customer's request never comes directly: this machine and private networks. */
const INSIDE: readonly string[] = [
	"unspecified",
	"loopback",
	"private",
	"linkLocal",
	"uniqueLocal",
	"carrierGradeNat",
];

/**
 * Returns the client's address. Each proxy appends the address it heard from to X-Forwarded-For. Read from
 * the end, the first address that is not a trusted proxy is the client. Everything before it may be invented
 * by the client.
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

/** Returns what one customer of a provider has: an IPv4 address, or the first 64 bits of an IPv6 address. */
export function addressBlockOf(address: string): string {
	if (!ipaddr.IPv6.isValid(address)) return address;
	return firstParts(ipaddr.IPv6.parse(address), 4);
}

/**
 * Returns the block in which one stranger can easily have many addresses: an IPv4 /24, the smallest block
 * that is routed in the Internet, or an IPv6 /48, the largest that one site is usually given (RFC 6177).
 * Returns null if the address does not identify the caller, because it is missing or belongs to an untrusted
 * proxy.
 */
export function blockOf(address: string): string | null {
	if (!isAddress(address)) return null;
	const parsed = ipaddr.parse(address);
	if (INSIDE.includes(parsed.range())) return null;
	if (parsed instanceof ipaddr.IPv4) return parsed.octets.slice(0, 3).join(".");
	return firstParts(parsed, SITE_PARTS);
}

/**
 * Returns the largest block that a provider gives to one customer: the first 48 bits of an IPv6 address, or
 * null for IPv4.
 */
export function siteOf(address: string): string | null {
	return ipaddr.IPv6.isValid(address) ? firstParts(ipaddr.IPv6.parse(address), SITE_PARTS) : null;
}

/** Returns the first 16-bit groups. */
function firstParts({ parts }: ipaddr.IPv6, count: number): string {
	return parts
		.slice(0, count)
		.map((part) => part.toString(16))
		.join(":");
}

/** Unwraps mapped addresses such as ::ffff:192.0.2.1, which a dual-stack socket shows for IPv4 clients. */
function plainAddress(text: string): string {
	return text.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, "");
}
