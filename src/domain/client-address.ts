// Whose request it is, by address: the socket's, or behind proxies that are trusted the one they name.

import ipaddr from "ipaddr.js";
import { type AddressRange, isAddress, isInRanges } from "./address.ts";

/** When there is no address to name; all who have none share its limits. */
const UNKNOWN = "0.0.0.0";

/** Of 16 bits each: an IPv6 /48. */
const SITE_PARTS = 3;

/** Where no customer's call comes from without a proxy: one's own machine and network. */
const INSIDE: readonly string[] = [
	"unspecified",
	"loopback",
	"private",
	"linkLocal",
	"uniqueLocal",
	"carrierGradeNat",
];

/**
 * Each proxy appends whom it heard from to X-Forwarded-For. Read from the end, the first address that is not a
 * trusted proxy's is the client; whatever stands before it, the client may have made up.
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

/** What one customer of a network has: an IPv4 address, or the first 64 bits of an IPv6 one. */
export function networkOf(address: string): string {
	if (!ipaddr.IPv6.isValid(address)) return address;
	return firstParts(ipaddr.IPv6.parse(address), 4);
}

/**
 * What one stranger can easily have addresses from: an IPv4 /24, the smallest block that is routed in the internet, or
 * an IPv6 /48, the largest that one site is usually given (RFC 6177). Null where the address says nothing about who is
 * calling: that of a proxy nobody trusts, behind which everybody is, or none.
 */
export function blockOf(address: string): string | null {
	if (!isAddress(address)) return null;
	const parsed = ipaddr.parse(address);
	if (INSIDE.includes(parsed.range())) return null;
	if (parsed instanceof ipaddr.IPv4) return parsed.octets.slice(0, 3).join(".");
	return firstParts(parsed, SITE_PARTS);
}

/** What a provider hands out at most to one customer: the first 48 bits of an IPv6 address; null for IPv4. */
export function siteOf(address: string): string | null {
	return ipaddr.IPv6.isValid(address) ? firstParts(ipaddr.IPv6.parse(address), SITE_PARTS) : null;
}

/** Of 16 bits each. */
function firstParts({ parts }: ipaddr.IPv6, count: number): string {
	return parts
		.slice(0, count)
		.map((part) => part.toString(16))
		.join(":");
}

/** A socket that listens on IPv6 too shows IPv4 callers as ::ffff:192.0.2.1. */
function plainAddress(text: string): string {
	return text.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, "");
}
