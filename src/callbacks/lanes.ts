// A lane is the way to one receiver's shop: what is in hand and waits, and what is in flight. Caps per lane and over
// all lanes keep a hanging shop from delaying anybody else. What is sent is decided here and nowhere else.

import type { DueDelivery } from "../store/queue.ts";

export interface Caps {
	/** Requests in flight to one receiver's shop. */
	perProgramme: number;
	/** Requests in flight in this process. */
	overall: number;
}

interface Lane {
	waiting: DueDelivery[];
	inFlight: number;
	lastTookMs: number;
	/** In the line of lanes that may send: at most once, so that all lanes are served in order. */
	isReady: boolean;
}

/**
 * A shop that answers within this gets more handed out ahead of sending, so that one commit serves many
 * deliveries; a slower one gets only what can go out at once.
 */
const FAST_ANSWER_MS = 250;
/** With eight in flight at 250 ms each, sixteen rounds pass in four seconds: little is in hand when a process dies. */
const ROUNDS_AHEAD = 16;
/** Over all lanes; a delivery in hand is about a kilobyte. */
const MAX_IN_HAND = 8_192;

export class Lanes {
	readonly #caps: Caps;
	readonly #lanes = new Map<number, Lane>();
	readonly #ready: Lane[] = [];
	#inFlight = 0;
	#inHand = 0;

	constructor(caps: Caps) {
		this.#caps = caps;
	}

	get inFlight(): number {
		return this.#inFlight;
	}

	/** Waiting or in flight. */
	get inHand(): number {
		return this.#inHand;
	}

	/** How much to hand out of each due lane: what it has room for, shared out evenly. */
	limitsFor(dueReceiverIds: readonly number[]): { receiverId: number; limit: number }[] {
		let room = this.room;
		let left = dueReceiverIds.length;
		const mostEach = MAX_IN_HAND / left;
		const requests: { receiverId: number; limit: number }[] = [];
		for (const receiverId of dueReceiverIds) {
			if (room <= 0) break;
			const fairShare = Math.max(1, Math.floor(room / left));
			left--;
			const limit = Math.min(this.#roomOf(receiverId, mostEach), fairShare);
			if (limit <= 0) continue;
			requests.push({ receiverId, limit });
			room -= limit;
		}
		return requests;
	}

	/** So much more may be in hand, over all lanes. */
	get room(): number {
		return MAX_IN_HAND - this.#inHand;
	}

	takeInHand(delivery: DueDelivery): void {
		const lane = this.#laneOf(delivery.receiverId);
		lane.waiting.push(delivery);
		this.#inHand++;
		this.#lineUp(lane);
	}

	/**
	 * What may go out now, one from each lane after the other, as long as `hasRoom` says so. Each one sent must
	 * come back with `land`. False when something is ready and has to wait for room.
	 */
	sendReady(send: (delivery: DueDelivery) => void, hasRoom: () => boolean = () => true): boolean {
		while (this.#inFlight < this.#caps.overall) {
			if (this.#ready.length > 0 && !hasRoom()) return false;
			const lane = this.#ready.shift();
			if (lane === undefined) return true;
			lane.isReady = false;
			const delivery = lane.waiting.shift();
			if (delivery === undefined) continue;
			lane.inFlight++;
			this.#inFlight++;
			this.#lineUp(lane);
			send(delivery);
		}
		return this.#ready.length === 0;
	}

	/** What was sent has ended, or was not sent after all: `tookMs` is then null. */
	land(receiverId: number, tookMs: number | null): void {
		const lane = this.#laneOf(receiverId);
		if (tookMs !== null) lane.lastTookMs = tookMs;
		lane.inFlight--;
		this.#inFlight--;
		this.#inHand--;
		this.#lineUp(lane);
	}

	/** Receivers with deliveries in hand that are not sent yet. */
	waitingReceiverIds(): number[] {
		const ids: number[] = [];
		for (const [receiverId, { waiting }] of this.#lanes) if (waiting.length > 0) ids.push(receiverId);
		return ids;
	}

	/** When the first that waits in this lane was due. */
	waitingSinceMs(receiverId: number): number | undefined {
		return this.#lanes.get(receiverId)?.waiting[0]?.dueAtMs;
	}

	/** What is in hand of these and not sent; the lanes then wait for what is in flight only. */
	takeWaiting(receiverIds: readonly number[]): DueDelivery[] {
		const waiting = receiverIds.flatMap((receiverId) => this.#lanes.get(receiverId)?.waiting.splice(0) ?? []);
		this.#inHand -= waiting.length;
		return waiting;
	}

	/** Of these, lanes with nothing in hand are forgotten, so that memory follows the shops that are busy now. */
	forgetIdle(receiverIds: readonly number[]): void {
		for (const receiverId of receiverIds) {
			const lane = this.#lanes.get(receiverId);
			if (lane?.inFlight === 0 && lane.waiting.length === 0) this.#lanes.delete(receiverId);
		}
	}

	#laneOf(receiverId: number): Lane {
		const known = this.#lanes.get(receiverId);
		if (known !== undefined) return known;
		// An unknown shop is taken for slow until its first answer.
		const lane: Lane = { waiting: [], inFlight: 0, lastTookMs: FAST_ANSWER_MS, isReady: false };
		this.#lanes.set(receiverId, lane);
		return lane;
	}

	#lineUp(lane: Lane): void {
		if (lane.isReady || lane.waiting.length === 0 || lane.inFlight >= this.#caps.perProgramme) return;
		lane.isReady = true;
		this.#ready.push(lane);
	}

	/** None while half of what it may have still waits: a few rows at a time would cost a look each. */
	#roomOf(receiverId: number, mostEach: number): number {
		const lane = this.#lanes.get(receiverId);
		if (lane === undefined) return this.#caps.perProgramme;
		const rounds = lane.lastTookMs < FAST_ANSWER_MS ? ROUNDS_AHEAD : 1;
		const most = this.#caps.perProgramme * rounds;
		if (lane.waiting.length > Math.min(most, mostEach) / 2) return 0;
		return most - lane.waiting.length - lane.inFlight;
	}
}
