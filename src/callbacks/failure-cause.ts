// Why callbacks are failing, in words for notices, mails and pages. It explains the newest final failure, or the newest failed
// attempt if no delivery has finally failed.

import type { NoticesTable } from "../store/tables/notices.ts";
import { explainAttempt } from "./attempt-cause.ts";

export type LastFailure = Pick<
	NoticesTable,
	"last_result" | "last_verdict" | "last_http_status" | "last_detail"
>;

export interface FailureCause {
	/** What happened. The first sentence may be only a few words. */
	cause: string;
	/** What the shop should do next, in whole sentences. */
	advice: string;
}

export function explainFailure(last: LastFailure): FailureCause {
	const { last_result: result, last_http_status: http_status, last_detail: detail } = last;
	if (result === null) return { cause: "The cause is not known.", advice: "" };
	const { title, meaning, advice } = explainAttempt({ result, http_status, detail });
	const isRefusal = last.last_verdict === "refused";
	return {
		cause: `${title}. ${meaning}${isRefusal ? " We take it as a deliberate refusal and do not retry." : ""}`,
		advice,
	};
}
