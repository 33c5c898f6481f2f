// Reads the next due work from the database, and notices if due work is not done.

import type { DatabaseSync } from "node:sqlite";
import { Broken, demand } from "../support/broken.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import type { Timeline, Watcher } from "./timeline.ts";

export interface StoreWatch extends Watcher {
	/**
	 * Throws unless the queue is empty, no window is open and no mail is unsent. This is called at the very end of a
	 * run.
	 */
	demandNothingWaits(): void;
}

/**
 * Maximum lateness without faults. This covers a silent engine (15 s), the chores (10 s, 30 s for mail), and a slow
 * shop with one request at a time (5 s per request).
 */
const LATE_WHEN_CALM_MS = 120_000;
/** Maximum lateness with faults. This covers stalls, downtimes and silent engines, one after the other. */
const LATE_WITH_FAULTS_MS = 60 * 60_000;
const MAX_SLACK_MS = 12_000;
/** Time for which a problem must last before owners are notified. */
const TOLD_AFTER_MS = 10 * 60_000;
/**
 * Maximum number of events between two leaps in time. It is far more than the busiest burst needs, so
 * exceeding it means that something is postponed again and again.
 */
const MAX_HAPPENINGS_BETWEEN_LEAPS = 5_000;

export function createStoreWatch(
	database: DatabaseSync,
	timeline: Timeline,
	site: {
		upSinceMs(): number;
		isCalm(): boolean;
		onLeap(): void;
		slack: SeededRandom;
		findBroken(): unknown;
	},
): StoreWatch {
	const nextDue = database.prepare("select min(due_at_ms) as at from queue");
	const nextWindow = database.prepare(
		`select min(at) as at from (
			select min(window_ends_at_ms) as at from conversions where status = 'RECORDED' and window_ends_at_ms is not null
			union all
			select min(window_ends_at_ms) from conversions where status = 'PARKED' and window_ends_at_ms is not null)`,
	);
	const nextMail = database.prepare(
		`select min(at) as at from (select mail_due_at_ms as at from notices where mail_due_at_ms is not null
			union all select due_at_ms from mail_queue where due_at_ms is not null)`,
	);
	/**
	 * Mails that must be sent before a run may end. The weekly mail about conversions that wait for a decision is not
	 * among them, because it comes every week while a conversion waits for a person.
	 */
	const lastMail = database.prepare(
		`select min(at) as at from (select mail_due_at_ms as at from notices where mail_due_at_ms is not null
			union all select due_at_ms from mail_queue
				where due_at_ms is not null and coalesce(topic, '') not like 'waiting:%')`,
	);
	const nextTelling = database.prepare(
		`select min(opened_at_ms) + ${TOLD_AFTER_MS} as at from notices where told_at_ms is null`,
	);
	const read = (statement: ReturnType<DatabaseSync["prepare"]>): number => {
		const at = statement.get()?.["at"];
		return typeof at === "number" ? at : Number.POSITIVE_INFINITY;
	};

	function nextInStoreMs(): number {
		const nextMs = Math.min(...[nextDue, nextWindow, nextMail, nextTelling].map(read));
		const allowedMs = site.isCalm() ? LATE_WHEN_CALM_MS : LATE_WITH_FAULTS_MS;
		const sinceMs = Math.max(nextMs, site.upSinceMs());
		demand(timeline.nowMs - sinceMs <= allowedMs, "everything due ends", () =>
			describeWaiting(database, timeline.nowMs),
		);
		// No work is due while no process can work.
		return site.upSinceMs() === Number.POSITIVE_INFINITY ? site.upSinceMs() : nextMs;
	}

	let happenings = 0;

	return {
		check() {
			happenings++;
			demand(
				happenings < MAX_HAPPENINGS_BETWEEN_LEAPS,
				"everything due ends",
				() => `nothing comes to rest: ${describeWaiting(database, timeline.nowMs)}`,
			);
			const broken = site.findBroken();
			if (broken !== undefined) throw broken;
		},
		nextInStoreMs,
		onLeap() {
			happenings = 0;
			site.onLeap();
			return site.slack.between(0, MAX_SLACK_MS);
		},
		demandNothingWaits() {
			const open = database.prepare(
				// A conversion that only a pixel has recorded is left out, because it waits for a person even after its
				// window.
				`select count(*) as at from conversions
					where status = 'PARKED' or (status = 'RECORDED' and (source <> 'pixel' or confirmed_at_ms is not null))`,
			);
			const stillOpen = read(open);
			demand(
				stillOpen === 0,
				"everything due ends",
				() => `the windows of ${stillOpen} conversions never passed`,
			);
			const nextMs = Math.min(...[nextDue, nextWindow, lastMail, nextTelling].map(read));
			if (nextMs !== Number.POSITIVE_INFINITY)
				throw new Broken("everything due ends", describeWaiting(database, timeline.nowMs));
		},
	};
}

/** Describes the rows that are still pending. */
function describeWaiting(database: DatabaseSync, nowMs: number): string {
	const rows = {
		engines: database.prepare("select id, renewed_at_ms from engines").all(),
		slots: database.prepare("select engine_id, count(*) as slots from slots group by engine_id").all(),
		delivery: database
			.prepare(
				`select q.*, d.state, d.attempts, r.endpoint_epoch as present_epoch, r.endpoint_id
					from queue q join deliveries d on d.id = q.id join receivers r on r.id = q.receiver_id
					order by q.due_at_ms limit 1`,
			)
			.get(),
		conversion: database
			.prepare(
				`select id, status, window_ends_at_ms from conversions
					where status in ('RECORDED', 'PARKED') order by window_ends_at_ms limit 1`,
			)
			.get(),
		notice: database
			.prepare(
				`select * from notices where mail_due_at_ms is not null or told_at_ms is null
					order by coalesce(mail_due_at_ms, opened_at_ms) limit 1`,
			)
			.get(),
	};
	return `at ${nowMs} there wait ${JSON.stringify(rows)}`;
}
