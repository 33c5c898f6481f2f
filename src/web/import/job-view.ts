// An uploaded file, as its page is made from it.

import type { BatchFailure } from "../../jobs/batch-failure.ts";
import type { ImportKind } from "../../jobs/import-kind.ts";
import type { ImportSummary } from "../../jobs/summary.ts";
import type { ListedImport } from "../../store/queries/import-jobs.ts";
import type { Html } from "../ui.ts";

export interface JobView {
	job: ListedImport;
	kind: ImportKind;
	/** Null before the first batch. */
	summary: ImportSummary | null;
	/** Why the last batch was not stored; null where it was. */
	failure: BatchFailure | null;
	href: string;
	/** Whether mails can be sent. */
	isMailOn: boolean;
	csrf: Html;
}

/** By somebody, or because it was left for a day. */
export function isRestDiscarded({ state, lines }: Pick<ListedImport, "state" | "lines">): boolean {
	return state === "stopped" && lines !== "kept";
}
