// Lets people send callbacks again, or before they are due. A finished delivery is sent again as a new run of up to
// seven attempts, to the URL that is saved now. The event is the same, so a receiver that deduplicates processes it
// only once. A delivery that waits for its next attempt is sent at once. This attempt counts as one of the seven, and
// the later delays start from it. If the button is pressed twice, or by two people who saw the same attempt, the
// callback is sent only once.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import type { ReceiverId } from "../domain/receiver.ts";
import { isoTime, SECOND_MS } from "../domain/time.ts";
import { type Actor, personIdOf, transactAs } from "../people/actor.ts";
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
import { type CalledReceiver, receiverPermission } from "./receivers.ts";

type ResendDeps = Pick<AccountsDeps, "store" | "clock">;

export interface Asked {
	receiver: CalledReceiver;
	actor: Actor;
}

type Note = (count: number) => Pick<AuditNote, "action" | "subject" | "detail">;
/** Deliveries that were started, or null if the receiver has no URL or no secret. */
type Started = readonly unknown[] | null;

/** Maximum time that a person waits for the response to a form. */
const MAX_FORM_MS = 5 * SECOND_MS;

/** Progress of work that is done in batches. If work is left, the person presses the button again. */
export interface Worked {
	count: number;
	isAll: boolean;
}

/**
 * Returns a function that decides whether to start another batch. A form has limited time, and a command runs until
 * all work is done.
 */
export function formMayContinue(clock: Clock, actor: Actor): () => boolean {
	const endsAtMs =
		actor.kind === "command line" ? Number.POSITIVE_INFINITY : clock.monotonicMs() + MAX_FORM_MS;
	return () => clock.monotonicMs() < endsAtMs;
}

/**
 * Runs a transaction that checks that the actor still has the right "integrate". Resolves to the number of deliveries
 * that were changed. If there are any, the transaction writes the audit entry that `note` returns, and the engine is
 * notified.
 */
async function change(
	{ store, clock }: ResendDeps,
	{ receiver, actor }: Asked,
	note: Note,
	start: (trx: Db, nowMs: number) => Promise<Started>,
): Promise<Result<number>> {
	const nowMs = clock.nowMs();
	const startAndNote = async (trx: Db): Promise<Result<number>> => {
		const started = await start(trx, nowMs);
		if (started === null) {
			return refuse(
				"no_postback_url",
				"There is no URL or no signing secret now. Save a URL first, then resend.",
			);
		}
		const count = started.length;
		if (count > 0) await noteAudit(trx, noteFor({ receiver, actor }, note(count)), nowMs);
		return succeed(count);
	};
	const sent = await transactAs(store, actor, receiverPermission(receiver), startAndNote);
	if (sent.ok && sent.value > 0) store.announceDue({ receiverIds: [receiver.receiver_id], dueAtMs: nowMs });
	return sent;
}

/** Returns the audit entry. If the entry is about many callbacks of a partner, its subject is the partner. */
function noteFor({ receiver, actor }: Asked, note: ReturnType<Note>): AuditNote {
	const personId = personIdOf(actor);
	return "partner" in receiver
		? { personId, subject: receiver.partner.public_id, ...note }
		: { personId, programmeId: receiver.id, ...note };
}

/**
 * Works through all batches, or until `mayContinue` returns false. Before each batch, `mayContinue` is called with
 * the number of deliveries handled so far.
 */
async function workThrough<Row>(
	deps: ResendDeps,
	asked: Asked & { mayContinue?: (count: number) => boolean },
	note: Note,
	batches: AsyncIterable<readonly Row[]>,
	start: (trx: Db, receiverId: ReceiverId, rows: readonly Row[], nowMs: number) => Promise<Started>,
): Promise<Result<Worked>> {
	const { mayContinue = formMayContinue(deps.clock, asked.actor), receiver } = asked;
	let count = 0;
	for await (const rows of batches) {
		if (!mayContinue(count)) return succeed({ count, isAll: false });
		const started = await change(deps, asked, note, (trx, nowMs) =>
			start(trx, receiver.receiver_id, rows, nowMs),
		);
		if (!started.ok) return started;
		count += started.value;
	}
	return succeed({ count, isAll: true });
}

/**
 * Resends all failed deliveries that were not set aside, or only those that failed in a given period. The period ends
 * now at the latest, so that a callback that fails again is not resent endlessly. If several receivers are given,
 * receivers without a URL or a secret are skipped.
 */
export async function resendFailed(
	deps: ResendDeps,
	{ receivers, actor }: Pick<Asked, "actor"> & { receivers: readonly CalledReceiver[] },
	{ fromMs, untilMs }: Partial<FailedSpan> = {},
	mayContinue: (count: number) => boolean = formMayContinue(deps.clock, actor),
): Promise<Result<Worked>> {
	const nowMs = deps.clock.nowMs();
	const span = { fromMs, untilMs: Math.min(untilMs ?? nowMs, nowMs) };
	const since = fromMs === undefined ? "all that had failed" : `that failed since ${isoTime(fromMs)}`;
	const until = untilMs === undefined ? "" : ` until ${isoTime(untilMs)}`;
	const note: Note = (count) => ({ action: "deliveries.resent", detail: `${count}: ${since}${until}` });
	let resent = 0;
	for (const receiver of receivers) {
		const failed = walkFailed(deps.store.db, deps.clock, receiver.receiver_id, span);
		const asked = { receiver, actor, mayContinue: (count: number) => mayContinue(resent + count) };
		const worked = await workThrough(deps, asked, note, failed, requeue);
		if (!worked.ok && (worked.fault.code !== "no_postback_url" || receivers.length === 1)) return worked;
		if (!worked.ok) continue;
		resent += worked.value.count;
		if (!worked.value.isAll) return succeed({ count: resent, isAll: false });
	}
	return succeed({ count: resent, isAll: true });
}

/**
 * Sets aside the deliveries that had failed when the person looked. They stay in the list of failed callbacks, but
 * are no longer counted by the badge, the Overview and mails.
 */
export function setFailedAside(deps: ResendDeps, asked: Asked, untilMs: number): Promise<Result<Worked>> {
	const note: Note = (count) => ({ action: "deliveries.set_aside", detail: `${count}` });
	const failed = walkFailed(deps.store.db, deps.clock, asked.receiver.receiver_id, { untilMs });
	return workThrough(deps, asked, note, failed, (trx, _, rows) => setAside(trx, rows));
}

/** Sends all deliveries that wait for their next attempt, without further delay. */
export function sendAllWaiting(deps: ResendDeps, asked: Asked): Promise<Result<Worked>> {
	const note: Note = (count) => ({ action: "deliveries.sent_now", detail: `${count} that were waiting` });
	const waiting = walkWaiting(deps.store, deps.clock, asked.receiver.receiver_id);
	return workThrough(deps, asked, note, waiting, bringForward);
}

export interface SeenDelivery {
	publicId: string;
	run: number;
	/** Number of the last attempt that the person saw. */
	seq: number;
}

export interface SeenSent {
	resent: number;
	sentNow: number;
	/**
	 * Number of deliveries that were not sent, because they were cancelled, are in flight, or were tried after the
	 * person looked.
	 */
	leftAlone: number;
}

/**
 * Sends the deliveries that a person chose on a page. Finished deliveries are sent again, and waiting deliveries are
 * sent now. A delivery that was tried after the person looked is not sent.
 */
export async function sendSeen(
	deps: ResendDeps,
	asked: Asked,
	chosen: readonly SeenDelivery[],
): Promise<Result<SeenSent>> {
	const { receiver_id: receiverId } = asked.receiver;
	const seen = new Map(chosen.map((delivery) => [delivery.publicId, delivery]));
	const found = await findDeliveries(deps.store.db, receiverId, [...seen.keys()]);
	const ended = found.filter(({ public_id, state, run, attempts }) => {
		const shown = seen.get(public_id);
		return (state === "delivered" || state === "failed") && run === shown?.run && attempts === shown.seq;
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
		requeue(trx, receiverId, ended, dueAtMs),
	);
	if (!resent.ok) return resent;
	const sentNow = await change(deps, asked, noteOf("sent_now"), (trx, dueAtMs) =>
		bringForward(trx, receiverId, waiting, dueAtMs),
	);
	if (!sentNow.ok) return sentNow;
	const leftAlone = seen.size - resent.value - sentNow.value;
	return succeed({ resent: resent.value, sentNow: sentNow.value, leftAlone });
}
