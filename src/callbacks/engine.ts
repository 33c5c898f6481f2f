// The callback engine. One pass is one transaction: it stores the results that have come in and claims what
// is due and has room. Between passes requests are in flight and nothing waits for the database.
//
//   asleep ──something becomes due, or results wait──▶ passing ──▶ sending ──results──▶ passing …
//   any ──stop──▶ draining: claims nothing, gives back what is held, waits for what is in flight ──▶ stopped
//
// What it relies on: a claim lapses after half a minute and every settlement names its claim, so an engine
// that dies, stalls or loses the database harms nobody. What is sent again was not yet stored as sent.

import type { Clock, Log, Random, Transport } from "../ports.ts";
import type { Claimed, ClaimedDelivery, ClaimWish, Settlement } from "../store/queue.ts";
import type { Store } from "../store/store.ts";
import { Agenda } from "./agenda.ts";
import { Alarm } from "./alarm.ts";
import { createPreparer, type PrepareAttempt, settleAnswer } from "./attempt.ts";
import { countStored, type EngineCounters, findBacklog, newCounters } from "./counters.ts";
import { type Caps, type Lane, Lanes } from "./lanes.ts";
import { PACE_MS, Pace } from "./pace.ts";
import type { RunPass } from "./pass.ts";
import { judgeSending } from "./sending.ts";
import { type ApplyTarget, createTargetReader } from "./targets.ts";

export interface EngineDeps {
	store: Store;
	clock: Clock;
	random: Random;
	transport: Pick<Transport, "post">;
	sealingKey: Uint8Array;
	log: Log;
	brand: string;
	caps: Caps;
	runPass: RunPass;
	/** Share of the time since the last call in which this process was busy, 0 to 1. */
	busyShare: () => number;
	/** Called when a notice was written that may have to be mailed. */
	onNotice: () => void;
}

/** Results per transaction: by then a commit costs each of them next to nothing. */
const MAX_RESULTS_WAITING = 2_048;
/** Stragglers are stored after this at the latest, so that the page shows them at once. */
const RESULT_LINGER_MS = 100;
/** Under load changes are announced thousands of times a second; a pass for each would be all we do. */
const BUSY_PASS_GAP_MS = 5;
/** How often the queue itself is read for what nobody announced: another process's death, a lost wake-up. */
const POLL_MS = 5_000;
/** When others hold the due rows of a programme just now. */
const CONTENDED_RETRY_MS = 50;
const BACKOFF_MS: readonly number[] = [100, 500, 2_000, 5_000];
/** On a clean stop: at once, and twice more if the database is away just then. After that the claims lapse. */
const STOP_WAITS_MS: readonly number[] = [0, 500, 2_000];

export class Engine {
	readonly #deps: EngineDeps;
	readonly #agenda = new Agenda();
	readonly #lanes: Lanes;
	readonly #counters = newCounters();
	readonly #prepare: PrepareAttempt;
	readonly #applyTarget: ApplyTarget;
	/** Programmes whose URL or secret may have changed while deliveries for them are held. */
	readonly #stale = new Set<number>();
	/** Programmes announced while a pass is under way: what it read of them is older than the news. */
	readonly #announced = new Set<number>();
	readonly #stopListening: () => void;
	readonly #pace: Pace;
	/** The next pass, at the latest. */
	readonly #alarm: Alarm;
	/** When the pace is looked at next, while something waits. */
	readonly #paceAlarm: Alarm;
	#results: Settlement[] = [];
	/** So many results start a pass. Follows what is held, so that a single delivery is stored at once. */
	#flushAt = 1;
	#passing: Promise<void> | null = null;
	#lastPassAtMs = 0;
	#agendaReadAtMs = Number.NEGATIVE_INFINITY;
	#failuresInARow = 0;
	#isStopping = false;
	#onDrained = (): void => undefined;

	constructor(deps: EngineDeps) {
		this.#deps = deps;
		this.#lanes = new Lanes(deps.caps);
		this.#pace = new Pace(deps.caps.overall);
		this.#alarm = new Alarm(deps.clock, () => this.#startPass());
		this.#paceAlarm = new Alarm(deps.clock, () => this.#adjustPace());
		this.#prepare = createPreparer(deps.brand, deps.random);
		this.#applyTarget = createTargetReader(deps.sealingKey, deps.log);
		this.#stopListening = deps.store.onDue((where) => this.#wake(where));
		this.#startPass();
	}

	get counters(): EngineCounters {
		return { ...this.#counters, inFlight: this.#lanes.inFlight, held: this.#lanes.held };
	}

	/** Takes no more, gives back what it holds, and finishes what is in flight: at most one deadline. */
	async stop(): Promise<void> {
		this.#isStopping = true;
		this.#stopListening();
		this.#alarm.cancel();
		this.#paceAlarm.cancel();
		await this.#passing;
		const dueAtMs = this.#deps.clock.nowMs();
		for (const delivery of this.#lanes.takeWaiting()) {
			this.#results.push({ kind: "released", delivery, dueAtMs });
		}
		await new Promise<void>((resolve) => {
			this.#onDrained = resolve;
			if (this.#lanes.inFlight === 0) resolve();
		});
		await this.#storeLastResults();
	}

	#wake(where: readonly number[] | "anywhere"): void {
		const nowMs = this.#deps.clock.nowMs();
		if (where === "anywhere") this.#agendaReadAtMs = Number.NEGATIVE_INFINITY;
		for (const programmeId of where === "anywhere" ? [] : where) {
			this.#agenda.note(programmeId, nowMs);
			this.#announced.add(programmeId);
			if (this.#lanes.find(programmeId) !== undefined) this.#stale.add(programmeId);
		}
		if (nowMs - this.#lastPassAtMs >= BUSY_PASS_GAP_MS) this.#startPass();
		else this.#sleepAtMost(BUSY_PASS_GAP_MS);
	}

	#startPass(): void {
		if (this.#passing !== null || this.#isStopping) return;
		this.#passing = this.#passUntilQuiet().then(
			() => {
				this.#passing = null;
				this.#failuresInARow = 0;
				this.#sleepUntilNext();
			},
			(error: unknown) => {
				this.#passing = null;
				this.#backOff(error);
			},
		);
	}

	async #passUntilQuiet(): Promise<void> {
		do await this.#pass();
		while (!this.#isStopping && this.#results.length >= this.#flushAt);
	}

	async #pass(): Promise<void> {
		const nowMs = this.#deps.clock.nowMs();
		this.#lastPassAtMs = nowMs;
		const sinceReadMs = nowMs - this.#agendaReadAtMs;
		// Negative when the clock was set back: then it is not known how old it is.
		if (sinceReadMs < 0 || sinceReadMs >= POLL_MS) await this.#readAgenda(nowMs);
		const wishes = this.#takeWishes(nowMs);
		if (this.#results.length === 0 && wishes.length === 0) return;
		const storing = this.#results;
		this.#results = [];
		this.#announced.clear();
		try {
			this.#take(await this.#storeAndClaim(storing, wishes, nowMs), nowMs);
		} catch (error) {
			// Nothing of it was stored. Results that came in meanwhile go behind these.
			this.#results = [...storing, ...this.#results];
			throw error;
		}
		this.#flushAt = Math.min(MAX_RESULTS_WAITING, Math.max(1, Math.ceil(this.#lanes.held / 2)));
	}

	async #readAgenda(nowMs: number): Promise<void> {
		const { store } = this.#deps;
		const agenda = await store.queue.agenda(store.db);
		for (const { programmeId, dueAtMs } of agenda) this.#agenda.note(programmeId, dueAtMs);
		this.#counters.backlog = findBacklog(agenda, nowMs);
		this.#agendaReadAtMs = nowMs;
		this.#lanes.forgetIdle();
	}

	#takeWishes(nowMs: number): ClaimWish[] {
		for (const programmeId of this.#lanes.waitingOnOldTargets(nowMs)) this.#stale.add(programmeId);
		for (const programmeId of this.#stale)
			this.#lanes.lane(programmeId).targetReadAtMs = Number.NEGATIVE_INFINITY;
		const wishes = this.#lanes.wishes(this.#agenda.due(nowMs), nowMs);
		this.#agenda.passTurn();
		for (const { programmeId } of wishes) this.#stale.delete(programmeId);
		for (const programmeId of this.#stale) wishes.push({ programmeId, limit: 0 });
		this.#stale.clear();
		return wishes;
	}

	async #storeAndClaim(
		settlements: readonly Settlement[],
		wishes: readonly ClaimWish[],
		nowMs: number,
	): Promise<Claimed> {
		const failingProgrammeIds = this.#lanes.failingProgrammeIds();
		const passed = await this.#deps.runPass({ settlements, wishes, failingProgrammeIds, nowMs });
		countStored(this.#counters, settlements, passed.settled);
		if (passed.hasNotice) this.#deps.onNotice();
		return passed.claimed;
	}

	#take({ deliveries, targets, nextDue }: Claimed, nowMs: number): void {
		for (const target of targets) {
			const lane = this.#lanes.lane(target.programmeId);
			this.#applyTarget(lane, target);
			lane.targetReadAtMs = nowMs;
		}
		for (const delivery of deliveries) this.#lanes.hold(delivery);
		for (const { programmeId, dueAtMs } of nextDue) {
			if (this.#announced.has(programmeId)) continue;
			const isContended = dueAtMs !== null && dueAtMs <= nowMs;
			this.#agenda.correct(programmeId, isContended ? nowMs + CONTENDED_RETRY_MS : dueAtMs);
		}
		this.#sendReady();
	}

	#sendReady(): void {
		const hasSentAll = this.#lanes.sendReady(
			(lane, delivery) => this.#send(lane, delivery),
			() => this.#pace.hasRoom(this.#lanes.inFlight),
		);
		if (hasSentAll || this.#isStopping || this.#paceAlarm.isSet) return;
		// A reading to start from: what the process did before anything waited does not count.
		this.#deps.busyShare();
		this.#paceAlarm.ringWithin(PACE_MS);
	}

	/** Something waited for room: is it us or the shops? */
	#adjustPace(): void {
		this.#pace.adjust(this.#deps.busyShare());
		this.#sendReady();
	}

	#send(lane: Lane, delivery: ClaimedDelivery): void {
		const nowMs = this.#deps.clock.nowMs();
		const { target, unsent } = judgeSending(lane, delivery, nowMs, this.#isStopping);
		if (target === null) {
			this.#keep(lane, unsent, null);
			return;
		}
		const prepared = this.#prepare(delivery, target, nowMs);
		// Never rejects: the transport turns whatever happens into an outcome.
		void this.#deps.transport.post(prepared.request).then((answer) => {
			const endedAtMs = this.#deps.clock.nowMs();
			this.#keep(lane, settleAnswer(delivery, prepared, answer, endedAtMs), endedAtMs - nowMs);
			this.#sendReady();
		});
	}

	/** A claim has ended one way or another: its settlement waits for the next pass. */
	#keep(lane: Lane, settlement: Settlement, tookMs: number | null): void {
		this.#results.push(settlement);
		if (settlement.kind === "retry" || settlement.kind === "released") {
			this.#agenda.note(settlement.delivery.programmeId, settlement.dueAtMs);
		}
		// Read anew with the pass that stores it: only then does the lane know of the notice.
		if (settlement.kind === "finished" && settlement.state === "failed") this.#stale.add(lane.programmeId);
		this.#lanes.land(lane, tookMs);
		if (this.#isStopping && this.#lanes.inFlight === 0) this.#onDrained();
		if (this.#results.length >= this.#flushAt) this.#startPass();
		else this.#sleepAtMost(RESULT_LINGER_MS);
	}

	#sleepUntilNext(): void {
		const nowMs = this.#deps.clock.nowMs();
		const nextDueAtMs = this.#agenda.nextAfter(nowMs) ?? Number.POSITIVE_INFINITY;
		const canClaimNow = this.#lanes.wishes(this.#agenda.due(nowMs), nowMs).length > 0 || this.#stale.size > 0;
		const restMs = Math.min(POLL_MS, this.#lanes.targetsKeepForMs(nowMs));
		const lingerMs = this.#results.length > 0 ? RESULT_LINGER_MS : restMs;
		this.#sleepAtMost(canClaimNow ? 0 : Math.min(nextDueAtMs - nowMs, lingerMs));
	}

	#sleepAtMost(delayMs: number): void {
		if (!this.#isStopping) this.#alarm.ringWithin(delayMs);
	}

	#backOff(error: unknown): void {
		const delayMs = BACKOFF_MS[Math.min(this.#failuresInARow, BACKOFF_MS.length - 1)] ?? 0;
		this.#failuresInARow++;
		this.#agendaReadAtMs = Number.NEGATIVE_INFINITY;
		this.#deps.log.error({ err: error, retryInMs: delayMs }, "the queue could not be reached; trying again");
		this.#sleepAtMost(delayMs);
	}

	async #storeLastResults(): Promise<void> {
		const { clock, log } = this.#deps;
		for (const waitMs of STOP_WAITS_MS) {
			if (this.#results.length === 0) return;
			await new Promise<void>((resolve) => clock.after(waitMs, resolve));
			try {
				await this.#storeAndClaim(this.#results, [], clock.nowMs());
				return;
			} catch (error) {
				log.warn({ err: error }, "the last results could not be stored");
			}
		}
		log.error(
			{ results: this.#results.length },
			"stopping without the last results: they will be sent again",
		);
	}
}
