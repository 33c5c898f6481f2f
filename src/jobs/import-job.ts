// What becomes of an uploaded file: somebody looks at the preview and has it brought in, stopped, or discarded.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { type Maker, transactAs } from "../people/links.ts";
import { type AuditNote, noteAudit } from "../store/queries/audit.ts";
import { findImport, type ImportJob, moveImport, stoppedAt } from "../store/queries/import-jobs.ts";
import type { Db } from "../store/store.ts";
import type { ImportDeps } from "./import-kind.ts";
import { importKind } from "./import-kinds.ts";

export type ImportJobDeps = Pick<ImportDeps, "store" | "clock" | "random">;

type JobNote = Pick<AuditNote, "personId" | "action"> & { detail?: string };

/** By the name of its file, as the command notes it. */
export function noteJob(trx: Db, job: ImportJob, note: JobNote, nowMs: number): Promise<void> {
	const detail = `${job.row_count} ${importKind(job.kind).noun[1]}`;
	return noteAudit(trx, { detail, ...note, subject: job.file_name }, nowMs);
}

/**
 * Pressed twice, or by two people, it is brought in once. One that was stopped goes on where it was. Under the lock of
 * the links: whoever ends the maker's access meanwhile finds it, and stops it.
 */
export async function startImport(
	{ store, clock }: ImportJobDeps,
	job: ImportJob,
	maker: Maker,
	invites: boolean,
): Promise<Result<"started" | "already">> {
	const present = judgeStart(job);
	if (present !== null) return present;
	const nowMs = clock.nowMs();
	const { personId } = maker;
	const begun = {
		state: "applying",
		applied_by: personId,
		claim_until_ms: 0,
		finished_at_ms: null,
		failure: null,
		access_ended_at_ms: null,
		invites: invites ? 1 : 0,
	} as const;
	const anew = {
		done_rows: 0,
		done_batches: 0,
		summary: null,
		applied_at_ms: nowMs,
	};
	return transactAs<"started" | "already">(store, maker, async (trx) => {
		const change = job.state === "stopped" ? begun : { ...begun, ...anew };
		if (!(await moveImport(trx, job.id, [job.state], change))) {
			const found = judgeStart(await findImport(trx, job.public_id));
			return (
				found ??
				refuse("job_not_ready", "Somebody else has stopped this import. Look at it, then go on with it.")
			);
		}
		const detail =
			job.state === "stopped" ? `continued after ${job.done_rows} of ${job.row_count} lines` : null;
		const note = { personId, action: "import.started" } as const;
		await noteJob(trx, job, detail === null ? note : { ...note, detail }, nowMs);
		return succeed("started");
	});
}

/** Null when it can be started, or gone on with. */
function judgeStart(job: ImportJob | undefined): Result<"already"> | null {
	if (job === undefined) {
		return refuse("job_not_ready", "This file was discarded, and nothing was imported. Upload it again.");
	}
	if (job.state === "applying" || job.state === "done") return succeed("already");
	if (job.state === "uploaded") {
		return refuse("job_not_ready", "The file is still being checked. Wait for the preview, then import it.");
	}
	if (job.lines === "kept") return null;
	return refuse(
		"job_not_ready",
		"The lines of this file were removed: they are kept for a day, or until somebody discards them. Upload it again.",
	);
}

/** What has come in by then stays. */
export function stopImport(
	{ store, clock }: Pick<ImportJobDeps, "store" | "clock">,
	job: ImportJob,
	personId: number,
): Promise<Result<"stopped">> {
	const nowMs = clock.nowMs();
	return store.transact(async (trx) => {
		if (!(await moveImport(trx, job.id, ["applying"], stoppedAt(nowMs)))) {
			return refuse("job_not_ready", "Only an import that is under way can be stopped.");
		}
		await noteJob(trx, job, { personId, action: "import.stopped" }, nowMs);
		return succeed("stopped");
	});
}

/**
 * Before it was begun nothing is left of it. Of one that was stopped the lines go, and the record of what was done stays.
 * Discarded already, it is as they want it.
 */
export function discardImport(
	{ store, clock }: Pick<ImportJobDeps, "store" | "clock">,
	job: ImportJob,
	/** Null: left for a day. */
	personId: number | null,
): Promise<Result<"discarded" | "rest discarded">> {
	return store.transact(async (trx) => {
		const note = { personId, action: "import.discarded" } as const;
		if (await moveImport(trx, job.id, ["stopped"], { lines: "going" })) {
			const detail = `${job.row_count - job.done_rows} of ${job.row_count} lines discarded`;
			await noteJob(trx, job, { ...note, detail }, clock.nowMs());
			return succeed("rest discarded");
		}
		const change = { state: "discarded", claim: null, claim_until_ms: 0 } as const;
		if (!(await moveImport(trx, job.id, ["uploaded", "previewed"], change))) {
			const present = await findImport(trx, job.public_id);
			if (present === undefined) return succeed("discarded");
			if (present.state === "stopped" && present.lines !== "kept") return succeed("rest discarded");
			return refuse("job_not_ready", "Stop the import first. A finished import stays on record.");
		}
		const detail = personId === null ? "not imported within a day" : undefined;
		await noteJob(trx, job, detail === undefined ? note : { ...note, detail }, clock.nowMs());
		return succeed("discarded");
	});
}
