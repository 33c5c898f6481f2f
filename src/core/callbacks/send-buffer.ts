// The send buffer holds the deliveries that this engine has in progress, in one queue per receiver. A delivery is in
// progress while it waits to be sent, while its request is in flight, and until its result is stored. One limit per
// receiver and one for the process keep a receiver that hangs from delaying the others. Only this file decides what is
// sent next.

import type { ReceiverId } from "../domain/receiver.ts";
import { slotOf } from "../domain/slot.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { DeliveryInProgress, DueDelivery } from "../store/queries/queue.ts";
import type { ReadLimit } from "./decide.ts";
import type { TargetReading } from "./targets.ts";

export interface Caps {
	/** Maximum number of requests in flight to one receiver. */
	perReceiver: number;
	/** Maximum number of requests in flight in this process. */
	overall: number;
}

interface ReceiverQueue {
	receiverId: ReceiverId;
	inProgress: Map<number, DueDelivery>;
	/** Deliveries in progress whose request has not begun, in the order of sending. */
	waiting: DueDelivery[];
	inFlight: number;
	/** Duration of the receiver's last request. */
	lastTookMs: number;
	/**
	 * Whether this queue is in the round-robin list. A queue is in the list at most once, so that all receivers take
	 * turns.
	 */
	isReady: boolean;
	/** URL and key as last read, or null if they were not read yet or have changed since. */
	target: TargetReading | null;
	/** Monotonic time at which the database was last read for this receiver, or its target last changed. */
	updatedAtMs: number;
}

/**
 * Maximum number of deliveries read ahead for a fast receiver, as a multiple of its cap. One commit then serves many
 * deliveries.
 */
const MAX_ROUNDS_AHEAD = 16;
/**
 * Time for which deliveries are read ahead. The buffer holds as many deliveries of a receiver as that receiver can
 * answer in this time. A receiver that has not answered yet gets one batch.
 */
const AHEAD_MS = SECOND_MS;
/** Maximum number of deliveries waiting or in flight. Each takes about a kilobyte of memory. */
const MAX_WAITING_OR_IN_FLIGHT = 8_192;

export class SendBuffer {
	readonly #caps: Caps;
	readonly #queues = new Map<ReceiverId, ReceiverQueue>();
	/** Queues that have a delivery to send and room for it, in the order of their turns. */
	readonly #ready: ReceiverQueue[] = [];
	/** Queues with at least one waiting delivery. */
	readonly #waiting = new Map<ReceiverId, ReceiverQueue>();
	#inFlight = 0;
	#waitingOrInFlight = 0;

	constructor(caps: Caps) {
		this.#caps = caps;
	}

	get inFlight(): number {
		return this.#inFlight;
	}

	get waitingOrInFlight(): number {
		return this.#waitingOrInFlight;
	}

	inProgress(receiverId: ReceiverId): ReadonlyMap<number, DueDelivery> | undefined {
		return this.#queues.get(receiverId)?.inProgress;
	}

	/** Returns how many deliveries to read for each due receiver. The room is divided evenly. */
	limitsFor(dueReceiverIds: readonly ReceiverId[]): ReadLimit[] {
		let room = MAX_WAITING_OR_IN_FLIGHT - this.#waitingOrInFlight;
		let remaining = dueReceiverIds.length;
		const evenShare = MAX_WAITING_OR_IN_FLIGHT / remaining;
		const limits: ReadLimit[] = [];
		for (const receiverId of dueReceiverIds) {
			if (room <= 0) break;
			const share = Math.max(1, Math.floor(room / remaining));
			remaining--;
			const limit = Math.min(this.#roomOf(receiverId, evenShare), share);
			if (limit <= 0) continue;
			limits.push({ receiverId, limit });
			room -= limit;
		}
		return limits;
	}

	/** Sets the receiver's target, unless a sale has brought a newer one since this target was read. */
	setTarget(receiverId: ReceiverId, target: TargetReading): void {
		const queue = this.#queueOf(receiverId);
		if (queue.target === null || queue.target.readAtMs < target.readAtMs) queue.target = target;
	}

	/** Drops the receiver's target, because its URL or secret has changed. */
	dropTarget(receiverId: ReceiverId, monotonicMs: number): void {
		const queue = this.#queueOf(receiverId);
		queue.target = null;
		queue.updatedAtMs = monotonicMs;
	}

	/** Drops all targets. After a suspension they are older than the monotonic clock says. */
	dropTargets(): void {
		for (const queue of this.#queues.values()) queue.target = null;
	}

	targetOf(receiverId: ReceiverId): TargetReading | null {
		return this.#queues.get(receiverId)?.target ?? null;
	}

	/** Returns receivers that have a waiting delivery and a target learned before `beforeMs`. */
	receiversWithOldTarget(beforeMs: number): ReceiverId[] {
		const receiverIds: ReceiverId[] = [];
		for (const [id, { target }] of this.#waiting) {
			if ((target?.learnedAtMs ?? 0) < beforeMs) receiverIds.push(id);
		}
		return receiverIds;
	}

	noteRead(receiverId: ReceiverId, monotonicMs: number): void {
		this.#queueOf(receiverId).updatedAtMs = monotonicMs;
	}

	add(delivery: DueDelivery): void {
		const queue = this.#queueOf(delivery.receiverId);
		queue.inProgress.set(delivery.id, delivery);
		queue.waiting.push(delivery);
		this.#waiting.set(delivery.receiverId, queue);
		this.#waitingOrInFlight++;
		this.#lineUp(queue);
	}

	/**
	 * Adds a delivery straight from the transaction of its sale, if there is room. Returns false if the database was read for
	 * this receiver since that transaction began, because the delivery may then have been read and sent already. It also
	 * returns false if the target has changed since.
	 */
	addUnread(delivery: DueDelivery, target: TargetReading): boolean {
		const queue = this.#queueOf(delivery.receiverId);
		const isFull =
			queue.waiting.length + queue.inFlight >= this.#capacityOf(queue) ||
			this.#waitingOrInFlight >= MAX_WAITING_OR_IN_FLIGHT;
		if (isFull || queue.inProgress.has(delivery.id)) return false;
		if (target.readAtMs <= queue.updatedAtMs) return false;
		this.setTarget(delivery.receiverId, target);
		this.add(delivery);
		return true;
	}

	/**
	 * Calls `send` for each delivery that may be sent now, one from each receiver in turn, while `hasRoom` returns true. For
	 * each of them `endRequest` must be called later. Returns false if a delivery is ready and `hasRoom` refused it.
	 */
	sendReady(send: (delivery: DueDelivery) => void, hasRoom: () => boolean): boolean {
		while (this.#inFlight < this.#caps.overall) {
			if (this.#ready.length > 0 && !hasRoom()) return false;
			const queue = this.#ready.shift();
			if (queue === undefined) return true;
			queue.isReady = false;
			const delivery = queue.waiting.shift();
			// The queue's waiting deliveries were released meanwhile. The receiver may have a new queue by now.
			if (delivery === undefined) continue;
			if (queue.waiting.length === 0) this.#waiting.delete(queue.receiverId);
			queue.inFlight++;
			this.#inFlight++;
			this.#lineUp(queue);
			send(delivery);
		}
		return this.#ready.length === 0;
	}

	/** Records the end of a request. `tookMs` is null if nothing was sent after all. */
	endRequest({ receiverId }: DeliveryInProgress, tookMs: number | null): void {
		const queue = this.#queueOf(receiverId);
		if (tookMs !== null) queue.lastTookMs = tookMs;
		queue.inFlight--;
		this.#inFlight--;
		this.#waitingOrInFlight--;
		this.#lineUp(queue);
	}

	/**
	 * Returns whether a delivery is still in progress. If the engine lost the slot, the delivery is not, because another
	 * engine sends it.
	 */
	isInProgress(delivery: DeliveryInProgress): boolean {
		return this.#queues.get(delivery.receiverId)?.inProgress.get(delivery.id) === delivery;
	}

	/** Removes a delivery from the buffer, either because its result is stored or because it was not sent. */
	release({ receiverId, id }: DeliveryInProgress): void {
		this.#queues.get(receiverId)?.inProgress.delete(id);
	}

	/** Removes the waiting deliveries of some receivers from the buffer. Their rows in the database stay unchanged. */
	releaseWaiting(isChosen: (receiverId: ReceiverId) => boolean): void {
		for (const [receiverId, queue] of this.#waiting) {
			if (!isChosen(receiverId)) continue;
			for (const { id } of queue.waiting) queue.inProgress.delete(id);
			this.#waitingOrInFlight -= queue.waiting.length;
			queue.waiting = [];
			this.#waiting.delete(receiverId);
		}
	}

	waitingReceiverIds(): ReceiverId[] {
		return [...this.#waiting.keys()];
	}

	/** Yields each receiver with a waiting delivery, and the due time of the first such delivery. */
	*waitingSince(): Generator<[receiverId: ReceiverId, dueAtMs: number]> {
		for (const [receiverId, queue] of this.#waiting) {
			const [first] = queue.waiting;
			if (first !== undefined) yield [receiverId, first.dueAtMs];
		}
	}

	*busyReceiverIds(): Generator<ReceiverId> {
		for (const [receiverId, { inProgress }] of this.#queues) {
			if (inProgress.size > 0) yield receiverId;
		}
	}

	/** Forgets the receivers of these slots. Their requests in flight count against the caps until they end. */
	forgetSlots(slots: ReadonlySet<number>): void {
		this.releaseWaiting((receiverId) => slots.has(slotOf(receiverId)));
		for (const [receiverId, queue] of this.#queues) {
			if (!slots.has(slotOf(receiverId))) continue;
			queue.inProgress.clear();
			if (queue.inFlight === 0) this.#queues.delete(receiverId);
		}
	}

	#queueOf(receiverId: ReceiverId): ReceiverQueue {
		return this.#queues.getOrInsertComputed(receiverId, () => ({
			receiverId,
			inProgress: new Map(),
			waiting: [],
			inFlight: 0,
			lastTookMs: AHEAD_MS,
			isReady: false,
			target: null,
			updatedAtMs: Number.NEGATIVE_INFINITY,
		}));
	}

	/** Puts a queue at the end of the round-robin list if it may send. */
	#lineUp(queue: ReceiverQueue): void {
		if (queue.isReady || queue.waiting.length === 0 || queue.inFlight >= this.#caps.perReceiver) return;
		queue.isReady = true;
		this.#ready.push(queue);
	}

	/** Returns how many deliveries of a receiver may wait or be in flight at once. */
	#capacityOf({ lastTookMs }: ReceiverQueue): number {
		const rounds = Math.floor(AHEAD_MS / Math.max(1, lastTookMs));
		return this.#caps.perReceiver * Math.min(MAX_ROUNDS_AHEAD, Math.max(1, rounds));
	}

	/**
	 * Returns how many deliveries to read for a receiver. Returns 0 until its queue is half empty, because refilling it a
	 * few rows at a time would cost one query each.
	 */
	#roomOf(receiverId: ReceiverId, evenShare: number): number {
		const queue = this.#queues.get(receiverId);
		if (queue === undefined) return this.#caps.perReceiver;
		const capacity = this.#capacityOf(queue);
		if (queue.waiting.length > Math.min(capacity, evenShare) / 2) return 0;
		return capacity - queue.waiting.length - queue.inFlight;
	}
}
