// Explains why an attempt failed and what the shop can do about it. Pages and mails use the same words.

import { isSuccess } from "../domain/verdict.ts";
import type { AttemptResult } from "../store/tables/deliveries.ts";

export interface AttemptOutcome {
	result: AttemptResult;
	http_status: number | null;
	/** Error code and stage as the engine wrote them, such as "ECONNREFUSED (connect)". */
	detail: string | null;
}

interface AttemptCause {
	/** A few words that fit into a badge or a table cell. */
	title: string;
	/** A sentence about what happened. Empty for a success. */
	meaning: string;
	/** Sentences about what to do. Empty if there is nothing to do. */
	advice: string;
}

export function explainAttempt({ result, http_status, detail }: AttemptOutcome): AttemptCause {
	switch (result) {
		case "answered":
			return explainStatus(http_status ?? 0);
		case "timeout":
			return explainOnTheWay(detail ?? "TIMEOUT (exchange)");
		case "network-error":
			return explainOnTheWay(detail ?? "");
		case "forbidden-address":
			return FORBIDDEN;
		default:
			return result satisfies never;
	}
}

/**
 * Look-up errors about the shop's own host name. Every other look-up error is about our own resolver, so shops do not
 * see it.
 */
const HOST_NAME_ERROR = /^(?:ENOTFOUND|ENODATA|ETIMEOUT|ESERVFAIL|TOO_MANY_ADDRESSES) /;

/** Returns the error code and stage for the page, or null if the problem was on our side and not on the shop's. */
export function technicalDetail({ result, detail }: AttemptOutcome): string | null {
	const isFromOurResolver = detail?.endsWith(" (look-up)") === true && !HOST_NAME_ERROR.test(detail);
	return result === "network-error" && !isFromOurResolver ? detail : null;
}

const FORBIDDEN: AttemptCause = {
	title: "Private address",
	meaning: "Nothing was sent: the URL leads to a private or internal address.",
	advice: "Enter a URL that can be reached from the internet, or correct the DNS record of its host.",
};

function explainOnTheWay(detail: string): AttemptCause {
	const found = ON_THE_WAY.find(([pattern]) => pattern.test(detail));
	const [, title, meaning, advice] = found ?? UNKNOWN;
	return { title, meaning, advice };
}

type Row = readonly [pattern: RegExp, title: string, meaning: string, advice: string];

const UNKNOWN: Row = [
	/^/,
	"Network error",
	"The connection to your server failed.",
	"Check that your server can be reached from the internet.",
];
const IN_ITS_LOG =
	"Check its log at this time for a crash or a restart, and whether a proxy or firewall drops the request.";

/**
 * Explanations of failed attempts. The first row whose pattern matches the stored detail is used, so the last row of
 * each stage matches all its other errors.
 */
const ON_THE_WAY: readonly Row[] = [
	[
		/^(?:ENOTFOUND|ENODATA) \(look-up\)$/,
		"Name not found",
		"The host of the URL has no address in the DNS.",
		"Check its spelling and its DNS record.",
	],
	[
		/^TOO_MANY_ADDRESSES \(look-up\)$/,
		"Too many addresses",
		"The host of the URL has more than 64 addresses in the DNS.",
		"Give it fewer.",
	],
	[
		/\(look-up\)$/,
		"Name look-up failed",
		"The DNS gave no usable answer for the host of the URL within 5 seconds.",
		"Check the name servers of the domain.",
	],
	[
		/^ECONNREFUSED \(connect\)$/,
		"Connection refused",
		"Nothing listens at the address and port of the URL.",
		"Start the server, or correct the port.",
	],
	[
		/^TIMEOUT \(connect\)$/,
		"No connection in 5 s",
		"Your server did not accept a connection within 5 seconds.",
		"Check that it runs and that its firewall lets us in.",
	],
	[
		/\(connect\)$/,
		"Unreachable",
		"No connection to your server's address could be made.",
		"Check that it runs, its network and its firewall.",
	],
	[
		/^CERT_HAS_EXPIRED \(tls\)$/,
		"Certificate expired",
		"Your server's TLS certificate has expired.",
		"Renew it.",
	],
	[
		/^ERR_TLS_CERT_ALTNAME_INVALID \(tls\)$/,
		"Certificate of another host",
		"Your server's TLS certificate does not name this host.",
		"Get one that does.",
	],
	[
		/^CERT_NOT_YET_VALID \(tls\)$/,
		"Certificate not valid yet",
		"Your server's TLS certificate is not valid yet.",
		"Check its dates and your server's clock.",
	],
	[
		/SELF_SIGNED_CERT.* \(tls\)$/,
		"Certificate not trusted",
		"Your server's TLS certificate is self-signed.",
		"Use one of a public authority, such as Let's Encrypt.",
	],
	[
		/^UNABLE_TO_(?:VERIFY_LEAF|GET_ISSUER).* \(tls\)$/,
		"Certificate not trusted",
		"The issuer of your server's TLS certificate is not known here.",
		"Serve the full chain, intermediate certificates included.",
	],
	[
		/^(?:ERR_SSL_WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH_TOO_LONG|EPROTO) \(tls\)$/,
		"No TLS",
		"Your server does not speak TLS at this port.",
		"Check the port in the URL, and that HTTPS is served there.",
	],
	[
		/^TIMEOUT \(tls\)$/,
		"No TLS in 5 s",
		"Your server accepted the connection, but the TLS handshake was not finished within 5 seconds.",
		"Check how busy the server is, and that HTTPS is served at the port of the URL.",
	],
	[
		/\(tls\)$/,
		"TLS failed",
		"The TLS handshake with your server failed.",
		"Check its TLS settings: TLS 1.2 or newer, and a certificate for this host name.",
	],
	[
		/^CLOSED_WITHOUT_ANSWER \(exchange\)$/,
		"Closed without an answer",
		"We connected and TLS was fine, but your server closed the connection without answering the request.",
		IN_ITS_LOG,
	],
	[
		// HPE_ codes come from llhttp, the parser of undici.
		/^(?:BROKEN_ANSWER|HPE_\S+) \(exchange\)$/,
		"Broken answer",
		"Your server answered, but not with complete, valid HTTP headers.",
		"Check what listens at this port, and what a proxy in front of it makes of the answer.",
	],
	[
		/^(?:ANSWER_TOO_LARGE|UND_ERR_HEADERS_OVERFLOW) \(exchange\)$/,
		"Answer too large",
		"The headers of your server's answer were larger than the 16 KB that we read.",
		"Send fewer or smaller headers, especially cookies.",
	],
	[
		/^TIMEOUT \(exchange\)$/,
		"No answer in 5 s",
		"We connected and sent the request, but your server did not answer within 5 seconds.",
		"Answer first (204 is fine) and do slow work afterwards. Your server may have processed the event: deduplicate by conversionId and event.",
	],
	[
		/\(exchange\)$/,
		"Connection broke",
		"We connected and TLS was fine, but the connection failed before an answer was complete.",
		IN_ITS_LOG,
	],
];

function explainStatus(status: number): AttemptCause {
	const title = `HTTP ${status}`;
	if (isSuccess(status)) return { title, meaning: "", advice: "" };
	const [meaning, advice] = STATUSES.get(status) ?? explainOtherStatus(status);
	return { title, meaning, advice };
}

type MeaningAndAdvice = readonly [meaning: string, advice: string];

const STATUSES: ReadonlyMap<number, MeaningAndAdvice> = new Map<number, MeaningAndAdvice>([
	[
		401,
		[
			"Your server did not accept the signature or the timestamp.",
			"Paste what your server received (path, headers and raw body, from its own log) into “Check a signature”: it shows what differs from what we sent.",
		],
	],
	[
		403,
		[
			"Your server refused access. The usual cause is a firewall or bot protection in front of it.",
			"Let POST requests to this path through.",
		],
	],
	[404, ["Nothing answers at this path.", "Check the URL letter by letter, and that the route is deployed."]],
	[405, ["The path does not take requests with this method.", "Check the URL and the route behind it."]],
	[
		408,
		["Your server gave up waiting for the request.", "Check the proxy in front of it and its time limits."],
	],
	[
		413,
		[
			"Your server finds the body too large.",
			"It has less than 2 KB: raise the limit of the server or proxy.",
		],
	],
	[415, ["Your server does not take application/json at this path.", "Let the route accept JSON."]],
	[429, ["Your server asks for fewer requests.", "Exempt our callbacks from its rate limit, or raise it."]],
	[
		502,
		[
			"The proxy in front of your application got no valid answer from it.",
			"Check that the application runs, and its log at this time.",
		],
	],
	[
		503,
		[
			"Your server says that it is not available.",
			"Check whether it was restarting, overloaded or in maintenance at this time.",
		],
	],
	[
		504,
		[
			"The proxy in front of your application got no answer from it in time.",
			"Answer first (204 is fine) and do slow work afterwards.",
		],
	],
]);

function explainOtherStatus(status: number): MeaningAndAdvice {
	if (status >= 300 && status <= 399) {
		return [
			"Your server answered with a redirect. Redirects are not followed.",
			"Enter the final URL. If it is a sign-in page, let the path be called without signing in.",
		];
	}
	if (status >= 400 && status <= 499) {
		return ["Your server rejected the request.", "Return 5xx, not 4xx, for temporary problems on your side."];
	}
	return ["Your server had an error.", "Check your server's log at this time."];
}
