// What a network error or a timeout means, by the stage at which it happened, and what the shop does about it.

import type { AttemptStage } from "../domain/verdict.ts";
import type { AttemptCause } from "./status-cause.ts";

export function explainTimeout(detail: string | null): AttemptCause {
	return TIMEOUTS[readDetail(detail).stage ?? "exchange"];
}

const TIMEOUTS: Readonly<Record<AttemptStage, AttemptCause>> = {
	"look-up": {
		title: "Name look-up failed",
		meaning: "The DNS gave no answer for the host of the Postback URL within 5 seconds.",
		advice: "Check the name servers of the domain.",
	},
	connect: {
		title: "No connection in 5 s",
		meaning: "Your server did not accept a connection within 5 seconds.",
		advice: "Check that it runs and that its firewall lets us in.",
	},
	tls: {
		title: "No TLS in 5 s",
		meaning: "Your server accepted the connection, but the TLS handshake was not finished within 5 seconds.",
		advice: "Check how busy the server is, and that HTTPS is served at the port of the Postback URL.",
	},
	exchange: {
		title: "No answer in 5 s",
		meaning: "We connected and sent the request, but your server did not answer within 5 seconds.",
		advice:
			"Answer first (204 is fine) and do slow work afterwards. Your server may have processed the event: deduplicate by conversionId and event.",
	},
};

export function explainNetworkError(detail: string | null): AttemptCause {
	const { code, stage } = readDetail(detail);
	if (stage === undefined) {
		return {
			title: "Network error",
			meaning: "The connection to your server failed.",
			advice: "Check that your server can be reached from the internet.",
		};
	}
	if (isFromOurResolver(detail)) return TIMEOUT_OF_DNS;
	if (stage === "exchange" && code.startsWith(PARSER_CODES)) return BROKEN;
	return ERRORS[stage].get(code) ?? OTHER_ERRORS[stage];
}

function readDetail(detail: string | null): { code: string; stage: AttemptStage | undefined } {
	const [, code = "", inBrackets] = /^(\S+) \((.+)\)$/.exec(detail ?? "") ?? [];
	return { code, stage: STAGES.find((stage) => stage === inBrackets) };
}

/** Of llhttp, which undici parses with. */
const PARSER_CODES = "HPE_";
const STAGES: readonly AttemptStage[] = ["look-up", "connect", "tls", "exchange"];

/** What name servers say of a name is the shop's to mend; how we fail to reach ours is nobody's business there. */
export function isFromOurResolver(detail: string | null): boolean {
	const { code, stage } = readDetail(detail);
	return stage === "look-up" && !ERRORS["look-up"].has(code);
}

const TIMEOUT_OF_DNS: AttemptCause = {
	title: "Name look-up failed",
	meaning: "The DNS gave no answer for the host of the Postback URL.",
	advice: "Check the name servers of the domain.",
};
const NO_NAME: AttemptCause = {
	title: "Name not found",
	meaning: "The host of the Postback URL has no address in the DNS.",
	advice: "Check its spelling and its DNS record.",
};
const UNREACHABLE: AttemptCause = {
	title: "Unreachable",
	meaning: "No connection to your server's address could be made.",
	advice: "Check that it runs, its network and its firewall.",
};
const SELF_SIGNED: AttemptCause = {
	title: "Certificate not trusted",
	meaning: "Your server's TLS certificate is self-signed.",
	advice: "Use one of a public authority, such as Let's Encrypt.",
};
const INCOMPLETE_CHAIN: AttemptCause = {
	title: "Certificate not trusted",
	meaning: "The issuer of your server's TLS certificate is not known here.",
	advice: "Serve the full chain, intermediate certificates included.",
};
const NO_TLS: AttemptCause = {
	title: "No TLS",
	meaning: "Your server does not speak TLS at this port.",
	advice: "Check the port in the Postback URL, and that HTTPS is served there.",
};
const BROKEN_HANDSHAKE: AttemptCause = {
	title: "TLS failed",
	meaning: "Your server broke off the TLS handshake.",
	advice: "Check its TLS settings: TLS 1.2 or newer, and a certificate for this host name.",
};
const CLOSED: AttemptCause = {
	title: "Closed without an answer",
	meaning:
		"We connected and TLS was fine, but your server closed the connection without answering the request.",
	advice:
		"Check its log at this time for a crash or a restart, and whether a proxy or firewall drops the request.",
};
const RESET: AttemptCause = {
	title: "Connection reset",
	meaning: "We connected and TLS was fine, but the connection was reset before an answer was complete.",
	advice: CLOSED.advice,
};
const BROKEN: AttemptCause = {
	title: "Broken answer",
	meaning: "Your server answered, but not with complete, valid HTTP headers.",
	advice: "Check what listens at this port, and what a proxy in front of it makes of the answer.",
};
const TOO_LARGE: AttemptCause = {
	title: "Answer too large",
	meaning: "What your server sent before the body was larger than the 16 KB that we read.",
	advice: "Send fewer or smaller headers, cookies above all.",
};

const ERRORS: Readonly<Record<AttemptStage, ReadonlyMap<string, AttemptCause>>> = {
	"look-up": new Map([
		["ENOTFOUND", NO_NAME],
		["ENODATA", NO_NAME],
		["ETIMEOUT", TIMEOUT_OF_DNS],
		["ESERVFAIL", { ...TIMEOUT_OF_DNS, meaning: "The DNS answered with a failure for the host." }],
		[
			"TOO_MANY_ADDRESSES",
			{
				title: "Too many addresses",
				meaning: "The host of the Postback URL has more than 64 addresses in the DNS.",
				advice: "Give it fewer.",
			},
		],
	]),
	connect: new Map([
		[
			"ECONNREFUSED",
			{
				title: "Connection refused",
				meaning: "Nothing listens at the address and port of the Postback URL.",
				advice: "Start the server, or correct the port.",
			},
		],
	]),
	tls: new Map([
		[
			"CERT_HAS_EXPIRED",
			{
				title: "Certificate expired",
				meaning: "Your server's TLS certificate has expired.",
				advice: "Renew it.",
			},
		],
		[
			"CERT_NOT_YET_VALID",
			{
				title: "Certificate not valid yet",
				meaning: "Your server's TLS certificate is not valid yet.",
				advice: "Check its dates and your server's clock.",
			},
		],
		[
			"ERR_TLS_CERT_ALTNAME_INVALID",
			{
				title: "Certificate of another host",
				meaning: "Your server's TLS certificate does not name this host.",
				advice: "Get one that does.",
			},
		],
		["DEPTH_ZERO_SELF_SIGNED_CERT", SELF_SIGNED],
		["SELF_SIGNED_CERT_IN_CHAIN", SELF_SIGNED],
		["UNABLE_TO_VERIFY_LEAF_SIGNATURE", INCOMPLETE_CHAIN],
		["UNABLE_TO_GET_ISSUER_CERT", INCOMPLETE_CHAIN],
		["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", INCOMPLETE_CHAIN],
		["ERR_SSL_WRONG_VERSION_NUMBER", NO_TLS],
		["ERR_SSL_PACKET_LENGTH_TOO_LONG", NO_TLS],
		["EPROTO", NO_TLS],
	]),
	exchange: new Map([
		["CLOSED_WITHOUT_ANSWER", CLOSED],
		["ECONNRESET", RESET],
		["EPIPE", RESET],
		["BROKEN_ANSWER", BROKEN],
		["ANSWER_TOO_LARGE", TOO_LARGE],
		["UND_ERR_HEADERS_OVERFLOW", TOO_LARGE],
	]),
};

/** Whatever else the system or a library says: where it happened is known in any case. */
const OTHER_ERRORS: Readonly<Record<AttemptStage, AttemptCause>> = {
	"look-up": TIMEOUT_OF_DNS,
	connect: UNREACHABLE,
	tls: BROKEN_HANDSHAKE,
	exchange: {
		title: "Connection broke",
		meaning: "We connected and TLS was fine, but the connection failed before an answer was complete.",
		advice: CLOSED.advice,
	},
};
