// Why one attempt failed: what happened, and what the shop does about it. The same words on pages and in mails.

import type { AttemptResult } from "../store/tables/deliveries.ts";
import { explainNetworkError, explainTimeout, isFromOurResolver } from "./network-cause.ts";
import { type AttemptCause, explainStatus } from "./status-cause.ts";

/** An attempt as it is stored. */
export interface AttemptOutcome {
	result: AttemptResult;
	http_status: number | null;
	/** The code and the stage that the engine wrote: "ECONNREFUSED (connect)". */
	detail: string | null;
}

export function explainAttempt({ result, http_status, detail }: AttemptOutcome): AttemptCause {
	switch (result) {
		case "answered":
			return explainStatus(http_status ?? 0);
		case "timeout":
			return explainTimeout(detail);
		case "network-error":
			return explainNetworkError(detail);
		case "forbidden-address":
			return FORBIDDEN;
		default:
			return result satisfies never;
	}
}

/** For the page: the engine's own words, as far as they are about the shop's side. */
export function technicalDetail({ result, detail }: AttemptOutcome): string | null {
	return result === "network-error" && !isFromOurResolver(detail) ? detail : null;
}

const FORBIDDEN: AttemptCause = {
	title: "Private address",
	meaning: "Nothing was sent: the Postback URL leads to a private or internal address.",
	advice: "Enter a URL that can be reached from the internet, or correct the DNS record of its host.",
};
