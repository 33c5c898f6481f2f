// What people send again or before its time. A finished delivery is sent again as a new run: up to seven attempts, to the
// URL saved now; the event is the same, so receivers that deduplicate take it once. One that waits for its next attempt
// goes out now: it counts as the next of the seven, and the delays go on from it. Pressed twice, or by two people who saw
// the same attempt, it is sent once.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { isoTime } from "../domain/time.ts";
import { type Maker, transactInProgramme } from "../people/links.ts";
import type { Clock } from "../ports.ts";
import { type AuditNote, noteAudit } from "../store/queries/audit.ts";
import { bringForward, walkWaiting } from "../store/queries/bring-forward.ts";
import {
	type FailedSpan,
	failedWithin,
	findDeliveries,
	requeue,
	setAside,
} from "../store/queries/deliveries.ts";
import type { Db, Store } from "../store/store.ts";

interface ResendDeps {
	store: Store;
	clock: Clock;
}

/** Whose callbacks, and who wants them sent; null is the command line. */
export interface Asked {
	programmeId: number;
	maker: Maker | null;
}

/** Per transaction; what is more goes batch by batch. */
const BATCH_ROWS = 500;

/**
 * One transaction, in which who asks still has the right to integrate. Resolves to how many were started. If any were, the
 * audit log has what `note` says, and the engine hears of it.
 */
async function send(
	{ store, clock }: ResendDeps,
	{ programmeId, maker }: Asked,
	note: (count: number) => Pick<AuditNote, "action" | "subject" | "detail">,
	/** Null when there is no URL or no secret now. */
	start: (trx: Db, dueAtMs: number) => Promise<readonly unknown[] | null>,
): Promise<Result<number>> {
	const nowMs = clock.nowMs();
	const startAndNote = async (trx: Db): Promise<Result<number>> => {
		const started = await start(trx, nowMs);
		if (started === null) {
			return refuse(
				"no_postback_url",
				"There is no Postback URL or no signing secret now. Save a URL first, then resend.",
			);
		}
		const count = started.length;
		const personId = maker?.personId ?? null;
		if (count > 0) await noteAudit(trx, { personId, programmeId, ...note(count) }, nowMs);
		return succeed(count);
	};
	const sent = await transactInProgramme(store, maker, programmeId, startAndNote, "integrate");
	if (sent.ok && sent.value > 0) store.announceDue({ programmeIds: [programmeId], dueAtMs: nowMs });
	return sent;
}

/**
 * All that failed and are in sight, or those of them that failed since a time, up to now at most: what is refused again
 * meanwhile must not be sent round and round. Over several programmes, one that has no URL or no secret is left out. Asks
 * before each batch whether to go on, with how many were sent so far, and resolves to how many were sent again.
 */
export async function resendFailed(
	deps: ResendDeps,
	{ programmeIds, maker }: Pick<Asked, "maker"> & { programmeIds: readonly number[] },
	{ fromMs, untilMs }: Partial<FailedSpan> = {},
	goesOn: (resent: number) => boolean = () => true,
): Promise<Result<number>> {
	const nowMs = deps.clock.nowMs();
	const endMs = Math.min(untilMs ?? nowMs, nowMs);
	const since = fromMs === undefined ? "all that had failed" : `that failed since ${isoTime(fromMs)}`;
	const until = untilMs === undefined ? "" : ` until ${isoTime(untilMs)}`;
	const note = (count: number) =>
		({ action: "deliveries.resent", detail: `${count}: ${since}${until}` }) as const;
	let resent = 0;
	for (const programmeId of programmeIds) {
		for (let found = BATCH_ROWS; found === BATCH_ROWS && goesOn(resent); ) {
			const asked = { programmeId, maker };
			const started = await send(deps, asked, note, async (trx, dueAtMs) => {
				const span = { fromMs: fromMs ?? 0, untilMs: endMs };
				const failed = await failedWithin(trx, programmeId, span, BATCH_ROWS);
				found = failed.length;
				return found === 0 ? [] : requeue(trx, programmeId, failed, dueAtMs);
			});
			if (!started.ok && (started.fault.code !== "no_postback_url" || programmeIds.length === 1))
				return started;
			if (!started.ok) break;
			resent += started.value;
			await deps.clock.yieldLoop();
		}
	}
	return succeed(resent);
}

/**
 * What failed for good stays in sight until it was resent, or set aside here: badge, Overview and mails count it. It stays
 * in the list of failed callbacks. What had failed by the time the person saw; resolves to how many were set aside.
 */
export async function setFailedAside(
	{ store, clock }: ResendDeps,
	{ programmeId, maker }: { programmeId: number; maker: Maker },
	untilMs: number,
): Promise<Result<number>> {
	const setBatchAside = async (trx: Db): Promise<Result<number>> => {
		const failed = await failedWithin(trx, programmeId, { untilMs }, BATCH_ROWS);
		const ids = failed.map(({ id }) => id);
		await setAside(trx, ids);
		const note = { personId: maker.personId, programmeId, action: "deliveries.set_aside" } as const;
		if (ids.length > 0) await noteAudit(trx, { ...note, detail: `${ids.length}` }, clock.nowMs());
		return succeed(ids.length);
	};
	for (let count = 0; ; ) {
		const done = await transactInProgramme(store, maker, programmeId, setBatchAside, "integrate");
		if (!done.ok) return done;
		count += done.value;
		if (done.value < BATCH_ROWS) return succeed(count);
		await clock.yieldLoop();
	}
}

/** Everything that waits for its next attempt. Resolves to how many are sent now. */
export async function sendAllWaiting(deps: ResendDeps, asked: Asked): Promise<Result<number>> {
	const note = (count: number) =>
		({ action: "deliveries.sent_now", detail: `${count} that were waiting` }) as const;
	let sent = 0;
	for await (const waiting of walkWaiting(deps.store, deps.clock, asked.programmeId)) {
		const brought = await send(deps, asked, note, (trx, dueAtMs) =>
			bringForward(trx, asked.programmeId, waiting, dueAtMs),
		);
		if (!brought.ok) return brought;
		sent += brought.value;
	}
	return succeed(sent);
}

export interface SeenDelivery {
	publicId: string;
	run: number;
	/** The number of its last attempt. */
	seq: number;
}

export interface SeenSent {
	/** In a new run. */
	resent: number;
	/** Those that waited for their next attempt. */
	sentNow: number;
	/** Cancelled for good, being sent at this moment, or tried since. */
	leftAlone: number;
}

/**
 * Those that a person has chosen on a page, at most as many as it shows: what has ended is sent again, what waits is sent
 * now. Each as the person saw it: what was tried or sent since is left alone.
 */
export async function sendSeen(
	deps: ResendDeps,
	asked: Asked,
	chosen: readonly SeenDelivery[],
): Promise<Result<SeenSent>> {
	const { programmeId } = asked;
	const seen = new Map(chosen.map((delivery) => [delivery.publicId, delivery]));
	const found = await findDeliveries(deps.store.db, programmeId, [...seen.keys()]);
	const ended = found.filter(({ public_id, state, run, attempts }) => {
		const as = seen.get(public_id);
		return (state === "delivered" || state === "failed") && run === as?.run && attempts === as.seq;
	});
	const waiting = found
		.filter(({ state }) => state === "pending")
		.map(({ id, public_id, attempts }) => ({ id, seq: seen.get(public_id)?.seq ?? attempts }));
	const only = seen.size === 1 ? found[0]?.public_id : undefined;
	const noteOf = (how: "resent" | "sent_now") => (count: number) =>
		only === undefined
			? ({ action: `deliveries.${how}`, detail: `${count} chosen from the list` } as const)
			: ({ action: `delivery.${how}`, subject: only } as const);
	const resent = await send(deps, asked, noteOf("resent"), (trx, dueAtMs) =>
		requeue(trx, programmeId, ended, dueAtMs),
	);
	if (!resent.ok) return resent;
	const sentNow = await send(deps, asked, noteOf("sent_now"), (trx, dueAtMs) =>
		bringForward(trx, programmeId, waiting, dueAtMs),
	);
	if (!sentNow.ok) return sentNow;
	const leftAlone = seen.size - resent.value - sentNow.value;
	return succeed({ resent: resent.value, sentNow: sentNow.value, leftAlone });
}
