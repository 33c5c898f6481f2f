// What the next pass is to do, and what the engine learns from it: the lanes it holds, what it has in hand, and the
// results that wait to be stored.

import { SECOND_MS } from "../domain/time.ts";
import type { Log } from "../ports.ts";
import { LEASE_MS, type Others, type Settlement } from "../store/queue.ts";
import { countStored, type EngineCounters, sumBacklog } from "./counters.ts";
import { Handouts } from "./handouts.ts";
import { HeldLanes } from "./held-lanes.ts";
import type { Lanes } from "./lanes.ts";
import { isRenewalDue, type Lease, lanesTooMany, leaseBeforeMs, RENEW_EVERY_MS } from "./lease.ts";
import type { PassInput, PassOutput } from "./pass.ts";
import type { Targets } from "./targets.ts";

interface PlannerDeps {
	lanes: Lanes;
	targets: Targets;
	counters: EngineCounters;
	log: Log;
}

/** Results per transaction: by then a commit costs each of them next to nothing. */
const MAX_RESULTS_WAITING = 2_048;
/** Stragglers are stored after this at the latest, so that the page shows them at once. */
export const RESULT_LINGER_MS = 100;
/** Lanes a pass leases at most, shared by all engines that look. */
export const LEASED_AT_ONCE = 512;
/** How soon the second look at a lane follows the first, and how often it is tried. */
const SECOND_LOOK_MS = SECOND_MS;

export class Planner {
	readonly #deps: PlannerDeps;
	readonly #held = new HeldLanes();
	readonly #handouts = new Handouts();
	#results: Settlement[] = [];
	/** Results whose storing has failed before: perhaps only the word of it was lost. */
	readonly #doubtful = new Set<Settlement>();
	/** The last pass failed without a word: lanes may have been leased or let go that are not known of. */
	#isInDoubt = false;
	/** So many results start a pass. Follows what is in hand, so that a single delivery is stored at once. */
	#flushAt = 1;
	/** When a lane that is nobody's falls due. */
	#freeDueAtMs = 0;
	/** The other engines at the last look; null before it. */
	#others: Pick<Others, "count" | "held"> | null = null;

	constructor(deps: PlannerDeps) {
		this.#deps = deps;
	}

	get heldLanes(): number {
		return this.#held.size;
	}

	/** There was no other engine at the last look. */
	get isAlone(): boolean {
		return this.#others?.count === 0;
	}

	get hasEnoughResults(): boolean {
		return this.#results.length >= this.#flushAt;
	}

	get resultsWaiting(): number {
		return this.#results.length;
	}

	/** How a delivery in hand was settled, to be stored with the next pass. */
	keep(settlement: Settlement): void {
		this.#results.push(settlement);
		this.#noteReturn(settlement);
	}

	/** Something has become due. Returns those whose lanes are not held here. */
	announce(where: readonly number[] | "anywhere", nowMs: number): readonly number[] {
		if (where === "anywhere") this.#held.outdate(nowMs);
		const elsewhere = where === "anywhere" ? [] : this.#held.announce(where, nowMs);
		if (where === "anywhere" || elsewhere.length > 0) this.#freeDueAtMs = nowMs;
		return elsewhere;
	}

	/** Null when there is nothing to do. */
	plan(lease: Lease, nowMs: number): PassInput | null {
		const due = this.#held.due(nowMs);
		const isRenewing = isRenewalDue(lease, nowMs);
		const looksForLanes = isRenewing || this.#freeDueAtMs <= nowMs;
		const moves = {
			shut: this.#held.idle(nowMs),
			shutBefore: this.#held.shutLanes(nowMs),
			leaving: this.#held.readyToLeave(),
		};
		const hasWork =
			looksForLanes ||
			this.#isInDoubt ||
			this.#results.length > 0 ||
			this.#deps.lanes.limitsFor(due).length > 0 ||
			Object.values(moves).some(({ length }) => length > 0) ||
			this.#waitsForTarget(nowMs);
		if (!hasWork) return null;
		this.#held.startRound();
		if (looksForLanes) this.#freeDueAtMs = Number.POSITIVE_INFINITY;
		return {
			...this.#compose(lease, due, nowMs),
			...moves,
			renewal: isRenewing ? { goodUntilMs: nowMs + LEASE_MS, held: this.#held.size } : null,
			lease: looksForLanes ? this.#leaseRequest(nowMs) : null,
		};
	}

	/** Stores what is left, and gives every lane to whoever comes. */
	planLast(lease: Lease, nowMs: number): PassInput {
		return { ...this.#compose(lease, [], nowMs), leaving: this.#held.ids(), isLast: true };
	}

	/** Nothing of the pass was stored, or the word of it was lost. Results that came in meanwhile go behind its own. */
	putBack({ settlements, handout }: PassInput, nowMs: number): void {
		for (const settlement of settlements) this.#doubtful.add(settlement);
		this.#results = [...settlements, ...this.#results];
		this.#handouts.doubt(handout);
		this.#isInDoubt = true;
		this.#held.outdate(nowMs);
		this.#freeDueAtMs = nowMs;
	}

	learn(input: PassInput, output: PassOutput): void {
		const { settlements, handout, shutBefore, nowMs } = input;
		const { choice, leased, begun } = output;
		this.#isInDoubt = false;
		if (output.lanesBefore !== null) this.#held.correct(output.lanesBefore, nowMs);
		this.#handouts.learn(handout, choice.deliveries.length, input.settledOf);
		this.#noteStored(settlements, output.settled, nowMs);
		// First: what was let go may have been leased again at once.
		this.#held.drop(output.gone);
		this.#deps.lanes.forgetIdle(output.gone);
		this.#held.learn(leased?.receiverIds ?? [], choice, handout, nowMs);
		// The pass that stored it has passed it over: it was still in hand.
		for (const settlement of settlements) this.#noteReturn(settlement);
		for (const { receiverId, fence } of shutBefore)
			this.#held.noteFence(receiverId, fence ?? begun.transaction);
		this.#held.noteShut(output.shut);
		for (const target of output.targets) this.#deps.targets.learn(target, nowMs);
		this.#flushAt = Math.min(
			MAX_RESULTS_WAITING,
			Math.max(1, Math.ceil((this.#deps.lanes.inHand + choice.deliveries.length) / 2)),
		);
		if (input.lease !== null && leased !== null) this.#noteFreeLanes(input.lease, leased, nowMs);
		if (output.others !== null) this.#noteOthers(output.others, nowMs);
	}

	/** The lease is lost: another engine has sent, or will send, what was in hand. */
	voidAll(settlements: readonly Settlement[]): void {
		const { lanes, counters } = this.#deps;
		counters.lateResults += settlements.length;
		lanes.takeWaiting(lanes.waitingReceiverIds());
		lanes.forgetIdle(this.#held.ids());
		this.#held.dropAll();
		this.#handouts.clear();
		this.#doubtful.clear();
		this.#isInDoubt = false;
		this.#freeDueAtMs = 0;
	}

	/** Lanes that should leave for another engine: what waits in them is to be given back. */
	startLeaving(): readonly number[] {
		const count = this.#others === null ? 0 : lanesTooMany(this.#held.size, this.#others);
		return count === 0 ? [] : this.#held.startLeaving(count);
	}

	nextPassInMs(lease: Lease, nowMs: number): number {
		const { lanes, targets } = this.#deps;
		const canHandOut = lanes.limitsFor(this.#held.due(nowMs)).length > 0;
		const isClosing = this.#held.shutLanes(nowMs).length > 0;
		return Math.min(
			this.#results.length > 0 ? RESULT_LINGER_MS : Number.POSITIVE_INFINITY,
			lease.renewedAtMs + RENEW_EVERY_MS - nowMs,
			canHandOut || this.#held.readyToLeave().length > 0 ? 0 : this.#held.nextAfter(nowMs) - nowMs,
			this.#freeDueAtMs - nowMs,
			isClosing ? SECOND_LOOK_MS : Number.POSITIVE_INFINITY,
			...lanes.waitingReceiverIds().map((id) => targets.freshForMs(id, nowMs)),
		);
	}

	#compose(lease: Lease, due: readonly number[], nowMs: number): PassInput {
		const { lanes, targets } = this.#deps;
		const { settlements, settledOf } = this.#takeResults();
		return {
			engineId: lease.engineId,
			renewal: null,
			isInDoubt: this.#isInDoubt,
			settlements,
			settledOf,
			lease: null,
			requestsFor: (gone, leased) => {
				const held = new Set(due).difference(new Set(gone)).union(new Set(leased));
				return this.#held.requestsFor(lanes.limitsFor([...held]), nowMs);
			},
			choose: (requests, read) => this.#held.choose(requests, read, nowMs),
			targetsFor: (deliveries) => {
				const receiverIds = deliveries.map(({ receiverId }) => receiverId);
				return targets.startReading([...receiverIds, ...lanes.waitingReceiverIds()], nowMs);
			},
			handout: this.#handouts.next(),
			endedHandouts: this.#handouts.endedWith(settledOf),
			shut: [],
			shutBefore: [],
			leaving: [],
			isLast: false,
			nowMs,
		};
	}

	/** What is not in hand any more was taken over by another engine. */
	#takeResults(): Pick<PassInput, "settlements" | "settledOf"> {
		const settlements: Settlement[] = [];
		const settledOf = new Map<number, number>();
		for (const settlement of this.#results) {
			const handout = this.#held.handoutOf(settlement.delivery);
			if (handout === undefined) {
				this.#deps.counters.lateResults++;
				continue;
			}
			settlements.push(settlement);
			settledOf.set(handout, (settledOf.get(handout) ?? 0) + 1);
		}
		this.#results = [];
		return { settlements, settledOf };
	}

	#leaseRequest(nowMs: number): PassInput["lease"] {
		const others = this.#others ?? { count: 0, held: 0 };
		const hasTooMany = lanesTooMany(this.#held.size, others) > 0;
		const limit = Math.ceil(LEASED_AT_ONCE / (others.count + 1));
		return { limit, dueBeforeMs: leaseBeforeMs(hasTooMany, nowMs) };
	}

	#noteReturn(settlement: Settlement): void {
		if (settlement.kind === "retry" || settlement.kind === "released") {
			this.#held.note(settlement.delivery.receiverId, settlement.dueAtMs);
		}
	}

	#waitsForTarget(nowMs: number): boolean {
		const { lanes, targets } = this.#deps;
		return lanes.waitingReceiverIds().some((id) => targets.freshForMs(id, nowMs) === 0);
	}

	#noteStored(settlements: readonly Settlement[], settled: ReadonlySet<Settlement>, nowMs: number): void {
		const { counters, log } = this.#deps;
		countStored(counters, settled);
		for (const settlement of settlements) {
			const { delivery, kind } = settlement;
			this.#held.putDown(delivery, nowMs);
			if (settled.has(settlement) || this.#doubtful.delete(settlement)) continue;
			log.error({ deliveryId: delivery.id, kind }, "a delivery in hand was not in the queue any more");
		}
	}

	#noteFreeLanes(
		{ limit, dueBeforeMs }: { limit: number; dueBeforeMs: number },
		{ receiverIds, nextDueAtMs }: { receiverIds: readonly number[]; nextDueAtMs: number | null },
		nowMs: number,
	): void {
		const hasMore = receiverIds.length === limit;
		const nextAtMs = (nextDueAtMs ?? Number.POSITIVE_INFINITY) + nowMs - dueBeforeMs;
		this.#freeDueAtMs = Math.min(this.#freeDueAtMs, hasMore ? nowMs : nextAtMs);
	}

	#noteOthers(others: Others, nowMs: number): void {
		const { lanes, counters } = this.#deps;
		this.#others = others;
		const waiting = new Map(this.#held.unread(nowMs).map(({ receiverId, sinceMs }) => [receiverId, sinceMs]));
		for (const receiverId of lanes.waitingReceiverIds()) {
			waiting.set(receiverId, lanes.waitingSinceMs(receiverId) ?? nowMs);
		}
		counters.backlog = sumBacklog(waiting, others, nowMs);
	}
}
