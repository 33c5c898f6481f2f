// Why callbacks are failing, for notices, mails and every page: the newest final failure in its own words, or where
// nothing has finally failed the newest failed attempt.

import type { NoticesTable } from "../store/tables/notices.ts";
import { explainAttempt } from "./attempt-cause.ts";

export type LastFailure = Pick<
	NoticesTable,
	"last_result" | "last_verdict" | "last_http_status" | "last_detail"
>;

export interface FailureCause {
	/** What happened, in whole sentences, of which the first may be a few words. */
	cause: string;
	/** What the shop does next, in whole sentences. */
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
