// What people send again or before its time. A finished delivery is sent again as a new run: up to seven attempts, to the
// URL saved now; the event is the same, so receivers that deduplicate take it once. One that waits for its next attempt
// goes out now: it counts as the next of the seven, and the delays go on from it. Pressed twice, or by two people who saw
// the same attempt, it is sent once.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { isoTime, SECOND_MS } from "../domain/time.ts";
import { type Actor, personIdOf, transactInProgramme } from "../people/actor.ts";
import type { AccountsDeps } from "../people/deps.ts";
import type { Clock } from "../ports.ts";
import { type AuditNote, noteAudit } from "../store/queries/audit.ts";
import { bringForward, walkWaiting } from "../store/queries/bring-forward.ts";
import {
	type FailedSpan,
	findDeliveries,
	requeue,
	setAside,
	walkFailed,
} from "../store/queries/deliveries.ts";
import type { Db } from "../store/store.ts";

type ResendDeps = Pick<AccountsDeps, "store" | "clock">;

/** The programme whose callbacks are sent, and the party that asked for it. */
export interface Asked {
	programmeId: number;
	maker: Actor;
}

type Note = (count: number) => Pick<AuditNote, "action" | "subject" | "detail">;
/** Null when there is no URL or no secret now. */
type Started = readonly unknown[] | null;

/** Nobody waits longer for the answer to a form. */
const MAX_FORM_MS = 5 * SECOND_MS;

/** How far a form or command came that works in batches: of what is left, a person presses the button again. */
export interface Worked {
	count: number;
	isAll: boolean;
}

/** A command goes on to the end. */
export function formGoesOn(clock: Clock, maker: Actor): () => boolean {
	const endsAtMs =
		maker.kind === "command line" ? Number.POSITIVE_INFINITY : clock.monotonicMs() + MAX_FORM_MS;
	return () => clock.monotonicMs() < endsAtMs;
}

/**
 * One transaction, in which who asks still has the right to integrate. Resolves to how many were changed. If any were, the
 * audit log has what `note` says, and the engine looks what is due.
 */
async function change(
	{ store, clock }: ResendDeps,
	{ programmeId, maker }: Asked,
	note: Note,
	start: (trx: Db, nowMs: number) => Promise<Started>,
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
		const personId = personIdOf(maker);
		if (count > 0) await noteAudit(trx, { personId, programmeId, ...note(count) }, nowMs);
		return succeed(count);
	};
	const sent = await transactInProgramme(store, maker, programmeId, startAndNote, "integrate");
	if (sent.ok && sent.value > 0) store.announceDue({ programmeIds: [programmeId], dueAtMs: nowMs });
	return sent;
}

/** Asks before each batch whether to go on, with how many were done so far. */
async function workThrough<Row>(
	deps: ResendDeps,
	asked: Asked & { goesOn?: (count: number) => boolean },
	note: Note,
	batches: AsyncIterable<readonly Row[]>,
	start: (trx: Db, programmeId: number, rows: readonly Row[], nowMs: number) => Promise<Started>,
): Promise<Result<Worked>> {
	const { goesOn = formGoesOn(deps.clock, asked.maker), programmeId } = asked;
	let count = 0;
	for await (const rows of batches) {
		if (!goesOn(count)) return succeed({ count, isAll: false });
		const started = await change(deps, asked, note, (trx, nowMs) => start(trx, programmeId, rows, nowMs));
		if (!started.ok) return started;
		count += started.value;
	}
	return succeed({ count, isAll: true });
}

/**
 * All that failed and are in sight, or those of them that failed since a time, up to now at most: what is refused again
 * meanwhile must not be sent round and round. Over several programmes, one that has no URL or no secret is left out.
 */
export async function resendFailed(
	deps: ResendDeps,
	{ programmeIds, maker }: Pick<Asked, "maker"> & { programmeIds: readonly number[] },
	{ fromMs, untilMs }: Partial<FailedSpan> = {},
	goesOn: (count: number) => boolean = formGoesOn(deps.clock, maker),
): Promise<Result<Worked>> {
	const nowMs = deps.clock.nowMs();
	const span = { fromMs, untilMs: Math.min(untilMs ?? nowMs, nowMs) };
	const since = fromMs === undefined ? "all that had failed" : `that failed since ${isoTime(fromMs)}`;
	const until = untilMs === undefined ? "" : ` until ${isoTime(untilMs)}`;
	const note: Note = (count) => ({ action: "deliveries.resent", detail: `${count}: ${since}${until}` });
	let resent = 0;
	for (const programmeId of programmeIds) {
		const failed = walkFailed(deps.store.db, deps.clock, programmeId, span);
		const asked = { programmeId, maker, goesOn: (count: number) => goesOn(resent + count) };
		const worked = await workThrough(deps, asked, note, failed, requeue);
		if (!worked.ok && (worked.fault.code !== "no_postback_url" || programmeIds.length === 1)) return worked;
		if (!worked.ok) continue;
		resent += worked.value.count;
		if (!worked.value.isAll) return succeed({ count: resent, isAll: false });
	}
	return succeed({ count: resent, isAll: true });
}

/**
 * What failed for good stays in sight until it was resent, or set aside here: badge, Overview and mails count it. It stays
 * in the list of failed callbacks. What had failed by the time the person saw.
 */
export function setFailedAside(deps: ResendDeps, asked: Asked, untilMs: number): Promise<Result<Worked>> {
	const note: Note = (count) => ({ action: "deliveries.set_aside", detail: `${count}` });
	const failed = walkFailed(deps.store.db, deps.clock, asked.programmeId, { untilMs });
	return workThrough(deps, asked, note, failed, (trx, _, rows) => setAside(trx, rows));
}

/** Everything that waits for its next attempt. */
export function sendAllWaiting(deps: ResendDeps, asked: Asked): Promise<Result<Worked>> {
	const note: Note = (count) => ({ action: "deliveries.sent_now", detail: `${count} that were waiting` });
	const waiting = walkWaiting(deps.store, deps.clock, asked.programmeId);
	return workThrough(deps, asked, note, waiting, bringForward);
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
	const noteOf =
		(how: "resent" | "sent_now"): Note =>
		(count) =>
			only === undefined
				? { action: `deliveries.${how}`, detail: `${count} chosen from the list` }
				: { action: `delivery.${how}`, subject: only };
	const resent = await change(deps, asked, noteOf("resent"), (trx, dueAtMs) =>
		requeue(trx, programmeId, ended, dueAtMs),
	);
	if (!resent.ok) return resent;
	const sentNow = await change(deps, asked, noteOf("sent_now"), (trx, dueAtMs) =>
		bringForward(trx, programmeId, waiting, dueAtMs),
	);
	if (!sentNow.ok) return sentNow;
	const leftAlone = seen.size - resent.value - sentNow.value;
	return succeed({ resent: resent.value, sentNow: sentNow.value, leftAlone });
}
