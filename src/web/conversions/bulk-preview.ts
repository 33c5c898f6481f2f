// What a job would do before it is applied, and did afterwards, in money: the same whether it came from a file, from
// ticked rows or from all that a filter found. And what of it cannot be undone.

import { DECISION_MOVES, type DecisionMove } from "../../conversions/decide.ts";
import { formatMinor } from "../../domain/money.ts";
import type { BulkJob } from "../../store/queries/bulk-jobs.ts";
import type { ChangeSum, VerdictCounts } from "../../store/queries/bulk-rows.ts";
import { progressSection } from "../components/job-progress.ts";
import {
	amount,
	button,
	type Content,
	count,
	countOf,
	dataTable,
	type Html,
	html,
	linkButton,
	message,
	postForm,
	section,
} from "../ui.ts";
import { VERDICTS } from "./bulk-row-table.ts";
import { digitsOf } from "./list-query.ts";

export const MOVE_WORDS: Readonly<Record<DecisionMove, { verb: string; done: string }>> = {
	approve: { verb: "Approve", done: "approved" },
	reject: { verb: "Reject", done: "rejected" },
	reverse: { verb: "Reverse", done: "reversed" },
};

/** The one decision of a job that was made on the list; null for a file, whose lines may differ. */
export function onlyMove({ source }: BulkJob, sums: readonly ChangeSum[]): DecisionMove | null {
	const [first] = sums;
	if (source === "file" || first === undefined) return null;
	return DECISION_MOVES.find((move) => move === first.decision) ?? null;
}

function moneySection(sums: readonly ChangeSum[], isApplied: boolean): Content {
	if (sums.length === 0) return null;
	const decimal = (minor: bigint, { currency }: ChangeSum) =>
		amount(formatMinor(minor, digitsOf(currency)), currency);
	return section({
		id: "money",
		title: isApplied ? "What was changed" : "What will change",
		...(sums.some(({ tests }) => tests > 0) ? { hint: "Sums leave tests out." } : {}),
		body: dataTable<ChangeSum>({
			caption: "By decision and currency",
			rows: sums,
			empty: null,
			stacks: true,
			columns: [
				{ title: "Decision", namesRow: true, cell: (sum) => moveWord(sum.decision) },
				{ title: "Conversions", isNumber: true, cell: changedCell },
				{ title: "Basket", isNumber: true, cell: (sum) => decimal(sum.basketMinor, sum) },
				{ title: "Commission", isNumber: true, cell: (sum) => decimal(sum.commissionMinor, sum) },
			],
		}),
	});
}

function changedCell({ rows, tests }: ChangeSum): Content {
	if (tests === 0) return count(rows);
	return html`${count(rows)}<span class="secondary">${countOf(tests, "test")}</span>`;
}

function moveWord(decision: string): string {
	const move = DECISION_MOVES.find((known) => known === decision);
	return move === undefined ? decision : MOVE_WORDS[move].verb;
}

/** In the shop's words: which of these can be taken back later, and that the shop is told. */
function undoWords(sums: readonly ChangeSum[]): string {
	const moves = new Set(sums.map(({ decision }) => decision));
	const sentences = [
		moves.has("reject") ? "Rejections cannot be undone." : null,
		moves.has("reverse") ? "Reversals cannot be undone." : null,
		moves.has("approve")
			? "An approval cannot be taken back; an approved conversion can only be reversed."
			: null,
		"Your shop gets a callback for each change.",
	];
	return sentences.filter((sentence) => sentence !== null).join(" ");
}

export interface Choice {
	job: BulkJob;
	href: string;
	counts: VerdictCounts;
	sums: readonly ChangeSum[];
	/** Why this reader may not apply it; null when they may. */
	notYours: string | null;
	csrf: Html;
}

/** Apply it, or not. */
export function renderChoice({ job, href, counts, sums, notYours, csrf }: Choice): Content {
	const money = moneySection(sums, false);
	if (notYours !== null) return html`${money}${message("info", notYours)}`;
	const discard = postForm({
		action: `${href}/discard`,
		csrf,
		className: "row",
		body: button({ label: job.source === "file" ? "Discard" : "Cancel", tone: "quiet" }),
	});
	if (counts.change === 0) {
		return html`${message("warn", adviceWithoutChange(job, counts))}<div class="row">${discard}</div>`;
	}
	const skipped = countSkipped(counts);
	const move = onlyMove(job, sums);
	const what = countOf(counts.change, move === null ? "change" : "conversion");
	const apply = postForm({
		action: `${href}/apply`,
		csrf,
		className: "row",
		body: button({
			label: `${move === null ? "Apply" : MOVE_WORDS[move].verb} ${what}`,
			tone: move === null || move === "approve" ? "primary" : "danger",
		}),
	});
	const left =
		skipped === 0
			? null
			: message(
					"warn",
					job.source === "file"
						? `${countOf(skipped, "row")} will be left out. The list below says why.`
						: `${countOf(skipped, "conversion")} will be left out. The list below says why.`,
				);
	return html`${money}${left}${message("info", undoWords(sums))}<div class="row">${apply}${discard}</div>`;
}

function adviceWithoutChange({ source }: BulkJob, counts: VerdictCounts): string {
	if (source !== "file") return "None of these conversions would change. The list below says why.";
	const isUndecided = VERDICTS.every((verdict) => verdict === "left" || counts[verdict] === 0);
	return isUndecided
		? "No row has a decision. Write approve, reject or reverse into the column decision, and upload the file again."
		: "None of these rows would change anything. Look at the reasons below, correct the file and upload it again.";
}

export function renderResult(href: string, counts: VerdictCounts, sums: readonly ChangeSum[]): Html {
	const skipped = countSkipped(counts);
	const text =
		skipped === 0
			? "Every decision was applied."
			: `${count(counts.change)} changed; ${count(skipped)} left out, each with its reason in the result file.`;
	return html`${message(skipped === 0 ? "good" : "warn", text)}${moneySection(sums, true)}<div class="row">${linkButton(
		{ label: "Download the result", tone: "primary", href: `${href}/result.csv` },
	)}</div>`;
}

export function countSkipped({ refused, unknown, malformed }: VerdictCounts): number {
	return refused + unknown + malformed;
}

/** While it is checked or applied in the background. */
export function renderProgress(job: BulkJob): Html {
	const noun = job.source === "file" ? "row" : "conversion";
	const isChecked = job.state === "uploaded";
	return progressSection({
		title: isChecked ? `Checking every ${noun}` : `Applying every ${noun}`,
		done: job.done_rows,
		total: job.row_count,
		text: `${count(job.done_rows)} of ${countOf(job.row_count, noun)} ${isChecked ? "checked" : "applied"}`,
	});
}
