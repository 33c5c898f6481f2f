// This room is what can happen to a conversion; `make-moves` writes all of it.
// Here: a person has read the preview and says: do it, or do not. Only the side that prepared it may: staff do not
// approve in a shop's name, nor owners reject in the review team's.

import type { Side } from "../conversions/decide.ts";
import type { ConversionsDeps } from "../conversions/deps.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { type BulkJob, deleteJob, moveJob } from "../store/queries/bulk-jobs.ts";
import { countVerdicts } from "../store/queries/bulk-rows.ts";
import type { Decider } from "./bulk-upload.ts";

/** Null when this side may. */
export function whyNotYours(job: Pick<BulkJob, "decided_by">, side: Side): string | null {
	if (job.decided_by === side) return null;
	return side === "review"
		? "The shop prepared these decisions. Only its owners can apply or discard them."
		: "The review team prepared these decisions. Only they can apply or discard them.";
}

/** Pressed twice, it is applied once. Whoever applies it is the one who decides. */
export async function startApplying(
	{ store, clock }: ConversionsDeps,
	job: BulkJob,
	{ personId, side }: Decider,
): Promise<Result<"started" | "already">> {
	const notYours = whyNotYours(job, side);
	if (notYours !== null) return refuse("not_allowed", notYours);
	if (job.state === "applying" || job.state === "done") return succeed("already");
	const nowMs = clock.nowMs();
	return store.transact(async (trx) => {
		const change = { state: "applying", done_rows: 0, applied_at_ms: nowMs, person_id: personId } as const;
		if (!(await moveJob(trx, job.id, "previewed", change))) {
			return job.state === "previewed"
				? succeed("already")
				: refuse("job_not_ready", "The rows are still being checked. Wait for the preview, then apply it.");
		}
		// One entry for one decision, however many batches it takes: each conversion's own history names the person, too.
		const { change: changes } = await countVerdicts(trx, job.id);
		const note = {
			personId,
			programmeId: job.programme_id,
			action: "conversions.decided" as const,
			subject: job.public_id,
			detail: `${changes} of ${job.row_count} to be changed`,
		};
		await noteAudit(trx, note, nowMs);
		return succeed("started");
	});
}

/** Only before it is applied: afterwards it is the record of what was done. */
export async function discardJob(
	{ store, clock }: ConversionsDeps,
	job: BulkJob,
	{ personId, side }: Decider,
): Promise<Result<"discarded">> {
	const notYours = whyNotYours(job, side);
	if (notYours !== null) return refuse("not_allowed", notYours);
	return store.transact(async (trx) => {
		if (!(await moveJob(trx, job.id, "previewed", { state: "storing" }))) {
			const advice = "Only decisions that are checked and not yet applied can be discarded.";
			return refuse("job_not_ready", advice);
		}
		await deleteJob(trx, job.id);
		if (job.source !== "file") return succeed("discarded");
		const note = {
			personId,
			programmeId: job.programme_id,
			action: "decisions.discarded" as const,
			subject: job.public_id,
			detail: `${job.row_count} rows`,
		};
		await noteAudit(trx, note, clock.nowMs());
		return succeed("discarded");
	});
}
