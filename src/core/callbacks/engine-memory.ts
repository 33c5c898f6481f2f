// The engine's knowledge about the receivers of its slots. It knows which slots it owns, when each receiver is due, and
// which deliveries are in progress. All of it is in memory. The database is neither read nor written here.

import type { ReceiverId } from "../domain/receiver.ts";
import type { CallbackTarget, DueDelivery, ReadyDeliveries } from "../store/queries/queue.ts";
import type { Backlog } from "./counters.ts";
import type { Moment, ReadLimit } from "./decide.ts";
import { DueTimes, type ReceiverRead } from "./due-times.ts";
import { type Caps, SendBuffer } from "./send-buffer.ts";
import { findIdleSlots, Slots } from "./slots.ts";
import type { OpenTarget, TargetReading } from "./targets.ts";

/** Time for which a computed backlog is reused. Counting 20,000 receivers takes a millisecond or two. */
const BACKLOG_REUSED_MS = 100;

export interface AddedUnread {
	/** Targets of the receivers for which a delivery was added. */
	targets: ReadonlySet<CallbackTarget>;
	/** Receivers whose deliveries were all added, so that none of them has to be read from the queue. */
	completeIds: ReadonlySet<ReceiverId>;
}

const NONE_ADDED: AddedUnread = { targets: new Set(), completeIds: new Set() };

export class EngineMemory {
	readonly slots: Slots = new Slots();
	readonly buffer: SendBuffer;
	readonly dueTimes: DueTimes;
	readonly #openTarget: OpenTarget;
	/**
	 * Receivers whose URL or secret has changed since the current pass began. That pass may still read the old values.
	 */
	readonly #changedSincePassBegan = new Set<ReceiverId>();
	/** Monotonic time at which the engine last got a slot, or its machine was resumed. */
	#gotSlotsAtMs = Number.NEGATIVE_INFINITY;
	#backlog = {
		countedAtMs: Number.NEGATIVE_INFINITY,
		receiversDue: 0,
		oldestDueAtMs: null as number | null,
	};

	constructor(caps: Caps, openTarget: OpenTarget) {
		this.buffer = new SendBuffer(caps);
		this.dueTimes = new DueTimes((receiverId) => this.buffer.inProgress(receiverId));
		this.#openTarget = openTarget;
	}

	/** Returns the receivers whose deliveries the next pass must read, with the number of deliveries for each. */
	readable(nowMs: number): ReadLimit[] {
		const due = this.dueTimes.due(nowMs).filter((receiverId) => this.slots.maySendTo(receiverId));
		return this.buffer.limitsFor(due);
	}

	/** Returns the slots to give up that have no delivery in progress any more. */
	idleSlots(): number[] {
		return findIdleSlots(this.slots.leaving(), this.buffer.busyReceiverIds());
	}

	backlog(nowMs: number): Backlog {
		if (nowMs - this.#backlog.countedAtMs >= BACKLOG_REUSED_MS) {
			const counted = this.dueTimes.backlog(nowMs, this.buffer.waitingSince());
			this.#backlog = { countedAtMs: nowMs, ...counted };
		}
		return this.#backlog;
	}

	/** Updates the owned slots to what the database says. Returns whether one of them is new. */
	updateSlots(owned: readonly number[], share: number, { nowMs, monotonicMs }: Moment): boolean {
		const before = new Set(this.slots.all());
		const hasNew = owned.some((slot) => !before.has(slot));
		if (hasNew) this.#gotSlotsAtMs = monotonicMs;
		this.forgetSlots(before.difference(new Set(owned)));
		this.slots.update(owned, share);
		this.#releaseLeaving(nowMs);
		return hasNew;
	}

	leaveAllSlots(nowMs: number): void {
		this.slots.update(this.slots.all(), 0);
		this.#releaseLeaving(nowMs);
	}

	/**
	 * Drops the waiting deliveries of the slots that this engine is about to give up. If the engine keeps a slot after
	 * all, it reads the deliveries of that slot again.
	 */
	#releaseLeaving(nowMs: number): void {
		const leaving = this.buffer.waitingReceiverIds().filter((id) => !this.slots.maySendTo(id));
		if (leaving.length > 0) this.postpone(leaving, nowMs);
	}

	forgetSlots(slots: ReadonlySet<number>): void {
		if (slots.size === 0) return;
		this.slots.forget(slots);
		this.dueTimes.forgetSlots(slots);
		this.buffer.forgetSlots(slots);
	}

	/** Drops the waiting deliveries of these receivers. The engine reads them from the queue again at `untilMs`. */
	postpone(receiverIds: readonly ReceiverId[], untilMs: number): void {
		const ids = new Set(receiverIds);
		this.buffer.releaseWaiting((id) => ids.has(id));
		for (const id of ids) this.dueTimes.postpone(id, untilMs);
	}

	/**
	 * Drops all waiting deliveries and targets after the machine was suspended, so that the engine reads them again.
	 * Sales whose transaction began before the suspension are read from the queue as well. The monotonic clock stood
	 * still meanwhile, so it cannot tell which of two targets is newer.
	 */
	resume({ nowMs, monotonicMs }: Moment): void {
		this.#gotSlotsAtMs = monotonicMs;
		this.buffer.dropTargets();
		this.postpone(this.buffer.waitingReceiverIds(), nowMs);
	}

	/** Notes that the URL or the secret of a receiver has changed. */
	dropTarget(receiverId: ReceiverId, { nowMs, monotonicMs }: Moment): void {
		this.buffer.dropTarget(receiverId, monotonicMs);
		this.#changedSincePassBegan.add(receiverId);
		this.postpone([receiverId], nowMs);
	}

	/**
	 * Adds deliveries directly from the transactions of their sales, without reading the queue, as far as there is room.
	 */
	addUnread({ deliveries, targets, readAtMs }: ReadyDeliveries, nowMs: number): AddedUnread {
		// If the sale's transaction began before this engine took the slot, the previous owner may already have sent the
		// callback. If the transaction began before the machine was suspended, the target that it read is too old.
		if (readAtMs <= this.#gotSlotsAtMs) return NONE_ADDED;
		// The transaction read the target, and the engine may have missed a change of the target since then.
		const when = { readAtMs, learnedAtMs: readAtMs };
		const targetOf = new Map(targets.map((target) => [target.receiverId, target]));
		const added = new Set<CallbackTarget>();
		const incomplete = new Set<ReceiverId>();
		for (const delivery of deliveries) {
			const { receiverId } = delivery;
			const target = targetOf.get(receiverId);
			const isAdded =
				target !== undefined &&
				this.slots.maySendTo(receiverId) &&
				// If the receiver already has due deliveries, they are read first, so that the new one does not overtake them.
				this.dueTimes.dueAtMs(receiverId) > nowMs &&
				this.buffer.addUnread(delivery, this.#openTarget(target, when));
			if (isAdded) added.add(target);
			else incomplete.add(receiverId);
		}
		const addedIds = new Set([...added].map(({ receiverId }) => receiverId));
		return { targets: added, completeIds: addedIds.difference(incomplete) };
	}

	/** Returns the reads that a pass must make from the queue. The caller must pass their results to `addRead`. */
	beginReads(reads: readonly ReadLimit[]): ReceiverRead[] {
		this.#changedSincePassBegan.clear();
		return this.dueTimes.beginReads(reads);
	}

	addRead(
		requests: readonly ReceiverRead[],
		read: {
			deliveries: readonly DueDelivery[];
			nextDue: readonly { receiverId: ReceiverId; dueAtMs: number | null }[];
			targets: readonly CallbackTarget[];
		},
		when: Pick<TargetReading, "readAtMs" | "learnedAtMs">,
		nowMs: number,
	): void {
		const rowsOf = Map.groupBy(read.deliveries, ({ receiverId }) => receiverId);
		const nextDue = new Map(read.nextDue.map(({ receiverId, dueAtMs }) => [receiverId, dueAtMs]));
		for (const target of read.targets) {
			if (this.#changedSincePassBegan.has(target.receiverId)) continue;
			this.buffer.setTarget(target.receiverId, this.#openTarget(target, when));
		}
		for (const request of requests) {
			const { receiverId } = request;
			if (!this.slots.maySendTo(receiverId) || this.#changedSincePassBegan.has(receiverId)) continue;
			const rows = rowsOf.get(receiverId) ?? [];
			const deliveries = this.dueTimes.finishRead(request, rows, nextDue.get(receiverId) ?? null, nowMs);
			this.buffer.noteRead(receiverId, when.learnedAtMs);
			for (const delivery of deliveries) this.buffer.add(delivery);
		}
	}
}
