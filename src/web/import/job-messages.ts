// What is said above a file that is imported: what became of it, what keeps it from getting on, and what to do next.

import { SECOND_MS } from "../../domain/time.ts";
import type { BatchFailure } from "../../jobs/batch-failure.ts";
import { CLAIM_MS } from "../../jobs/claimed-jobs.ts";
import type { ImportSummary } from "../../jobs/summary.ts";
import { type Content, count, countOf, type Html, html, message, timeTag } from "../ui.ts";
import { whoOf } from "./import-page.ts";
import { isRestDiscarded, type JobView } from "./job-view.ts";

export function leftOut({ counts }: ImportSummary): Content {
	if (counts.refused === 0) return null;
	return message(
		"warn",
		`${countOf(counts.refused, "line")} will be left out, because ${counts.refused === 1 ? "it needs" : "they need"} fixing. Import the others now and those later, or correct the file and upload it again.`,
	);
}

export function adviceWithoutImport({ counts }: ImportSummary): string {
	return counts.refused === 0
		? "Nothing to import: everything in this file is here already."
		: "Nothing to import: every line is here already or needs fixing. Correct the lines below, and upload the file again.";
}

export function doneMessage({ kind, job }: JobView, { counts, remarks }: ImportSummary): Html {
	const what = `${countOf(counts.import, ...kind.noun)} imported.`;
	const mailed = job.invites === 1 && counts.import > remarks ? " Their invitations are on their way." : "";
	const unmailed =
		remarks === 0
			? ""
			: ` ${countOf(remarks, ...kind.noun)} came in without a mail; the result file says who and why.`;
	if (counts.refused === 0) return message(remarks === 0 ? "good" : "warn", `${what}${mailed}${unmailed}`);
	return message(
		"warn",
		`${what}${mailed}${unmailed} ${countOf(counts.refused, "line")} left out: see below.`,
	);
}

export function stoppedMessage({ job }: JobView): Html {
	const { access_ended_at_ms: endedAtMs } = job;
	const stopped = `Stopped after ${count(job.done_rows)} of ${countOf(job.row_count, "line")}`;
	const stays = "What was imported until then stays.";
	if (endedAtMs === null) return message("warn", `${stopped}. ${stays}`);
	const because = endedAtMs === job.finished_at_ms ? `${stopped}, because` : `${stopped}. Since then`;
	const advice = isRestDiscarded(job)
		? "Look at what came in."
		: "Look at what came in, then go on with it or discard the rest.";
	return message(
		"warn",
		html`${because} ${whoOf(job.appliedByEmail)} got a new password or lost their access (${timeTag(endedAtMs)}). ${stays} ${advice}`,
	);
}

/** Whoever has somebody's password can upload in their name, too. */
export function waitingMessage({ job }: JobView): Content {
	if (job.access_ended_at_ms === null) return null;
	return message(
		"warn",
		html`Since this file was uploaded, ${whoOf(job.email)} got a new password or lost their access (${timeTag(job.access_ended_at_ms)}). Nothing of it was imported. Look at what it would bring before you import it; if nobody knows the file, discard it.`,
	);
}

const WHY: Readonly<Record<BatchFailure["cause"], string>> = {
	database: "the database was out of reach, too busy, or out of room",
	unexpected: "an unexpected error",
};

/** While it is tried again, and once somebody has stopped it. */
export function failureMessage({ job, failure }: JobView): Content {
	if (failure === null) return null;
	const { cause, firstLine, lastLine, atMs } = failure;
	const lines =
		firstLine === lastLine ? `Line ${count(lastLine)}` : `Lines ${count(firstLine)} to ${count(lastLine)}`;
	const done = job.state === "uploaded" ? "checked" : "imported";
	const again =
		job.state === "stopped"
			? "None of them was stored."
			: `None of them was stored, and they are tried again every ${CLAIM_MS / SECOND_MS} seconds.`;
	return message(
		"bad",
		html`${lines} could not be ${done} (${timeTag(atMs)}): ${WHY[cause]}. ${again} ${adviceOn(failure)}`,
	);
}

function adviceOn({ cause }: BatchFailure): Content {
	if (cause === "database") {
		return "If it continues, look at the System page: it says how the database does, and how much room there is.";
	}
	return html`If it continues, look into the service’s log at that time, for <code>a chore failed</code>. The other lines can be imported without these: take these out of the file, and upload it again.`;
}
