// A lane is one programme's way to its shop: what is claimed and waits, and what is in flight. Caps per lane and over
// all lanes keep a hanging shop from delaying anybody else. Lanes are written here and nowhere else.

import type { ClaimedDelivery, ClaimRequest } from "../store/queue.ts";

export interface Caps {
	/** Requests in flight to one programme's shop. */
	perProgramme: number;
	/** Requests in flight in this process. */
	overall: number;
}

interface Lane {
	waiting: ClaimedDelivery[];
	inFlight: number;
	lastTookMs: number;
	/** In the line of lanes that may send: at most once, so that all lanes are served in order. */
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

	/** How much to claim for each due programme: what its lane has room for, shared out evenly. */
	claimRequests(dueProgrammeIds: readonly number[]): ClaimRequest[] {
		let room = MAX_HELD - this.#held;
		let left = dueProgrammeIds.length;
		const requests: ClaimRequest[] = [];
		for (const programmeId of dueProgrammeIds) {
			if (room <= 0) break;
			const fairShare = Math.max(1, Math.floor(room / left));
			left--;
			const limit = Math.min(this.#roomOf(programmeId), fairShare);
			if (limit <= 0) continue;
			requests.push({ programmeId, limit });
			room -= limit;
		}
		return requests;
	}

	hold(delivery: ClaimedDelivery): void {
		const lane = this.#laneOf(delivery.programmeId);
		lane.waiting.push(delivery);
		this.#held++;
		this.#lineUp(lane);
	}

	/**
	 * What may go out now, one from each lane after the other, as long as `hasRoom` says so. Each one sent must
	 * come back with `land`. False when something is ready and has to wait for room.
	 */
	sendReady(send: (delivery: ClaimedDelivery) => void, hasRoom: () => boolean = () => true): boolean {
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
	land(programmeId: number, tookMs: number | null): void {
		const lane = this.#laneOf(programmeId);
		if (tookMs !== null) lane.lastTookMs = tookMs;
		lane.inFlight--;
		this.#inFlight--;
		this.#held--;
		this.#lineUp(lane);
	}

	/** Programmes with claimed deliveries that are not sent yet. */
	waitingProgrammeIds(): number[] {
		const ids: number[] = [];
		for (const [programmeId, { waiting }] of this.#lanes) if (waiting.length > 0) ids.push(programmeId);
		return ids;
	}

	/** Everything that is claimed but not sent; the lanes then wait for what is in flight only. */
	takeWaiting(): ClaimedDelivery[] {
		const waiting: ClaimedDelivery[] = [];
		for (const lane of this.#lanes.values()) waiting.push(...lane.waiting.splice(0));
		this.#held -= waiting.length;
		return waiting;
	}

	/** Lanes nobody uses are forgotten, so that memory follows the shops that are busy now. */
	forgetIdle(): void {
		for (const [programmeId, { inFlight, waiting }] of this.#lanes) {
			if (inFlight === 0 && waiting.length === 0) this.#lanes.delete(programmeId);
		}
	}

	#laneOf(programmeId: number): Lane {
		const known = this.#lanes.get(programmeId);
		if (known !== undefined) return known;
		// An unknown shop is taken for slow until its first answer.
		const lane: Lane = { waiting: [], inFlight: 0, lastTookMs: FAST_ANSWER_MS, isReady: false };
		this.#lanes.set(programmeId, lane);
		return lane;
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
