// Detects problems of an installation by the way its requests arrive and by how wrong its clock is. The
// sentences about these problems are in watch/checks.

import { type AddressRange, isAddress, isInRanges, judgeAddress, parseRange } from "./address.ts";
import { findClientAddress } from "./client-address.ts";
import { MINUTE_MS, SECOND_MS } from "./time.ts";

export interface Warning {
	kind: string;
	/** Chore (background task) or process that the warning is about, if the check covers several of them. */
	about?: string;
	title: string;
	/** Text that says what the problem means and what to do about it, in whole sentences. */
	text: string;
}

/** Settings as the operator gave them. `publicUrl` is null if it was not set. */
export interface WarningSettings {
	publicUrl: string | null;
	trustedProxies: readonly AddressRange[];
	hasMail: boolean;
	allowsPrivateRanges: boolean;
	isOnFile: boolean;
	/** Age in days at which the last backup counts as old, or null if the operator does not want to be warned. */
	backupDays: number | null;
}

/** Parts of a request that show how it reached the service. */
export interface Arrival {
	socketAddress: string | undefined;
	host: string | undefined;
	forwardedFor: string | undefined;
	forwarded: string | undefined;
	forwardedProto: string | undefined;
}

export function readArrival(
	header: (name: string) => string | undefined,
	socketAddress: string | undefined,
): Arrival {
	return {
		socketAddress,
		host: header("host"),
		forwardedFor: header("x-forwarded-for"),
		forwarded: header("forwarded"),
		forwardedProto: header("x-forwarded-proto"),
	};
}

/**
 * A problem of the installation that a request reveals. `where` is the host name that is used without HTTPS, the IP
 * address of the proxy, or the issuer of the identity provider, and nothing else.
 */
export type Sighting =
	| { kind: "plain_http" | "untrusted_proxy"; where: string }
	/** The last sign-in with the company's account failed, because the identity provider could not be used. */
	| { kind: "provider_unavailable"; where: string; atMs: number };

/**
 * Clock error that causes a warning. NTP keeps clocks correct to within milliseconds, so an error of seconds
 * means that the clock is not synchronized.
 */
const CLOCK_WARNING_MS = 5 * SECOND_MS;
/**
 * Clock error at which the service stops sending. It is smaller than every tolerance that depends on the
 * clock, such as the five minutes of a signature.
 */
const CLOCK_PROBLEM_MS = MINUTE_MS;

export type ClockState = "ok" | "warning" | "problem";

export function judgeClockOffset(offsetMs: number): ClockState {
	if (Math.abs(offsetMs) > CLOCK_PROBLEM_MS) return "problem";
	return Math.abs(offsetMs) > CLOCK_WARNING_MS ? "warning" : "ok";
}

/**
 * Returns the problem of the installation that a request reveals, or null if it reveals none. The two
 * problems are a proxy that is not configured as trusted, and a public host that is used without HTTPS. The
 * service itself speaks plain HTTP, so only a trusted proxy or PUBLIC_URL can say whether HTTPS is used in
 * front of it.
 */
export function judgeArrival(arrival: Arrival, settings: WarningSettings): Sighting | null {
	const { socketAddress, host, forwardedFor, forwarded } = arrival;
	if (socketAddress === undefined) return null;
	const isForwarded = forwardedFor !== undefined || forwarded !== undefined;
	const isSecure = settings.publicUrl?.startsWith("https:") === true;
	// Most requests end here. This condition is tested first, because it is cheap and every request is judged.
	if (isSecure && !isForwarded) return null;
	const address = findClientAddress(socketAddress, undefined, []);
	const isTrusted = isInRanges(address, settings.trustedProxies);
	// The proxy is judged before HTTPS, because the header of an untrusted proxy says nothing reliable about
	// HTTPS.
	if (isForwarded && !isTrusted) return { kind: "untrusted_proxy", where: address };
	if (isSecure || (isTrusted && saysHttps(arrival))) return null;
	return host === undefined || !isPublicHost(host) ? null : { kind: "plain_http", where: hostNameOf(host) };
}

/**
 * Matches host names that have a meaning only inside a network (RFC 6761, RFC 6762, RFC 8375, and ICANN's
 * .internal).
 */
const PRIVATE_NAME = /(?:^|\.)(?:localhost|local|internal|test|home\.arpa)$/;

/**
 * Returns whether a Host header names a public host. Returns false for local and private names and addresses,
 * and for invalid hosts.
 */
export function isPublicHost(host: string): boolean {
	const name = hostNameOf(host);
	if (isAddress(name)) return judgeAddress(name, []).public;
	const isName = name.length <= 253 && /^[a-z\d_-]+(?:\.[a-z\d_-]+)+$/.test(name);
	return isName && !PRIVATE_NAME.test(name);
}

const LOOPBACK = ["127.0.0.0/8", "::1"].flatMap((text) => parseRange(text) ?? []);

/**
 * Returns whether the Host header is a loopback name, as used by a person who tries the service on their own
 * machine.
 */
export function isLoopbackHost(host: string): boolean {
	const name = hostNameOf(host);
	return /(?:^|\.)localhost$/.test(name) || isInRanges(name, LOOPBACK);
}

function hostNameOf(host: string): string {
	const [, bracketed, plain = ""] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host.toLowerCase()) ?? [];
	return bracketed ?? plain.replace(/\.$/, "");
}

function saysHttps({ forwardedProto = "", forwarded = "" }: Arrival): boolean {
	const [first = ""] = forwardedProto.split(",");
	return first.trim().toLowerCase() === "https" || /(?:^|[;,\s])proto="?https\b/i.test(forwarded);
}
