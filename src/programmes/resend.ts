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
	type Delivery,
	type FailedSpan,
	failedWithin,
	findDeliveries,
	findDelivery,
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
 * One transaction, in which who asks still has the right to integrate. If anything was sent, which `note` says, it stands
 * in the audit log, and the engine hears of it.
 */
async function send<Value>(
	{ store, clock }: ResendDeps,
	{ programmeId, maker }: Asked,
	work: (trx: Db, nowMs: number) => Promise<Result<Value>>,
	note: (value: Value) => Pick<AuditNote, "action" | "subject" | "detail"> | null,
): Promise<Result<Value>> {
	const nowMs = clock.nowMs();
	let isSent = false;
	const noted = async (trx: Db): Promise<Result<Value>> => {
		const done = await work(trx, nowMs);
		const what = done.ok ? note(done.value) : null;
		isSent = what !== null;
		if (what !== null)
			await noteAudit(trx, { personId: maker?.personId ?? null, programmeId, ...what }, nowMs);
		return done;
	};
	const sent = await transactInProgramme(store, maker, programmeId, noted, "integrate");
	if (isSent) store.announceDue({ programmeIds: [programmeId], dueAtMs: nowMs });
	return sent;
}

/** The same for many: `what` is behind their number in the audit log. */
function sendMany(
	deps: ResendDeps,
	asked: Asked,
	action: "deliveries.resent" | "deliveries.sent_now",
	what: string,
	start: (trx: Db, dueAtMs: number) => Promise<readonly unknown[] | null>,
): Promise<Result<number>> {
	return send(
		deps,
		asked,
		async (trx, nowMs) => countStarted(await start(trx, nowMs)),
		(count) => (count === 0 ? null : { action, detail: `${count}${what}` }),
	);
}

function countStarted(started: readonly unknown[] | null): Result<number> {
	return started === null ? refuseNoUrl() : succeed(started.length);
}

export function resendDelivery(deps: ResendDeps, asked: Asked, publicId: string): Promise<Result<number>> {
	return send(
		deps,
		asked,
		async (trx, nowMs) => {
			const delivery = await findDelivery(trx, asked.programmeId, publicId);
			if (delivery === undefined) return refuseUnknown(publicId);
			if (delivery.state === "pending") {
				return refuse(
					"delivery_not_finished",
					"This callback is still pending. Wait until it has finished, or send it now.",
				);
			}
			if (delivery.state === "cancelled") return refuseCancelled();
			// None started means that somebody else has just pressed the same button.
			return countStarted(await requeue(trx, asked.programmeId, [delivery], nowMs));
		},
		(count) => (count === 0 ? null : { action: "delivery.resent", subject: publicId }),
	);
}

/** "under way": it is due already, or being sent. "tried since": there was another attempt than the person saw. */
export type SentNow = "sent" | "under way" | "tried since" | "ended";

export function sendNow(
	deps: ResendDeps,
	asked: Asked,
	publicId: string,
	/** The number of the last attempt that the person saw. */
	lastSeq: number,
): Promise<Result<SentNow>> {
	const { programmeId } = asked;
	return send<SentNow>(
		deps,
		asked,
		async (trx, nowMs) => {
			const delivery = await findDelivery(trx, programmeId, publicId);
			if (delivery === undefined) return refuseUnknown(publicId);
			if (delivery.state === "cancelled") return refuseCancelled();
			if (delivery.state !== "pending") return succeed("ended");
			const brought = await bringForward(trx, programmeId, [{ id: delivery.id, seq: lastSeq }], nowMs);
			if (brought === null) return refuseNoUrl();
			return brought.length === 0 ? explainNothing(trx, delivery, lastSeq) : succeed("sent");
		},
		(how) => (how === "sent" ? { action: "delivery.sent_now", subject: publicId } : null),
	);
}

async function explainNothing(trx: Db, { id }: Delivery, lastSeq: number): Promise<Result<SentNow>> {
	const row = await trx
		.selectFrom("queue")
		.innerJoin("programmes", "programmes.id", "queue.receiver_id")
		.select(["queue.seq", "queue.endpoint_epoch as epoch", "programmes.endpoint_epoch as presentEpoch"])
		.where("queue.id", "=", id)
		.executeTakeFirst();
	if (row === undefined) return succeed("ended");
	if (row.epoch < row.presentEpoch) return refuseCancelled();
	return succeed(row.seq === lastSeq ? "under way" : "tried since");
}

/**
 * All that failed and are in sight, or those of them that failed since a time, up to now at most: what is refused again meanwhile
 * must not be sent round and round. Over several programmes, one that has no URL or no secret is left out. Asks before
 * each batch whether to go on, with how many were sent so far, and resolves to how many were sent again.
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
	const what = `: ${since}${untilMs === undefined ? "" : ` until ${isoTime(untilMs)}`}`;
	let resent = 0;
	for (const programmeId of programmeIds) {
		for (let found = BATCH_ROWS; found === BATCH_ROWS && goesOn(resent); ) {
			const asked = { programmeId, maker };
			const started = await sendMany(deps, asked, "deliveries.resent", what, async (trx, dueAtMs) => {
				const span = { ...(fromMs === undefined ? {} : { fromMs }), untilMs: endMs };
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
	let sent = 0;
	for await (const waiting of walkWaiting(deps.store, deps.clock, asked.programmeId)) {
		const brought = await sendMany(deps, asked, "deliveries.sent_now", " that were waiting", (trx, dueAtMs) =>
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

export interface SelectedSent {
	/** In a new run. */
	resent: number;
	/** Those that waited for their next attempt. */
	sentNow: number;
	/** Cancelled for good, being sent at this moment, or sent by somebody else. */
	leftAlone: number;
}

/**
 * Those that a person has ticked in the list, at most as many as a page shows: what has ended is sent again, what waits is
 * sent now. Each as the person saw it: what somebody else has sent meanwhile is left alone.
 */
export async function sendSelected(
	deps: ResendDeps,
	asked: Asked,
	selected: readonly SeenDelivery[],
): Promise<Result<SelectedSent>> {
	const { programmeId } = asked;
	const seen = new Map(selected.map((delivery) => [delivery.publicId, delivery]));
	const found = await findDeliveries(deps.store.db, programmeId, [...seen.keys()]);
	const asSeen = found.filter(({ public_id, run, attempts }) => {
		const { run: seenRun, seq } = seen.get(public_id) ?? {};
		return run === seenRun && attempts === seq;
	});
	const ended = asSeen.filter(({ state }) => state === "delivered" || state === "failed");
	const rows = asSeen
		.filter(({ state }) => state === "pending")
		.map(({ id, attempts }) => ({ id, seq: attempts }));
	const what = " chosen from the list";
	const resent = await sendMany(deps, asked, "deliveries.resent", what, (trx, dueAtMs) =>
		requeue(trx, programmeId, ended, dueAtMs),
	);
	if (!resent.ok) return resent;
	const sentNow = await sendMany(deps, asked, "deliveries.sent_now", what, (trx, dueAtMs) =>
		bringForward(trx, programmeId, rows, dueAtMs),
	);
	if (!sentNow.ok) return sentNow;
	const leftAlone = seen.size - resent.value - sentNow.value;
	return succeed({ resent: resent.value, sentNow: sentNow.value, leftAlone });
}

function refuseUnknown(publicId: string): ReturnType<typeof refuse> {
	return refuse("unknown_delivery", `There is no callback ${publicId} here.`);
}

function refuseCancelled(): ReturnType<typeof refuse> {
	return refuse(
		"delivery_cancelled",
		"This callback was cancelled for good when the Postback URL was removed. Read the conversion's current status from the API instead.",
	);
}

function refuseNoUrl(): ReturnType<typeof refuse> {
	return refuse(
		"no_postback_url",
		"There is no Postback URL or no signing secret now. Save a URL first, then resend.",
	);
}
