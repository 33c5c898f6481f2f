// Starts, stops and discards a job after its preview.

import type { Side } from "#core/conversions/decide.ts";
import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import {
	type Actor,
	inProgramme,
	type Permission,
	personIdOf,
	type SignedInPerson,
	STAFF,
	transactAs,
} from "#core/people/actor.ts";
import type { Clock } from "#core/ports.ts";
import { noteAudit } from "#core/store/queries/audit.ts";
import type { Db, Store } from "#core/store/store.ts";
import { auditAreaOf, auditSubjectOf, findJob, type Job, moveJob, stoppedAt } from "../store/jobs.ts";
import type { JobKindName } from "../store/tables.ts";
import { JOB_KINDS } from "./kinds.ts";
import { parseSummary } from "./summary.ts";

type Deps = { store: Store; clock: Clock };
type Step = "prepared" | "started" | "stopped" | "discarded" | "finished";

/**
 * Writes an audit entry about a job. An entry about decisions belongs to their programme. An entry about an
 * import or payments has the name of the file as its subject, and one about statements has the month.
 */
export function noteJob(
	trx: Db,
	job: Job,
	step: Step,
	{ personId, detail, nowMs }: { personId: number | null; detail?: string | undefined; nowMs: number },
): Promise<void> {
	const { programme_id: programmeId, row_count, kind } = job;
	const about = { action: `${auditAreaOf(job)}.${step}`, subject: auditSubjectOf(job) } as const;
	const lines = `${row_count} ${JOB_KINDS[kind].noun[1]}`;
	return noteAudit(trx, { ...about, programmeId, personId, detail: detail ?? lines }, nowMs);
}

/**
 * Returns why a person who acts for `side` (the shop or the review team) may not apply or discard the job, or
 * null if they may. Only the party that created a job of decisions may do so, because staff must not approve
 * for a shop, and owners must not reject for the review team.
 */
export function whyNotYours({ decided_by: decidedBy }: Pick<Job, "decided_by">, side: Side): string | null {
	if (decidedBy === null || decidedBy === side) return null;
	return side === "review"
		? "The shop prepared these decisions. Only its owners can apply or discard them."
		: "The review team prepared these decisions. Only they can apply or discard them.";
}

/**
 * Returns the permission to create, start or end a job. A job of decisions belongs to a programme, and needs the right to
 * decide there. The transaction of such a step holds the access lock, so it cannot overlap with one that ends the person's
 * access. If the access ends first, the step is refused. If it ends afterwards, that transaction finds the job and stops
 * it.
 */
export function jobPermission(programmeId: number | null): Permission {
	return programmeId === null ? STAFF : inProgramme(programmeId, "decide");
}

/**
 * Applies a job, and applies it only once even if the button is pressed twice. A stopped job continues after
 * its last batch. `isConfirmed` says that the person has confirmed what the kind of job asks for lines with remarks.
 */
export async function startJob(
	{ store, clock }: Deps,
	job: Job,
	actor: Actor,
	invites: boolean,
	isConfirmed = false,
): Promise<Result<"started" | "already">> {
	const present = whyNotStart(job, job.kind);
	if (present !== null) return present;
	const confirmation = confirmationOf(job);
	if (confirmation !== null && !isConfirmed) {
		const advice = `Nothing was changed. Tick “${confirmation}” first, or discard the file.`;
		return refuse("needs_confirmation", advice);
	}
	const nowMs = clock.nowMs();
	const personId = personIdOf(actor);
	const applying = {
		state: "applying",
		applied_by: personId,
		claim_until_ms: 0,
		finished_at_ms: null,
		failure: null,
		access_ended_at_ms: null,
		invites: invites ? 1 : 0,
	} as const;
	const fromTheStart = { done_rows: 0, done_batches: 0, summary: null, applied_at_ms: nowMs };
	return transactAs<"started" | "already">(store, actor, jobPermission(job.programme_id), async (trx) => {
		const change = job.state === "stopped" ? applying : { ...applying, ...fromTheStart };
		if (!(await moveJob(trx, job.id, [job.state], change))) {
			const found = whyNotStart(await findJob(trx, job.programme_id, job.public_id), job.kind);
			return (
				found ?? refuse("job_not_ready", "Another person has stopped this job. Check it, then continue it.")
			);
		}
		const continued =
			job.state === "stopped" ? `continued after ${job.done_rows} of ${job.row_count} lines` : undefined;
		const detail = confirmation === null ? continued : `confirmed: ${confirmation}`;
		await noteJob(trx, job, "started", { personId, detail, nowMs });
		return succeed("started");
	});
}

/** Returns what a person must confirm before this job is applied, or null if there is nothing. */
export function confirmationOf({
	kind,
	state,
	summary,
}: Pick<Job, "kind" | "state" | "summary">): string | null {
	// The person who started the job has confirmed it, so continuing a stopped job needs no second
	// confirmation.
	if (state !== "previewed" || parseSummary(summary).remarks === 0) return null;
	return JOB_KINDS[kind].confirmation ?? null;
}

/**
 * Returns null if the job can be started or continued. Otherwise returns a refusal, or "already" if the job
 * was started before.
 */
function whyNotStart(job: Job | undefined, kind: JobKindName): Result<"already"> | null {
	const [origin, advice] =
		kind === "statements" ? ["month", "Prepare it again."] : ["file", "Upload it again."];
	if (job === undefined) {
		return refuse("job_not_ready", `This ${origin} was discarded, and nothing was changed. ${advice}`);
	}
	if (job.state === "applying" || job.state === "done") return succeed("already");
	if (job.state === "uploaded") {
		return refuse("job_not_ready", "The lines are still being checked. Wait for the preview, then apply it.");
	}
	if (job.state === "preparing") {
		return refuse(
			"job_not_ready",
			"The accounts are still being added up. Wait for the preview, then issue the statements.",
		);
	}
	if (job.lines === "kept") return null;
	return refuse(
		"job_not_ready",
		`The lines of this ${origin} were removed, because they were discarded or three days have passed. ${advice}`,
	);
}

/** Stops a job. The changes that it has already made stay. */
export function stopJob({ store, clock }: Deps, job: Job, actor: SignedInPerson): Promise<Result<"stopped">> {
	const nowMs = clock.nowMs();
	return transactAs(store, actor, jobPermission(job.programme_id), async (trx) => {
		if (!(await moveJob(trx, job.id, ["applying"], stoppedAt(nowMs)))) {
			return refuse("job_not_ready", "Only a job that is under way can be stopped.");
		}
		await noteJob(trx, job, "stopped", { personId: actor.personId, nowMs });
		return succeed("stopped");
	});
}

/**
 * Discards a job. If the job was never started, nothing of it remains. If it was stopped, its lines are
 * removed, and the record of its changes stays. Discarding a job twice has no further effect.
 */
export function discardJob(
	{ store, clock }: Deps,
	job: Job,
	actor: Actor,
	why?: string,
): Promise<Result<"discarded" | "rest discarded">> {
	const nowMs = clock.nowMs();
	const personId = personIdOf(actor);
	return transactAs<"discarded" | "rest discarded">(
		store,
		actor,
		jobPermission(job.programme_id),
		async (trx) => {
			if (await moveJob(trx, job.id, ["stopped"], { lines: "going" })) {
				const detail = `${job.row_count - job.done_rows} of ${job.row_count} lines discarded`;
				await noteJob(trx, job, "discarded", { personId, detail, nowMs });
				return succeed("rest discarded");
			}
			const change = { state: "discarded", claim: null, claim_until_ms: 0 } as const;
			if (!(await moveJob(trx, job.id, ["preparing", "uploaded", "previewed"], change))) {
				const present = await findJob(trx, job.programme_id, job.public_id);
				if (present === undefined) return succeed("discarded");
				if (present.state === "stopped" && present.lines !== "kept") return succeed("rest discarded");
				return refuse("job_not_ready", "Stop the job first. A finished one stays on record.");
			}
			await noteJob(trx, job, "discarded", { personId, detail: why, nowMs });
			return succeed("discarded");
		},
	);
}
