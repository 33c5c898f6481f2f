// A lane is one programme's way to its shop: what is claimed and waits, what is in flight, where it goes.
// Caps per lane and over all lanes keep a hanging shop from delaying anybody else.

import type { KeyObject } from "node:crypto";
import type { ClaimedDelivery, ClaimWish } from "../store/queue.ts";

export interface Caps {
	/** Requests in flight to one programme's shop. */
	perProgramme: number;
	/** Requests in flight in this process. */
	overall: number;
}

/** Where a lane's next request goes and how it is signed; null when there is no URL or no secret. */
export interface LaneTarget {
	url: string;
	/** Path and query: what is signed. */
	target: string;
	endpointId: number;
	key: KeyObject;
}

export interface Lane {
	programmeId: number;
	waiting: ClaimedDelivery[];
	inFlight: number;
	target: LaneTarget | null;
	/** When `target`, `endpointEpoch` and `isFailing` were read. */
	targetReadAtMs: number;
	/** Deliveries of an older epoch were made for a URL that has been removed since. */
	endpointEpoch: number;
	isFailing: boolean;
	lastTookMs: number;
	/** In the line of lanes that may send: at most once, so that every lane gets its turn. */
	isReady: boolean;
}

/**
 * A shop that answers within this gets more claimed ahead of sending, so that one commit serves many
 * deliveries; a slower one gets only what can go out at once.
 */
const FAST_ANSWER_MS = 250;
/** With eight in flight at 250 ms each, sixteen rounds pass in four seconds: well within the claim. */
const ROUNDS_AHEAD = 16;
/** Over all lanes; a held delivery is about a kilobyte. */
const MAX_HELD = 8_192;

/**
 * A change made in this process is announced and read at once; one made elsewhere is seen after this. It comes
 * no later than to a request that was already in flight.
 */
const TARGET_KEPT_MS = 1_000;

export class Lanes {
	readonly #caps: Caps;
	readonly #lanes = new Map<number, Lane>();
	readonly #ready: Lane[] = [];
	#inFlight = 0;
	#held = 0;

	constructor(caps: Caps) {
		this.#caps = caps;
	}

	get inFlight(): number {
		return this.#inFlight;
	}

	/** Claimed: waiting or in flight. */
	get held(): number {
		return this.#held;
	}

	lane(programmeId: number): Lane {
		const known = this.#lanes.get(programmeId);
		if (known !== undefined) return known;
		const lane: Lane = {
			programmeId,
			waiting: [],
			inFlight: 0,
			target: null,
			targetReadAtMs: Number.NEGATIVE_INFINITY,
			endpointEpoch: 0,
			isFailing: false,
			// Unknown: taken for slow until the first answer.
			lastTookMs: FAST_ANSWER_MS,
			isReady: false,
		};
		this.#lanes.set(programmeId, lane);
		return lane;
	}

	find(programmeId: number): Lane | undefined {
		return this.#lanes.get(programmeId);
	}

	/** How much to claim for each due programme: what its lane has room for, shared out evenly. */
	wishes(dueProgrammeIds: readonly number[], nowMs: number): ClaimWish[] {
		let room = MAX_HELD - this.#held;
		let left = dueProgrammeIds.length;
		const wishes: ClaimWish[] = [];
		for (const programmeId of dueProgrammeIds) {
			if (room <= 0) break;
			const fairShare = Math.max(1, Math.floor(room / left));
			left--;
			const limit = Math.min(this.#roomOf(programmeId), fairShare);
			if (limit <= 0) continue;
			const readAtMs = this.#lanes.get(programmeId)?.targetReadAtMs ?? Number.NEGATIVE_INFINITY;
			wishes.push({ programmeId, limit, skipsTarget: isRecent(readAtMs, nowMs) });
			room -= limit;
		}
		return wishes;
	}

	hold(delivery: ClaimedDelivery): void {
		const lane = this.lane(delivery.programmeId);
		lane.waiting.push(delivery);
		this.#held++;
		this.#lineUp(lane);
	}

	/**
	 * What may go out now, one from each lane in turn, as long as `hasRoom` says so. Each one sent must come
	 * back with `land`. False when something is ready and has to wait for room.
	 */
	sendReady(
		send: (lane: Lane, delivery: ClaimedDelivery) => void,
		hasRoom: () => boolean = () => true,
	): boolean {
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
			send(lane, delivery);
		}
		return this.#ready.length === 0;
	}

	/** What was sent has ended, or was not sent after all: `tookMs` is then null. */
	land(lane: Lane, tookMs: number | null): void {
		if (tookMs !== null) lane.lastTookMs = tookMs;
		lane.inFlight--;
		this.#inFlight--;
		this.#held--;
		this.#lineUp(lane);
	}

	/** Everything that is claimed but not sent; the lanes then wait for what is in flight only. */
	takeWaiting(): ClaimedDelivery[] {
		const waiting: ClaimedDelivery[] = [];
		for (const lane of this.#lanes.values()) waiting.push(...lane.waiting.splice(0));
		this.#held -= waiting.length;
		return waiting;
	}

	/**
	 * Lanes nobody uses are forgotten, so that memory follows the shops that are busy now. Failing ones stay:
	 * a result that is still to be stored must find them to end their notice.
	 */
	forgetIdle(): void {
		for (const [programmeId, lane] of this.#lanes) {
			if (lane.inFlight === 0 && lane.waiting.length === 0 && !lane.isFailing)
				this.#lanes.delete(programmeId);
		}
	}

	/** Programmes with claimed deliveries that wait, whose target was read too long ago to send them. */
	waitingOnOldTargets(nowMs: number): number[] {
		const old: number[] = [];
		for (const lane of this.#lanes.values()) {
			if (lane.waiting.length > 0 && !isRecent(lane.targetReadAtMs, nowMs)) old.push(lane.programmeId);
		}
		return old;
	}

	/** How long until a target has to be read anew because deliveries wait to be sent there. */
	targetsKeepForMs(nowMs: number): number {
		let leastMs = Number.POSITIVE_INFINITY;
		for (const { waiting, targetReadAtMs } of this.#lanes.values()) {
			if (waiting.length === 0) continue;
			const keepsForMs = isRecent(targetReadAtMs, nowMs) ? targetReadAtMs + TARGET_KEPT_MS - nowMs : 0;
			leastMs = Math.min(leastMs, keepsForMs);
		}
		return leastMs;
	}

	failingProgrammeIds(): Set<number> {
		const failing = new Set<number>();
		for (const lane of this.#lanes.values()) if (lane.isFailing) failing.add(lane.programmeId);
		return failing;
	}

	#lineUp(lane: Lane): void {
		if (lane.isReady || lane.waiting.length === 0 || lane.inFlight >= this.#caps.perProgramme) return;
		lane.isReady = true;
		this.#ready.push(lane);
	}

	#roomOf(programmeId: number): number {
		const lane = this.#lanes.get(programmeId);
		if (lane === undefined) return this.#caps.perProgramme;
		const rounds = lane.lastTookMs < FAST_ANSWER_MS ? ROUNDS_AHEAD : 1;
		return this.#caps.perProgramme * rounds - lane.waiting.length - lane.inFlight;
	}
}

/** A moment in the future was read before the clock was set back: then it is not known how old it is. */
function isRecent(readAtMs: number, nowMs: number): boolean {
	return readAtMs <= nowMs && nowMs - readAtMs < TARGET_KEPT_MS;
}
