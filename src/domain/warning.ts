// What may have to be put right about an installation: how requests come to it, and how far its clock is off. The
// sentences are in watch/checks.

import { type AddressRange, isAddress, isInRanges, judgeAddress, parseRange } from "./address.ts";
import { findClientAddress } from "./client-address.ts";
import { MINUTE_MS, SECOND_MS } from "./time.ts";

export interface Warning {
	/** The check that found it. */
	kind: string;
	/** Which of several such: a chore, a process. */
	about?: string;
	title: string;
	/** What it means and what to do, in whole sentences. */
	text: string;
}

/** As they were set, not as they turned out: `publicUrl` is null where nobody set it. */
export interface WarningSettings {
	publicUrl: string | null;
	trustedProxies: readonly AddressRange[];
	hasMail: boolean;
	allowsPrivateRanges: boolean;
	/** The database is a SQLite file. */
	isOnFile: boolean;
}

/** How a request came to us. */
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

/** What a request tells about the installation. `where` is a host name or an address, and nothing else. */
export interface Sighting {
	kind: "plain_http" | "untrusted_proxy";
	where: string;
}

/** NTP keeps clocks within milliseconds: seconds mean that nobody sets one of them. */
const CLOCK_WARNING_MS = 5 * SECOND_MS;
/** Less than anything that is decided by time allows for: five minutes for a signature, days for a window. */
const CLOCK_PROBLEM_MS = MINUTE_MS;

export type ClockState = "ok" | "warning" | "problem";

export function judgeClockOffset(offsetMs: number): ClockState {
	if (Math.abs(offsetMs) > CLOCK_PROBLEM_MS) return "problem";
	return Math.abs(offsetMs) > CLOCK_WARNING_MS ? "warning" : "ok";
}

/** The service itself speaks plain HTTP; whether TLS is in front of it, only a trusted proxy or PUBLIC_URL can say. */
export function judgeArrival(arrival: Arrival, settings: WarningSettings): Sighting | null {
	const { socketAddress, host, forwardedFor, forwarded } = arrival;
	if (socketAddress === undefined) return null;
	const isForwarded = forwardedFor !== undefined || forwarded !== undefined;
	const isSecure = settings.publicUrl?.startsWith("https:") === true;
	// The usual case, and asked for every call: an address is not read where it says nothing.
	if (isSecure && !isForwarded) return null;
	const address = findClientAddress(socketAddress, undefined, []);
	const isTrusted = isInRanges(address, settings.trustedProxies);
	// First: what an untrusted proxy says about HTTPS cannot be believed either.
	if (isForwarded && !isTrusted) return { kind: "untrusted_proxy", where: address };
	if (isSecure || (isTrusted && saysHttps(arrival))) return null;
	return host === undefined || !isPublicHost(host) ? null : { kind: "plain_http", where: hostNameOf(host) };
}

/** Names that only mean something inside a network (RFC 6761, RFC 6762, RFC 8375, and ICANN's .internal). */
const PRIVATE_NAME = /(?:^|\.)(?:localhost|local|internal|test|home\.arpa)$/;

/** As the Host header gives it. False for a machine's own and private names and addresses, and for what is no host. */
export function isPublicHost(host: string): boolean {
	const name = hostNameOf(host);
	if (isAddress(name)) return judgeAddress(name, []).public;
	const isName = name.length <= 253 && /^[a-z\d_-]+(?:\.[a-z\d_-]+)+$/.test(name);
	return isName && !PRIVATE_NAME.test(name);
}

const LOOPBACK = ["127.0.0.0/8", "::1"].flatMap((text) => parseRange(text) ?? []);

/** As the Host header gives it: somebody tries the service on their own machine. */
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
