// How an attempt went, in words a shop's developer can act on: what happened, and what to do about it.

import { html } from "hono/html";
import type { DeliveryState } from "../../domain/delivery.ts";
import { MAX_ATTEMPTS } from "../../domain/retry.ts";
import type { Verdict } from "../../domain/verdict.ts";
import type { AttemptResult } from "../../store/tables/deliveries.ts";
import { type Tone, timeTag } from "../components/text.ts";
import type { Content } from "../html.ts";

export interface AttemptWords {
	tone: Tone;
	/** Short enough for a badge. */
	title: string;
	/** What to do next; empty where nothing is to be done. */
	advice: string;
}

export interface AttemptOutcome {
	result: AttemptResult;
	http_status: number | null;
	detail: string | null;
}

export function describeAttempt({ result, http_status: status, detail }: AttemptOutcome): AttemptWords {
	switch (result) {
		case "answered":
			return describeStatus(status ?? 0);
		case "timeout":
			return {
				tone: "bad",
				title: "No answer in 5 s",
				advice:
					"Nothing came back within 5 seconds. Answer first (204 will do) and do slow work afterwards; if the server does not even connect, check its firewall.",
			};
		case "network-error":
			return describeNetworkError(detail ?? "");
		case "forbidden-address":
			return {
				tone: "bad",
				title: "Private address",
				advice:
					"Nothing was sent: the Postback URL leads to a private or internal address. Enter one that can be reached from the internet, or correct the DNS record of its host.",
			};
		case "interrupted":
			return {
				tone: "warn",
				title: "Interrupted",
				advice:
					"Our service was stopped before the result was stored. It does not count, but your shop may have seen it.",
			};
		default:
			return result satisfies never;
	}
}

export interface DeliveryFate {
	state: DeliveryState;
	lastVerdict: Verdict | null;
	/** While it is pending. */
	dueAtMs: number | null;
}

/** What comes after the newest attempt of a delivery; null where nothing more is to be said. */
export function describeNext(fate: DeliveryFate, nowMs: number): Content {
	const { state, lastVerdict, dueAtMs } = fate;
	if (state === "failed" && lastVerdict === "retry") {
		return `That was the last of ${MAX_ATTEMPTS} attempts. Resend it when your server is well again.`;
	}
	if (state !== "pending") return null;
	if (dueAtMs === null || dueAtMs <= nowMs) return "It is being sent again now.";
	return html`It is sent again on ${timeTag(dueAtMs)}.`;
}

function describeStatus(status: number): AttemptWords {
	const title = `HTTP ${status}`;
	if (status >= 200 && status <= 299) return { tone: "good", title, advice: "" };
	if (status >= 300 && status <= 399) {
		return {
			tone: "bad",
			title,
			advice: "A redirect is not followed. Enter the URL it leads to as Postback URL.",
		};
	}
	return { tone: "bad", title, advice: STATUS_ADVICE.get(status) ?? adviceForOther(status) };
}

const STATUS_ADVICE: ReadonlyMap<number, string> = new Map([
	[401, "Your endpoint did not accept the signature. Paste the request below into “Check a signature”."],
	[
		403,
		"Your server forbids the request: a firewall or a bot protection in front of it may have to let it pass.",
	],
	[404, "Nothing answers at this path. Check the Postback URL, letter by letter."],
	[405, "The path does not take POST. Check the Postback URL and the route behind it."],
	[408, "Your server gave up waiting."],
	[413, "Your server finds the body too large. It has less than 2 KB: raise the limit."],
	[415, "Your server does not take application/json at this path."],
	[429, "Your server asks for fewer requests."],
	[502, "The proxy in front of your application got no good answer from it."],
	[503, "Your server says that it is not available now."],
	[504, "The proxy in front of your application waited for it in vain."],
]);

function adviceForOther(status: number): string {
	if (status >= 400 && status <= 499) {
		return "Taken as a deliberate refusal, which ends the delivery. Answer 5xx for temporary problems.";
	}
	return "Look into your server's log at this time.";
}

/** `detail` is the code and the stage that the engine wrote: "ECONNREFUSED (connect)". */
function describeNetworkError(detail: string): AttemptWords {
	const code = /^\S+/.exec(detail)?.[0] ?? "";
	const byStage = isFromOurResolver(detail) ? NO_DNS : undefined;
	const [title, advice] = byStage ??
		NETWORK_ADVICE.get(code) ?? [
			"Network error",
			`The connection failed with ${detail || "an unknown error"}. Check that the server can be reached from outside.`,
		];
	return { tone: "bad", title, advice };
}

/** For the page: the engine's own words, as far as they are about the shop's side. */
export function technicalDetail({ result, detail }: AttemptOutcome): string | null {
	const isOurs = result !== "network-error" || isFromOurResolver(detail ?? "");
	return isOurs ? null : detail;
}

/** What name servers say of a name is the shop's to mend; how we fail to reach ours is nobody's business there. */
function isFromOurResolver(detail: string): boolean {
	const [, code] = /^(\S+) \(look-up\)$/.exec(detail) ?? [];
	return code !== undefined && !DNS_ANSWERS.has(code);
}

const DNS_ANSWERS: ReadonlySet<string> = new Set([
	"ENOTFOUND",
	"ENODATA",
	"ESERVFAIL",
	"ETIMEOUT",
	"TOO_MANY_ADDRESSES",
]);

type TitleAndAdvice = readonly [title: string, advice: string];

const NO_NAME: TitleAndAdvice = [
	"Name not found",
	"The host has no address in the DNS. Check its spelling and its record.",
];
const NO_DNS: TitleAndAdvice = [
	"Name look-up failed",
	"The DNS gave no answer for this host. Check the name servers of the domain.",
];
const RESET: TitleAndAdvice = [
	"Connection closed",
	"The server closed the connection without an answer. Look into its log.",
];
const UNREACHABLE: TitleAndAdvice = [
	"Unreachable",
	"No way leads to the server's address. Check its network and firewall.",
];
const SELF_SIGNED: TitleAndAdvice = [
	"Certificate not trusted",
	"The certificate is self-signed. Use one of a public authority, such as Let's Encrypt.",
];
const INCOMPLETE_CHAIN: TitleAndAdvice = [
	"Certificate not trusted",
	"The certificate's issuer is not known here. Serve the full chain, intermediate certificates included.",
];
const NO_TLS: TitleAndAdvice = [
	"No TLS",
	"The server does not speak TLS at this port. Check the port in the Postback URL.",
];

const NETWORK_ADVICE: ReadonlyMap<string, TitleAndAdvice> = new Map<string, TitleAndAdvice>([
	[
		"ECONNREFUSED",
		["Connection refused", "Nothing listens on that port. Start the server, or correct the port."],
	],
	["ENOTFOUND", NO_NAME],
	["ENODATA", NO_NAME],
	["ETIMEOUT", NO_DNS],
	[
		"ESERVFAIL",
		["Name look-up failed", "The DNS answered with a failure. Check the name servers of the domain."],
	],
	["ECONNRESET", RESET],
	["EPIPE", RESET],
	["UND_ERR_SOCKET", RESET],
	["EHOSTUNREACH", UNREACHABLE],
	["ENETUNREACH", UNREACHABLE],
	["ETIMEDOUT", UNREACHABLE],
	["CERT_HAS_EXPIRED", ["Certificate expired", "Renew the server's TLS certificate."]],
	[
		"CERT_NOT_YET_VALID",
		["Certificate not valid yet", "Check the certificate's dates and the server's clock."],
	],
	[
		"ERR_TLS_CERT_ALTNAME_INVALID",
		["Certificate of another host", "The certificate does not name this host. Get one that does."],
	],
	["DEPTH_ZERO_SELF_SIGNED_CERT", SELF_SIGNED],
	["SELF_SIGNED_CERT_IN_CHAIN", SELF_SIGNED],
	["UNABLE_TO_VERIFY_LEAF_SIGNATURE", INCOMPLETE_CHAIN],
	["UNABLE_TO_GET_ISSUER_CERT", INCOMPLETE_CHAIN],
	["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", INCOMPLETE_CHAIN],
	["ERR_SSL_WRONG_VERSION_NUMBER", NO_TLS],
	["EPROTO", NO_TLS],
]);
