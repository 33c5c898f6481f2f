// Explains in notices, mails and pages why callbacks are failing. The explanation is about the newest final failure, or
// about the newest failed attempt if no delivery has finally failed.

import type { NoticesTable } from "../store/tables/notices.ts";
import { explainAttempt } from "./attempt-cause.ts";

export type LastFailure = Pick<
	NoticesTable,
	"last_result" | "last_verdict" | "last_http_status" | "last_detail"
>;

export interface FailureCause {
	/** Description of what happened. The first sentence may be only a few words. */
	cause: string;
	/** Advice on what the shop should do next, in whole sentences. */
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
