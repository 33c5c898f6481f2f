// What the network's staff are warned of about their own installation, each with what to do about it.

import { type AddressRange, isAddress, isInRanges, judgeAddress, parseRange } from "./address.ts";
import { CHORES, type ChoreRecord, describeLateness, isLate } from "./chore.ts";
import { findClientAddress } from "./client-address.ts";
import type { DeliveryPause } from "./delivery-pause.ts";
import { MINUTE_MS, SECOND_MS, utcMinute } from "./time.ts";

export interface Warning {
	kind:
		| "private_ranges"
		| "no_public_url"
		| "mail_off"
		| "chore_late"
		| "clock_off"
		| "no_worker"
		| "process_silent"
		| "mixed_versions"
		| "queue_overdue"
		| "mail_failing"
		| "schema_differs"
		| "disk_filling"
		| "backup_old"
		| "delivery_paused"
		| Sighting["kind"];
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

/**
 * Known without a request. `host` is where people find the service, as far as it is known: whoever tries it on their own
 * machine needs no PUBLIC_URL.
 */
export function findSettingWarnings(
	{ publicUrl, hasMail, allowsPrivateRanges }: WarningSettings,
	host: string | undefined,
): Warning[] {
	const warnings: Warning[] = [];
	const isOwnMachine = host !== undefined && isLoopbackHost(host);
	if (allowsPrivateRanges) warnings.push(PRIVATE_RANGES);
	if (publicUrl === null) warnings.push(...(isOwnMachine ? [] : [NO_PUBLIC_URL]));
	else if (!publicUrl.startsWith("https:") && isPublicHost(new URL(publicUrl).host)) {
		warnings.push(describeSighting({ kind: "plain_http", where: new URL(publicUrl).hostname }));
	}
	if (!hasMail) warnings.push(MAIL_OFF);
	return warnings;
}

/** Periodic work that does not get done. */
export function findChoreWarnings(records: readonly ChoreRecord[], nowMs: number): Warning[] {
	return records
		.filter((record) => isLate(record, nowMs))
		.map((record) => ({
			kind: "chore_late",
			title: CHORES[record.name].undone,
			text: describeLateness(record),
		}));
}

/** Callbacks that are held on purpose: nobody should forget it. */
export function findPauseWarnings(pause: DeliveryPause | null): Warning[] {
	if (pause === null) return [];
	const since = utcMinute(pause.sinceMs);
	const kind = "delivery_paused";
	if (pause.isSentElsewhere) {
		return [
			{
				kind,
				title: `A process has sent no callbacks since ${since}, and others send them`,
				text: "It runs with RINGBACK_DELIVERY=paused. To hold all callbacks, restart every process with that setting; to let all go, restart that one without it.",
			},
		];
	}
	const waiting = pause.waiting === 1 ? "1 waits" : `${pause.waiting} wait`;
	return [
		{
			kind,
			title: `Callbacks have been paused since ${since}, and ${waiting}`,
			text: "RINGBACK_DELIVERY is paused: conversions and decisions are taken, and no shop is told. `ringback owed` lists what would be sent. Restart without the setting to let it go.",
		},
	];
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

/** Of this process's clock against the database server's, above zero when it is ahead; null where there is only one. */
export function findClockWarnings(offsetMs: number | null): Warning[] {
	if (offsetMs === null) return [];
	const state = judgeClockOffset(offsetMs);
	if (state === "ok") return [];
	const seconds = (Math.abs(offsetMs) / SECOND_MS).toFixed(1);
	return [
		{
			kind: "clock_off",
			title: `This machine's clock is ${seconds} s ${offsetMs > 0 ? "ahead of" : "behind"} the database server's`,
			text: `${CLOCK_MEANING[state]} Keep the clocks of this machine and of the database server set by NTP (chrony or systemd-timesyncd); a container has the clock of its host.`,
		},
	];
}

const CLOCK_MEANING = {
	warning:
		"Callbacks and decisions go by the database server's clock, so they are on time. Sign-in goes by this machine's: authenticator codes may be refused. More than a minute apart, this process stops sending and deciding.",
	problem:
		"One of the two clocks is wrong, and this process cannot know which. Until they agree again it is not ready, sends no callbacks, decides nothing by time and answers signed requests with 503. It then goes on by itself, and nothing is lost.",
} as const;

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

export function describeSighting({ kind, where }: Sighting): Warning {
	switch (kind) {
		case "plain_http":
			return {
				kind,
				title: `Ringback is used over plain HTTP at ${where}`,
				text: "Passwords, sessions and API keys can be read on the way. Put a reverse proxy with HTTPS in front of it and set PUBLIC_URL to its https:// address.",
			};
		case "untrusted_proxy":
			return {
				kind,
				title: `Requests are forwarded by ${where}, which is not a trusted proxy`,
				text: `The addresses it forwards are ignored, so everybody behind it shares the limits of one address. If it is your reverse proxy, add ${where} to RINGBACK_TRUSTED_PROXIES and restart. If you do not know this address, leave it out.`,
			};
		default:
			return kind satisfies never;
	}
}

const PRIVATE_RANGES: Warning = {
	kind: "private_ranges",
	title: "RINGBACK_ALLOWED_PRIVATE_RANGES is on: callbacks may go to private addresses",
	text: "This is for development only. Remove the setting in production.",
};

const NO_PUBLIC_URL: Warning = {
	kind: "no_public_url",
	title: "PUBLIC_URL is not set",
	text: "Links in mails and one-time links point to the address this process listens on, and cookies are not limited to HTTPS. Set PUBLIC_URL to the address people open, such as https://ringback.example.",
};

const MAIL_OFF: Warning = {
	kind: "mail_off",
	title: "Mail is off",
	text: "Nobody is mailed about failed callbacks, invitations or forgotten passwords. Set SMTP_URL and MAIL_FROM.",
};

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
