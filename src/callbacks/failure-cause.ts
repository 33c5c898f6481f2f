// Why a callback finally failed, and what to do about it: the same words in the mail and on the page.

import { attemptsInWords, retrySpanInWords } from "../domain/retry.ts";
import type { Verdict } from "../domain/verdict.ts";

export interface FailureCause {
	/** What happened, as the end of a sentence. */
	cause: string;
	/** What the shop does next; empty where the cause says it all. */
	advice: string;
}

export function explainFailure(verdict: Verdict | null, httpStatus: number | null): FailureCause {
	if (verdict === null) return { cause: "unknown.", advice: "" };
	return CAUSES[verdict](httpStatus);
}

const ALL_ATTEMPTS = `${attemptsInWords()} over ${retrySpanInWords()}`;

const CAUSES: Readonly<Record<Verdict, (status: number | null) => FailureCause>> = {
	delivered: () => ({ cause: "delivered.", advice: "" }),
	retry: (status) =>
		status === null
			? {
					cause: `no answer came in ${ALL_ATTEMPTS}.`,
					advice: "Check that the server behind the Postback URL runs and can be reached from outside.",
				}
			: {
					cause: `${ALL_ATTEMPTS}; your shop last answered HTTP ${status}.`,
					advice: "Look into your server's log at the time of the last attempt.",
				},
	refused: (status) => ({
		cause: `your shop answered HTTP ${status}, which we take as a deliberate refusal.`,
		advice:
			status === 401
				? "Answer 5xx for temporary problems. A 401 mostly means that the signature check failed: compare it under “Check a signature”."
				: "Answer 5xx for temporary problems.",
	}),
	redirect: (status) => ({
		cause: `your shop answered with a redirect (HTTP ${status}), which we do not follow.`,
		advice: "Enter the final URL.",
	}),
	"forbidden address": () => ({
		cause: "the Postback URL leads to a private or internal address.",
		advice: "It must be public.",
	}),
};
