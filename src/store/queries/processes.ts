// Which processes run: a handful of rows, one written by each of them a few times a minute.

import type { ProcessRecord } from "../../domain/process.ts";
import type { Db } from "../store.ts";

export async function saveProcess(db: Db, record: ProcessRecord): Promise<void> {
	const { instance, host, role, version, startedAtMs, seenAtMs, engine, mailFailure } = record;
	const present = {
		seen_at_ms: seenAtMs,
		in_hand: engine?.inHand ?? null,
		programmes_due: engine?.programmesDue ?? null,
		oldest_due_at_ms: engine?.oldestDueAtMs ?? null,
		most_in_flight: engine?.mostInFlight ?? null,
		mail_failed_at_ms: mailFailure?.atMs ?? null,
		mail_error: mailFailure?.reason ?? null,
	};
	await db
		.insertInto("processes")
		.values({ instance, host, role, version, started_at_ms: startedAtMs, ...present })
		.onConflict((conflict) => conflict.column("instance").doUpdateSet(present))
		.execute();
}

export async function removeProcess(db: Db, instance: string): Promise<void> {
	await db.deleteFrom("processes").where("instance", "=", instance).execute();
}

/** Those that have been silent for so long that nobody asks for them any more. */
export async function forgetProcesses(db: Db, seenBeforeMs: number): Promise<void> {
	await db.deleteFrom("processes").where("seen_at_ms", "<", seenBeforeMs).execute();
}

/** The longest running first. */
export async function listProcesses(db: Db): Promise<ProcessRecord[]> {
	const rows = await db
		.selectFrom("processes")
		.selectAll()
		.orderBy("started_at_ms")
		.orderBy("instance")
		.execute();
	return rows.map((row) => ({
		instance: row.instance,
		host: row.host,
		role: row.role,
		version: row.version,
		startedAtMs: row.started_at_ms,
		seenAtMs: row.seen_at_ms,
		engine:
			row.in_hand === null
				? null
				: {
						inHand: row.in_hand,
						programmesDue: row.programmes_due ?? 0,
						oldestDueAtMs: row.oldest_due_at_ms,
						mostInFlight: row.most_in_flight,
					},
		mailFailure:
			row.mail_failed_at_ms === null
				? null
				: { atMs: row.mail_failed_at_ms, reason: row.mail_error ?? "no reason was given" },
	}));
}
