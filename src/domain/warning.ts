// Detects problems of an installation: how requests arrive, and how far its clock is off. The sentences about
// them are in watch/checks.

import { type AddressRange, isAddress, isInRanges, judgeAddress, parseRange } from "./address.ts";
import { findClientAddress } from "./client-address.ts";
import { MINUTE_MS, SECOND_MS } from "./time.ts";

export interface Warning {
	/** Name of the check that found it. */
	kind: string;
	/** The chore or process that it is about, if there can be several. */
	about?: string;
	title: string;
	/** What it means and what to do, in whole sentences. */
	text: string;
}

/** Settings as they were given. `publicUrl` is null if nobody set it. */
export interface WarningSettings {
	publicUrl: string | null;
	trustedProxies: readonly AddressRange[];
	hasMail: boolean;
	allowsPrivateRanges: boolean;
	/** True if the database is a SQLite file. */
	isOnFile: boolean;
}

/** How a request arrived. */
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

/** A problem that a request reveals. `where` is only a host name or an address. */
export interface Sighting {
	kind: "plain_http" | "untrusted_proxy";
	where: string;
}

/**
 * Offset that causes a warning. NTP keeps clocks within milliseconds, so seconds mean that a clock is not
 * synchronized.
 */
const CLOCK_WARNING_MS = 5 * SECOND_MS;
/**
 * Offset that stops sending. It is smaller than every tolerance: five minutes for a signature, days for a
 * window.
 */
const CLOCK_PROBLEM_MS = MINUTE_MS;

export type ClockState = "ok" | "warning" | "problem";

export function judgeClockOffset(offsetMs: number): ClockState {
	if (Math.abs(offsetMs) > CLOCK_PROBLEM_MS) return "problem";
	return Math.abs(offsetMs) > CLOCK_WARNING_MS ? "warning" : "ok";
}

/**
 * Returns what the request reveals, or null. The service speaks plain HTTP, so only a trusted proxy or
 * PUBLIC_URL can say whether TLS is in front of it.
 */
export function judgeArrival(arrival: Arrival, settings: WarningSettings): Sighting | null {
	const { socketAddress, host, forwardedFor, forwarded } = arrival;
	if (socketAddress === undefined) return null;
	const isForwarded = forwardedFor !== undefined || forwarded !== undefined;
	const isSecure = settings.publicUrl?.startsWith("https:") === true;
	// The usual case, checked for every call, without parsing an address.
	if (isSecure && !isForwarded) return null;
	const address = findClientAddress(socketAddress, undefined, []);
	const isTrusted = isInRanges(address, settings.trustedProxies);
	// This comes first, because an untrusted proxy cannot be believed about HTTPS either.
	if (isForwarded && !isTrusted) return { kind: "untrusted_proxy", where: address };
	if (isSecure || (isTrusted && saysHttps(arrival))) return null;
	return host === undefined || !isPublicHost(host) ? null : { kind: "plain_http", where: hostNameOf(host) };
}

/** Names that have a meaning only inside a network (RFC 6761, RFC 6762, RFC 8375, and ICANN's .internal). */
const PRIVATE_NAME = /(?:^|\.)(?:localhost|local|internal|test|home\.arpa)$/;

/** Judges a Host header. Returns false for local and private names and addresses, and for invalid hosts. */
export function isPublicHost(host: string): boolean {
	const name = hostNameOf(host);
	if (isAddress(name)) return judgeAddress(name, []).public;
	const isName = name.length <= 253 && /^[a-z\d_-]+(?:\.[a-z\d_-]+)+$/.test(name);
	return isName && !PRIVATE_NAME.test(name);
}

const LOOPBACK = ["127.0.0.0/8", "::1"].flatMap((text) => parseRange(text) ?? []);

/** Returns true if the Host header is that of a person who tries the service on their own machine. */
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
