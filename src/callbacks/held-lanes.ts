// This room is the engine that sends events to shops; begin at `engine.ts`.
// Here: the lanes that this engine has leased, and what it knows of each: when something falls due, how far it has
// read, what of it is in hand. When it is due is a hint, never the truth: the queue decides, and is looked at again.

import { SECOND_MS } from "../domain/time.ts";
import type { DeliveryInHand, DueDelivery, DueRead, ReadRequest } from "../store/queue.ts";
import {
	countInTheWay,
	FRONT,
	type HeldLane,
	isAfter,
	isFrontDue,
	MAX_ID,
	newLane,
	nextLookAtMs,
	type Position,
	readAfter,
} from "./held-lane.ts";

/** How much is wanted of a lane; the request itself asks for more where rows in hand lie in its way. */
export interface LaneRequest extends ReadRequest {
	wanted: number;
}

/** What a look at the queue means for its lanes. Nothing is changed by it before the pass has been stored. */
export interface Choice {
	deliveries: DueDelivery[];
	looks: { receiverId: number; after: Position; hasMore: boolean; dueAtMs: number; found: number }[];
}

/** A lane stays for so long after its last delivery, so that a busy shop's is not closed between two sales. */
const KEPT_IDLE_MS = 5 * SECOND_MS;
/** A pass shuts at most so many: each is an update. */
const SHUT_AT_ONCE = 500;

export class HeldLanes {
	readonly #lanes = new Map<number, HeldLane>();
	/** Announced since the last round began: what the queue said meanwhile may be older. */
	readonly #announced = new Set<number>();
	/** Counts up, so that each round starts with another of the lanes that are due. */
	#round = 0;

	get size(): number {
		return this.#lanes.size;
	}

	ids(): number[] {
		return [...this.#lanes.keys()];
	}

	/** Something of these has become due. Returns those that are not held here. */
	announce(receiverIds: readonly number[], nowMs: number): number[] {
		for (const receiverId of receiverIds) {
			this.note(receiverId, nowMs);
			// Also what is not held: the pass under way may be about to lease it.
			this.#announced.add(receiverId);
		}
		return receiverIds.filter((receiverId) => !this.#lanes.has(receiverId));
	}

	/** Something of this lane may be sent at `dueAtMs`; an earlier known time stays. */
	note(receiverId: number, dueAtMs: number): void {
		const lane = this.#lanes.get(receiverId);
		if (lane !== undefined && dueAtMs < lane.dueAtMs) lane.dueAtMs = dueAtMs;
	}

	/** Every lane is to be looked at: something may have become due that nobody named. */
	outdate(nowMs: number): void {
		for (const receiverId of this.#lanes.keys()) this.note(receiverId, nowMs);
	}

	/** Lanes with something due, in the order of this round. */
	due(nowMs: number): number[] {
		const due: number[] = [];
		for (const [receiverId, lane] of this.#lanes)
			if (nextLookAtMs(lane, nowMs) <= nowMs) due.push(receiverId);
		const first = due.length === 0 ? 0 : this.#round % due.length;
		return [...due.slice(first), ...due.slice(0, first)];
	}

	/** To be called once for each round: the next one starts with somebody else. */
	startRound(): void {
		this.#round = (this.#round + 1) % Number.MAX_SAFE_INTEGER;
		this.#announced.clear();
	}

	/** The next moment at which a lane has to be looked at that need not be now. */
	nextAfter(nowMs: number): number {
		let next = Number.POSITIVE_INFINITY;
		for (const lane of this.#lanes.values()) {
			const atMs = nextLookAtMs(lane, nowMs);
			if (atMs > nowMs && atMs < next) next = atMs;
		}
		return next;
	}

	requestsFor(limits: readonly { receiverId: number; limit: number }[], nowMs: number): LaneRequest[] {
		return limits.map(({ receiverId, limit: wanted }) => {
			const lane = this.#lanes.get(receiverId);
			const after = lane === undefined || isFrontDue(lane, nowMs) ? FRONT : readAfter(lane);
			const limit = wanted + (lane === undefined ? 0 : countInTheWay(lane, after));
			return { receiverId, afterDueAtMs: after.dueAtMs, afterId: after.id, limit, wanted };
		});
	}

	choose(requests: readonly LaneRequest[], read: DueRead, nowMs: number): Choice {
		const rowsOf = Map.groupBy(read.deliveries, ({ receiverId }) => receiverId);
		const nextDue = new Map(read.nextDue.map(({ receiverId, dueAtMs }) => [receiverId, dueAtMs]));
		const choice: Choice = { deliveries: [], looks: [] };
		for (const { receiverId, limit, wanted } of requests) {
			const rows = rowsOf.get(receiverId) ?? [];
			const inHand = this.#lanes.get(receiverId)?.inHand;
			const fresh = inHand === undefined ? rows : rows.filter(({ id }) => !inHand.has(id));
			const chosen = fresh.slice(0, wanted);
			for (const delivery of chosen) choice.deliveries.push(delivery);
			const isAll = rows.length < limit && chosen.length === fresh.length;
			const last = chosen.length < fresh.length ? chosen.at(-1) : rows.at(-1);
			const { dueAtMs, id } = isAll || last === undefined ? { dueAtMs: nowMs, id: MAX_ID } : last;
			choice.looks.push({
				receiverId,
				after: { dueAtMs, id },
				hasMore: !isAll,
				dueAtMs: isAll ? (nextDue.get(receiverId) ?? Number.POSITIVE_INFINITY) : nowMs,
				found: chosen.length,
			});
		}
		return choice;
	}

	/** Leased just now, or held before: what the pass has found and handed out. */
	learn(leased: readonly number[], { deliveries, looks }: Choice, handout: number, nowMs: number): void {
		for (const receiverId of leased) this.#lanes.set(receiverId, newLane(nowMs));
		for (const { receiverId, after, hasMore, dueAtMs, found } of looks) {
			const lane = this.#lanes.get(receiverId);
			if (lane === undefined) continue;
			lane.after = after;
			if (isAfter(after, lane.furthest)) lane.furthest = after;
			lane.hasMore = hasMore;
			lane.lookedAtMs = nowMs;
			if (isFrontDue(lane, nowMs)) lane.fromFrontAtMs = nowMs;
			lane.dueAtMs = this.#announced.has(receiverId) ? Math.min(nowMs, dueAtMs) : dueAtMs;
			if (found === 0) continue;
			lane.usedAtMs = nowMs;
			lane.shut = null;
		}
		for (const delivery of deliveries) {
			this.#lanes.get(delivery.receiverId)?.inHand.set(delivery.id, { delivery, handout });
		}
	}

	/** The number of the handout it came with; undefined when it is not in hand any more. */
	handoutOf(delivery: DeliveryInHand): number | undefined {
		const inHand = this.#lanes.get(delivery.receiverId)?.inHand.get(delivery.id);
		return inHand?.delivery === delivery ? inHand.handout : undefined;
	}

	/** It was stored how this one ended, or will never be. */
	putDown(delivery: DeliveryInHand, nowMs: number): void {
		const lane = this.#lanes.get(delivery.receiverId);
		lane?.inHand.delete(delivery.id);
		if (lane !== undefined) lane.usedAtMs = nowMs;
	}

	/** Lanes that have had nothing to send for a while, and will not for a while. */
	idle(nowMs: number): number[] {
		const idle: number[] = [];
		for (const [receiverId, lane] of this.#lanes) {
			if (idle.length === SHUT_AT_ONCE) break;
			if (lane.shut === null && this.#isIdle(receiverId, lane, nowMs)) idle.push(receiverId);
		}
		return idle;
	}

	noteShut(receiverIds: readonly number[]): void {
		for (const receiverId of receiverIds) {
			const lane = this.#lanes.get(receiverId);
			if (lane !== undefined) lane.shut = { fence: null };
		}
	}

	/** Lanes that were shut and that nothing came for since. */
	shutLanes(nowMs: number): { receiverId: number; fence: number | null }[] {
		const shut: { receiverId: number; fence: number | null }[] = [];
		for (const [receiverId, lane] of this.#lanes) {
			if (lane.shut === null || !this.#isIdle(receiverId, lane, nowMs)) continue;
			shut.push({ receiverId, fence: lane.shut.fence });
		}
		return shut;
	}

	noteFence(receiverId: number, fence: number): void {
		const shut = this.#lanes.get(receiverId)?.shut;
		if (shut != null) shut.fence = fence;
	}

	/** So many are to leave for another engine, those included that do already: nothing more of them is handed out. */
	startLeaving(count: number): number[] {
		const staying = [...this.#lanes].filter(([, lane]) => !lane.isLeaving);
		const leaving = staying.slice(this.#lanes.size - count);
		for (const [, lane] of leaving) lane.isLeaving = true;
		return leaving.map(([receiverId]) => receiverId);
	}

	/** Leaving, and nothing of them is in hand any more. */
	readyToLeave(): number[] {
		const ready: number[] = [];
		for (const [receiverId, { isLeaving, inHand }] of this.#lanes) {
			if (isLeaving && inHand.size === 0) ready.push(receiverId);
		}
		return ready;
	}

	/** What the store says, after a pass of which nobody knows whether it was stored. */
	correct(receiverIds: readonly number[], nowMs: number): void {
		const had = new Set(receiverIds);
		this.drop(this.ids().filter((receiverId) => !had.has(receiverId)));
		for (const receiverId of receiverIds) {
			if (!this.#lanes.has(receiverId)) this.#lanes.set(receiverId, newLane(nowMs));
		}
	}

	drop(receiverIds: readonly number[]): void {
		for (const receiverId of receiverIds) this.#lanes.delete(receiverId);
	}

	/** The lease is lost: somebody else has these lanes now, and what was in hand is void. */
	dropAll(): void {
		this.#lanes.clear();
		this.#announced.clear();
	}

	/** Lanes that have more due than was read, and how far each was read. */
	unread(nowMs: number): { receiverId: number; sinceMs: number }[] {
		return [...this.#lanes]
			.filter(([, { dueAtMs }]) => dueAtMs <= nowMs)
			.map(([receiverId, { after }]) => ({ receiverId, sinceMs: after.dueAtMs < 0 ? nowMs : after.dueAtMs }));
	}

	#isIdle(receiverId: number, lane: HeldLane, nowMs: number): boolean {
		return (
			!lane.isLeaving &&
			lane.inHand.size === 0 &&
			nowMs - lane.usedAtMs >= KEPT_IDLE_MS &&
			lane.dueAtMs > nowMs + KEPT_IDLE_MS &&
			!this.#announced.has(receiverId)
		);
	}
}
