// Invariant 8 at the end of a run: every final failure is in a notice, every notice was mailed, and nobody was
// flooded.

import type { DatabaseSync } from "node:sqlite";
import { demand } from "./broken.ts";

/** The promises that are checked here. */
const TOLD = "8 owners are told";

export interface SentMail {
	to: readonly string[];
	/** True time. */
	atMs: number;
	/** As its text says. */
	failures: number;
}

const MAIL_INTERVAL_MS = 15 * 60_000;

export function auditNotices(
	database: DatabaseSync,
	failuresOf: ReadonlyMap<number, number>,
	mails: readonly SentMail[],
	emailOf: ReadonlyMap<number, string>,
	clockSpreadMs: number,
): void {
	const notices = database
		.prepare("select receiver_id, kind, failures, mailed_failures, ended_at_ms, mail_due_at_ms from notices")
		.all();
	for (const [programmeId, failures] of failuresOf) {
		const own = notices.filter(
			(row) => row["receiver_id"] === programmeId && row["kind"] === "callbacks_failing",
		);
		const noted = own.reduce((sum, row) => sum + Number(row["failures"]), 0);
		demand(noted === failures, TOLD, () => `programme ${programmeId}: ${failures} failed, ${noted} noted`);
		const mailed = own.reduce((sum, row) => sum + Number(row["mailed_failures"]), 0);
		demand(mailed === failures, TOLD, () => `programme ${programmeId}: ${failures} failed, ${mailed} mailed`);
		const taken = mails.filter(({ to }) => to.includes(emailOf.get(programmeId) ?? ""));
		demand(taken.length > 0 || failures === 0, TOLD, () => `programme ${programmeId} got no mail`);
		const told = taken.reduce((sum, mail) => sum + mail.failures, 0);
		demand(
			told >= failures,
			TOLD,
			() => `programme ${programmeId}: ${failures} failed, the mails speak of ${told}`,
		);
		const gaps = taken.slice(1).map(({ atMs }, index) => atMs - (taken[index]?.atMs ?? 0));
		const shortestMs = Math.min(...gaps, Number.POSITIVE_INFINITY);
		demand(
			shortestMs >= MAIL_INTERVAL_MS - clockSpreadMs,
			TOLD,
			() => `programme ${programmeId} got two mails within ${shortestMs} ms`,
		);
	}
	const ended = notices.filter(
		(row) => row["kind"] === "callbacks_failing" && row["ended_at_ms"] !== null,
	).length;
	const again = notices.filter((row) => row["kind"] === "callbacks_working_again").length;
	demand(ended === again, TOLD, () => `${ended} troubles ended, ${again} were told to work again`);
	const waiting = notices.filter((row) => row["mail_due_at_ms"] !== null).length;
	demand(waiting === 0, TOLD, () => `${waiting} notices still wait to be mailed`);
}
