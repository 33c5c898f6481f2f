// Why an attempt failed, and what to do about it: the same words in mails and on pages, wherever callbacks that fail are
// told of. A single attempt's own page says more.

import type { Verdict } from "../domain/verdict.ts";
import type { AttemptResult } from "../store/tables/deliveries.ts";

export interface LastFailure {
	last_result: AttemptResult | null;
	last_verdict: Verdict | null;
	last_http_status: number | null;
	last_detail: string | null;
}

export interface FailureCause {
	/** What happened, as the end of a sentence, without its full stop. */
	cause: string;
	/** What the shop does next, in whole sentences. */
	advice: string;
}

export function explainFailure(last: LastFailure): FailureCause {
	switch (last.last_result) {
		case "answered":
			return explainAnswer(last.last_verdict, last.last_http_status);
		case "timeout":
			return {
				cause: "your server did not answer within 5 seconds",
				advice:
					"Return a 2xx status first (204 is enough) and do slow work afterwards. If your server is down, start it again.",
			};
		case "network-error":
			return explainNetworkError(last.last_detail ?? "");
		case "forbidden-address":
			return {
				cause: "the Postback URL leads to a private or internal address, so nothing was sent",
				advice: "Enter a public address as the Postback URL, or correct the DNS record of its host.",
			};
		// An interrupted attempt is ours and says nothing about the shop: it never stands here.
		case "interrupted":
		case null:
			return { cause: "the cause is not known", advice: "" };
		default:
			return last.last_result satisfies never;
	}
}

function explainAnswer(verdict: Verdict | null, status: number | null): FailureCause {
	const answered = `your server answered HTTP ${status}`;
	if (verdict === "redirect") {
		return {
			cause: `${answered}, a redirect, which we do not follow`,
			advice: "Enter the final address as the Postback URL.",
		};
	}
	if (status === 401) {
		return {
			cause: `${answered}: it did not accept the signature`,
			advice:
				"Paste what your server received (headers and body) into “Check a signature”. Also check that it uses the signing secret that is active now.",
		};
	}
	if (verdict === "refused") {
		return {
			cause: `${answered}, which we take as a deliberate refusal and do not retry`,
			advice: `${REFUSED_ADVICE.get(status ?? 0) ?? "Check your server's log at that time."} Return 5xx for temporary problems.`,
		};
	}
	return { cause: answered, advice: "Check your server's log at that time." };
}

const REFUSED_ADVICE: ReadonlyMap<number, string> = new Map([
	[403, "A firewall or bot protection in front of your server may have to let our requests through."],
	[404, "Nothing answers at this path: check the Postback URL, letter by letter."],
	[405, "The path does not accept POST: check the Postback URL and the route behind it."],
	[410, "Nothing answers at this path any more: check the Postback URL."],
]);

const CHECK_SERVER = "Check that your server is running and can be reached from the internet.";

/** `detail` is the code and the stage that the engine wrote: "ECONNREFUSED (connect)". */
function explainNetworkError(detail: string): FailureCause {
	const [, code = "", stage = ""] = /^(\S+) \((\S+)\)$/.exec(detail) ?? [];
	switch (stage) {
		case "look-up":
			return {
				cause: "the name of your server could not be looked up in the DNS",
				advice: "Check the host name in the Postback URL and its DNS record.",
			};
		case "connect":
			return code === "ECONNREFUSED"
				? {
						cause: "your server refused the connection",
						advice: `Nothing listens on that port. ${CHECK_SERVER}`,
					}
				: { cause: "no connection to your server could be made", advice: CHECK_SERVER };
		case "tls":
			return code === "CERT_HAS_EXPIRED"
				? { cause: "the TLS certificate of your server has expired", advice: "Renew it." }
				: {
						cause: "no secure connection (TLS) to your server could be made",
						advice: "Check its certificate: a public authority, the right host name, the full chain.",
					};
		case "exchange":
			return {
				cause: "your server closed the connection without a complete answer",
				advice: "Check your server's log at that time.",
			};
		default:
			return { cause: "the connection to your server failed", advice: CHECK_SERVER };
	}
}
