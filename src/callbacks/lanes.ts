// A lane is the way to one programme's shop: what is in hand of it, which is what waits, what is in flight, and what is
// yet to be stored. Caps per lane and over all lanes keep a hanging shop from delaying anybody else. What is sent next
// is decided here and nowhere else.

import { slotOf } from "../domain/slot.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { DeliveryInHand, DueDelivery } from "../store/queries/queue.ts";
import type { KnownTarget } from "./targets.ts";

export interface Caps {
	/** Requests in flight to one programme's shop. */
	perProgramme: number;
	/** Requests in flight in this process. */
	overall: number;
}

interface Lane {
	programmeId: number;
	/** By id, until its result is stored. */
	inHand: Map<number, DueDelivery>;
	waiting: DueDelivery[];
	inFlight: number;
	lastTookMs: number;
	/** In the line of lanes that may send: at most once, so that all lanes are served in order. */
	isReady: boolean;
	/** Where it goes, as last read; null before that, and after a change. */
	target: KnownTarget | null;
	/** By the monotonic clock: when the queue was last read for it, or its target last changed. */
	newsAtMs: number;
}

/** A fast shop gets more handed out than can go out at once, so that one commit serves many deliveries. */
const MAX_ROUNDS_AHEAD = 16;
/** As much as goes out while its target is fresh. An unknown shop gets one round until its first answer. */
const AHEAD_MS = SECOND_MS;
/** Waiting or in flight, over all lanes; a delivery in hand is about a kilobyte. */
const MAX_UNDER_WAY = 8_192;

export class Lanes {
	readonly #caps: Caps;
	readonly #lanes = new Map<number, Lane>();
	readonly #ready: Lane[] = [];
	/** Those in which something waits. */
	readonly #waiting = new Map<number, Lane>();
	#inFlight = 0;
	#underWay = 0;

	constructor(caps: Caps) {
		this.#caps = caps;
	}

	get inFlight(): number {
		return this.#inFlight;
	}

	/** Waiting or in flight. */
	get underWay(): number {
		return this.#underWay;
	}

	inHand(programmeId: number): ReadonlyMap<number, DueDelivery> | undefined {
		return this.#lanes.get(programmeId)?.inHand;
	}

	/** How much to hand out of each due lane: what it has room for, shared out evenly. */
	limitsFor(dueProgrammeIds: readonly number[]): { programmeId: number; limit: number }[] {
		let room = MAX_UNDER_WAY - this.#underWay;
		let left = dueProgrammeIds.length;
		const mostEach = MAX_UNDER_WAY / left;
		const limits: { programmeId: number; limit: number }[] = [];
		for (const programmeId of dueProgrammeIds) {
			if (room <= 0) break;
			const share = Math.max(1, Math.floor(room / left));
			left--;
			const limit = Math.min(this.#roomOf(programmeId, mostEach), share);
			if (limit <= 0) continue;
			limits.push({ programmeId, limit });
			room -= limit;
		}
		return limits;
	}

	/** Unless a sale has brought a newer one since it was read. */
	noteTarget(programmeId: number, target: KnownTarget): void {
		const lane = this.#laneOf(programmeId);
		if (lane.target === null || lane.target.readAtMs < target.readAtMs) lane.target = target;
	}

	/** The queue was read for it until now. */
	noteRead(programmeId: number, monotonicMs: number): void {
		this.#laneOf(programmeId).newsAtMs = monotonicMs;
	}

	/** Programmes of which something waits, and the target was learned before. */
	agingProgrammeIds(beforeMs: number): number[] {
		const aging: number[] = [];
		for (const [id, { target }] of this.#waiting) if ((target?.learnedAtMs ?? 0) < beforeMs) aging.push(id);
		return aging;
	}

	noteChange(programmeId: number, monotonicMs: number): void {
		const lane = this.#laneOf(programmeId);
		lane.target = null;
		lane.newsAtMs = monotonicMs;
	}

	/**
	 * A sale straight from its transaction, if there is room, and neither the queue was read since, from which it may have
	 * been sent, nor the target changed.
	 */
	takeUnread(delivery: DueDelivery, target: KnownTarget): boolean {
		const lane = this.#laneOf(delivery.programmeId);
		const isFull = lane.waiting.length + lane.inFlight >= this.#mostIn(lane);
		if (isFull || this.#underWay >= MAX_UNDER_WAY || lane.inHand.has(delivery.id)) return false;
		if (target.readAtMs <= lane.newsAtMs) return false;
		this.noteTarget(delivery.programmeId, target);
		this.take(delivery);
		return true;
	}

	targetOf(programmeId: number): KnownTarget | null {
		return this.#lanes.get(programmeId)?.target ?? null;
	}

	take(delivery: DueDelivery): void {
		const lane = this.#laneOf(delivery.programmeId);
		lane.inHand.set(delivery.id, delivery);
		lane.waiting.push(delivery);
		this.#waiting.set(delivery.programmeId, lane);
		this.#underWay++;
		this.#lineUp(lane);
	}

	/**
	 * What may go out now, one from each lane after the other, as long as `hasRoom` says so. Each one sent must
	 * come back with `land`. False when something is ready and has to wait for room.
	 */
	sendReady(send: (delivery: DueDelivery) => void, hasRoom: () => boolean): boolean {
		while (this.#inFlight < this.#caps.overall) {
			if (this.#ready.length > 0 && !hasRoom()) return false;
			const lane = this.#ready.shift();
			if (lane === undefined) return true;
			lane.isReady = false;
			const delivery = lane.waiting.shift();
			// What waited in it was dropped since; by now the programme may have another lane.
			if (delivery === undefined) continue;
			if (lane.waiting.length === 0) this.#waiting.delete(lane.programmeId);
			lane.inFlight++;
			this.#inFlight++;
			this.#lineUp(lane);
			send(delivery);
		}
		return this.#ready.length === 0;
	}

	/** What was sent has ended, or was not sent after all: `tookMs` is then null. */
	land({ programmeId }: DeliveryInHand, tookMs: number | null): void {
		const lane = this.#laneOf(programmeId);
		if (tookMs !== null) lane.lastTookMs = tookMs;
		lane.inFlight--;
		this.#inFlight--;
		this.#underWay--;
		this.#lineUp(lane);
	}

	/** False when its slot was lost meanwhile: then another engine sends it, or has. */
	isInHand(delivery: DeliveryInHand): boolean {
		return this.#lanes.get(delivery.programmeId)?.inHand.get(delivery.id) === delivery;
	}

	/** Its result is stored, or it was not sent and stays in the queue as it was. */
	putDown({ programmeId, id }: DeliveryInHand): void {
		this.#lanes.get(programmeId)?.inHand.delete(id);
	}

	waitingProgrammeIds(): number[] {
		return [...this.#waiting.keys()];
	}

	/** Programmes of which something waits, and when the first of it was due. */
	*waitingSince(): Generator<[programmeId: number, dueAtMs: number]> {
		for (const [
			id,
			{
				waiting: [first],
			},
		] of this.#waiting)
			if (first !== undefined) yield [id, first.dueAtMs];
	}

	/** What waits in these lanes is not in hand any more: it is in the queue as it was. */
	dropWaiting(isMeant: (programmeId: number) => boolean): void {
		for (const [programmeId, lane] of this.#waiting) {
			if (!isMeant(programmeId)) continue;
			for (const { id } of lane.waiting) lane.inHand.delete(id);
			this.#underWay -= lane.waiting.length;
			lane.waiting = [];
			this.#waiting.delete(programmeId);
		}
	}

	/** Those of these slots of which nothing is in hand. */
	idleOf(slots: readonly number[]): number[] {
		const idle = new Set(slots);
		if (idle.size === 0) return [];
		for (const [programmeId, { inHand }] of this.#lanes)
			if (inHand.size > 0) idle.delete(slotOf(programmeId));
		return [...idle];
	}

	/** Nothing of these slots is ours any more; what is in flight still counts until it has landed. */
	drop(slots: ReadonlySet<number>): void {
		this.dropWaiting((programmeId) => slots.has(slotOf(programmeId)));
		for (const [programmeId, lane] of this.#lanes) {
			if (!slots.has(slotOf(programmeId))) continue;
			lane.inHand.clear();
			if (lane.inFlight === 0) this.#lanes.delete(programmeId);
		}
	}

	#laneOf(programmeId: number): Lane {
		return this.#lanes.getOrInsertComputed(programmeId, () => ({
			programmeId,
			inHand: new Map(),
			waiting: [],
			inFlight: 0,
			lastTookMs: AHEAD_MS,
			isReady: false,
			target: null,
			newsAtMs: Number.NEGATIVE_INFINITY,
		}));
	}

	#lineUp(lane: Lane): void {
		if (lane.isReady || lane.waiting.length === 0 || lane.inFlight >= this.#caps.perProgramme) return;
		lane.isReady = true;
		this.#ready.push(lane);
	}

	#mostIn({ lastTookMs }: Lane): number {
		const rounds = Math.floor(AHEAD_MS / Math.max(1, lastTookMs));
		return this.#caps.perProgramme * Math.min(MAX_ROUNDS_AHEAD, Math.max(1, rounds));
	}

	/** None while half of what it may have still waits: a few rows at a time would cost a look each. */
	#roomOf(programmeId: number, mostEach: number): number {
		const lane = this.#lanes.get(programmeId);
		if (lane === undefined) return this.#caps.perProgramme;
		const most = this.#mostIn(lane);
		if (lane.waiting.length > Math.min(most, mostEach) / 2) return 0;
		return most - lane.waiting.length - lane.inFlight;
	}
}
