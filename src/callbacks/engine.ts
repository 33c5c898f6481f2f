// The callback engine: it tells shops of what their conversions did. It owns slots of programmes, remembers when each
// programme is next due, and sends. Begin here; then slots, agenda, lanes, pass, sending, attempt.
//
//   idle ──a sale of this process, straight from its commit──────────────▶ in hand ─▶ in flight ─▶ result ─▶ stored by a pass
//   idle ──due by the agenda: read from the queue by a pass──────────────▶ in hand
//
//   without a row ──register──▶ running ──its row is gone: another engine has its slots──▶ without a row; all in hand is void
//   running ──stop, callbacks are held, or the clock is not sure──▶ leaving: hands out nothing, drops what waits, stores
//                            what was in flight, gives its slots up, removes its row ──▶ stopped, or without a row
//
// What it relies on: each pass that writes begins at the engine's row, which only a silent engine loses; and it sends
// nothing when its last renewal is old. What was in flight when a process died is sent again by the next owner.

import { SLOTS } from "../domain/slot.ts";
import { MINUTE_MS, SECOND_MS } from "../domain/time.ts";
import type { DueDelivery, Owed, OwedInHand, Settlement } from "../store/queries/queue.ts";
import type { Store } from "../store/store.ts";
import { Agenda } from "./agenda.ts";
import { Alarm } from "./alarm.ts";
import { type Backlog, countStored, type EngineCounters, newCounters } from "./counters.ts";
import { HoldWatch } from "./hold-watch.ts";
import { type Caps, Lanes } from "./lanes.ts";
import { createPass, type Pass, type PassInput, type PassOutput } from "./pass.ts";
import { createSending, type Sending, type SendingDeps } from "./sending.ts";
import { type Lease, lookAgainInMs, maySend, PATIENT_FOR_MS, Slots } from "./slots.ts";
import { AGING_MS, createTargetOpener, type OpenTarget } from "./targets.ts";

export interface EngineDeps extends SendingDeps {
	store: Store;
	sealingKey: Uint8Array;
	caps: Caps;
	/** Called when a notice was written that may have to be mailed. */
	onNotice: () => void;
}

/** So many start a pass at the latest: by then a commit costs each of them next to nothing. */
const MAX_RESULTS_WAITING = 2_048;
/** Stragglers are stored after this at the latest, so that the page shows them at once. */
const RESULT_LINGER_MS = 100;
/** Under load changes are announced thousands of times a second; a pass for each would be all we do. */
const BUSY_GAP_MS = 5;
const BACKOFF_MS: readonly number[] = [100, 500, 2_000, 5_000];
/** A stop gives up after so many failed passes, and not before the last request has ended: then the engine falls silent. */
const STOP_TRIES = 3;
/** How often the agenda is read again although nothing seems to be missing. */
const CHECK_MS = MINUTE_MS;
/** On SQLite another process's writes are noticed with a renewal; for a minute after that, within this. */
const ELSEWHERE_LOOK_MS = SECOND_MS;
const ELSEWHERE_FOR_MS = MINUTE_MS;
const BACKLOG_KEEPS_MS = 100;
/** Large enough that no two engines ever draw the same number; exact as a number. */
const ENGINE_ID_BYTES = 6;

export class Engine {
	readonly #deps: EngineDeps;
	readonly #slots = new Slots();
	readonly #agenda = new Agenda();
	readonly #lanes: Lanes;
	readonly #openTarget: OpenTarget;
	readonly #sending: Sending;
	readonly #pass: Pass;
	readonly #hold: HoldWatch;
	readonly #counters = newCounters();
	readonly #stopListening: () => void;
	readonly #alarm: Alarm;
	/** Null before it is registered, and after its row was lost or given up. */
	#lease: Lease | null = null;
	#results: Settlement[] = [];
	/** The last pass failed without a word: results may be stored, slots taken or given up. */
	#isInDoubt = false;
	/** Something may have been missed, or slots are new: the agenda is to be read. */
	#isRereading = false;
	/** Programmes whose URL or secret has changed since the pass began: what it reads of them may be older. */
	readonly #changed = new Set<number>();
	/** When it is read anyway. */
	#checkAtMs: number;
	/** When the engine's row is renewed next, with a look at the slots. */
	#lookAtMs = 0;
	#tookSlotsAtMs = Number.NEGATIVE_INFINITY;
	/** Nobody was heard for a while, so others may be late rather than dead: until then none of them is ended. */
	#patientUntilMs = Number.NEGATIVE_INFINITY;
	#elsewhereUntilMs = Number.NEGATIVE_INFINITY;
	/** So many results start a pass. Follows what is in hand, so that a single delivery is stored at once. */
	#flushAt = 1;
	/** Then at the latest the first of the results is stored. */
	#flushAtMs = Number.POSITIVE_INFINITY;
	#isAwake = false;
	/** After a failure nothing wakes it before this, whatever is heard or comes back meanwhile. */
	#notBeforeMs = Number.NEGATIVE_INFINITY;
	#wokeAtMs = Number.NEGATIVE_INFINITY;
	#failuresInARow = 0;
	#isStopping = false;
	#backlog = { readAtMs: Number.NEGATIVE_INFINITY, programmesDue: 0, oldestDueAtMs: null as number | null };
	readonly #ended = Promise.withResolvers<void>();

	constructor(deps: EngineDeps) {
		const { clock, store, caps } = deps;
		this.#deps = deps;
		this.#openTarget = createTargetOpener(deps.sealingKey, deps.log);
		this.#lanes = new Lanes(caps);
		this.#pass = createPass(store, deps.random);
		this.#hold = new HoldWatch(deps);
		this.#sending = createSending(
			{
				...deps,
				lanes: this.#lanes,
				counters: this.#counters,
				mostInFlight: caps.overall,
				maySend: () => this.#maySend(),
			},
			{
				onSettled: (settlement) => this.#keep(settlement),
				onUnsent: (delivery, againAtMs) => this.#putBack(delivery, againAtMs),
			},
		);
		this.#checkAtMs = clock.monotonicMs() + CHECK_MS;
		this.#alarm = new Alarm(clock, () => this.#wake());
		this.#stopListening = store.onDue({
			onOwed: (owed) => this.#hear(owed),
			onChange: (programmeId) => this.#hearChange(programmeId),
			onDoubt: () => {
				this.#isRereading = true;
				this.#wakeSoon();
			},
		});
		this.#wake();
	}

	get counters(): EngineCounters {
		const readBacklog = () => this.#readBacklog();
		return {
			...this.#counters,
			inFlight: this.#lanes.inFlight,
			inHand: this.#lanes.underWay,
			slots: this.#slots.count,
			get backlog() {
				return readBacklog();
			},
		};
	}

	/** Hands out no more, finishes what is in flight (at most one deadline), stores it, gives its slots up. */
	async stop(): Promise<void> {
		this.#isStopping = true;
		// Said at once: the others share the slots out without it.
		this.#lookAtMs = 0;
		this.#failuresInARow = 0;
		this.#notBeforeMs = Number.NEGATIVE_INFINITY;
		this.#stopListening();
		this.#wake();
		await this.#ended.promise;
		this.#alarm.cancel();
		this.#sending.stop();
	}

	/** Not while it stops, callbacks are held, or the time is in doubt: then it gives everything up. */
	get #wantsSlots(): boolean {
		return !this.#isStopping && !this.#hold.isHeld && this.#deps.clock.isSure();
	}

	#maySend(): boolean {
		const monotonicMs = this.#deps.clock.monotonicMs();
		return this.#wantsSlots && this.#lease !== null && maySend(this.#lease, monotonicMs);
	}

	/** Something has become due, by this process or another. Returns the programmes that another engine sends to. */
	#hear({ programmeIds, dueAtMs, inHand }: Owed): readonly number[] {
		const taken = inHand === undefined ? new Set<number>() : this.#takeUnread(inHand);
		let hasNoted = false;
		for (const programmeId of programmeIds) {
			// Also of slots that leave: they may stay after all.
			if (!this.#slots.owns(programmeId) || taken.has(programmeId)) continue;
			this.#agenda.note(programmeId, dueAtMs);
			hasNoted = true;
		}
		if (hasNoted) this.#wakeSoon();
		// An engine whose lease is old may have lost its slots without knowing it yet.
		const isSure = this.#maySend();
		return programmeIds.filter((programmeId) => !isSure || !this.#slots.mayHandOut(programmeId));
	}

	/** Straight through: from the commit into the lanes. Returns the programmes of which nothing has to be read. */
	#takeUnread({ deliveries, targets, readAtMs }: OwedInHand): ReadonlySet<number> {
		const taken = new Set<number>();
		// Begun before a slot was ours, it may have been sent by the engine that owned it then.
		if (!this.#maySend() || readAtMs <= this.#tookSlotsAtMs) return taken;
		const nowMs = this.#deps.clock.nowMs();
		// As old as its transaction: the engine may have missed a change since.
		const when = { readAtMs, learnedAtMs: readAtMs };
		const targetOf = new Map(targets.map((target) => [target.programmeId, target]));
		const left = new Set<number>();
		for (const delivery of deliveries) {
			const { programmeId } = delivery;
			const target = targetOf.get(programmeId);
			const isTaken =
				target !== undefined &&
				this.#slots.mayHandOut(programmeId) &&
				this.#agenda.dueAtMs(programmeId) > nowMs &&
				this.#lanes.takeUnread(delivery, this.#openTarget(target, when));
			(isTaken ? taken : left).add(programmeId);
			if (isTaken && target.isFailing) this.#pass.noteFailing(programmeId);
		}
		this.#sending.sendReady();
		return taken.difference(left);
	}

	/** The URL or the secret of this programme has changed: it is read again, with what is due. */
	#hearChange(programmeId: number): void {
		const { clock } = this.#deps;
		if (!this.#slots.owns(programmeId)) return;
		this.#lanes.noteChange(programmeId, clock.monotonicMs());
		this.#changed.add(programmeId);
		this.#putOff([programmeId], clock.nowMs());
	}

	/** A delivery was settled, and waits for the next pass. */
	#keep(settlement: Settlement): void {
		if (!this.#lanes.isInHand(settlement.delivery)) {
			this.#counters.lateResults++;
			// There is room now for what was read anew.
			this.#wakeSoon();
			return;
		}
		if (this.#results.push(settlement) === 1) {
			this.#flushAtMs = this.#deps.clock.monotonicMs() + RESULT_LINGER_MS;
			this.#alarm.ringWithin(RESULT_LINGER_MS);
		}
		if (this.#results.length >= this.#flushAt || this.#mayEnd) this.#wake();
	}

	/** It gives everything up, and nothing else will come. */
	get #mayEnd(): boolean {
		return !this.#wantsSlots && this.#lanes.inFlight === 0;
	}

	/** Nothing was sent. What waits behind it would fare no better. */
	#putBack(delivery: DueDelivery, againAtMs: number): void {
		if (!this.#lanes.isInHand(delivery)) return;
		this.#lanes.putDown(delivery);
		this.#putOff([delivery.programmeId], againAtMs);
	}

	/** What waits of these is put down, and read again then. */
	#putOff(programmeIds: Iterable<number>, untilMs: number): void {
		const ids = new Set(programmeIds);
		this.#lanes.dropWaiting((id) => ids.has(id));
		for (const id of ids) this.#agenda.putOff(id, untilMs);
		this.#wakeSoon();
	}

	#wakeSoon(): void {
		if (this.#deps.clock.monotonicMs() - this.#wokeAtMs >= BUSY_GAP_MS) this.#wake();
		else this.#alarm.ringWithin(BUSY_GAP_MS);
	}

	#wake(): void {
		if (this.#isAwake) return;
		const waitMs = this.#notBeforeMs - this.#deps.clock.monotonicMs();
		if (waitMs > 0) {
			this.#alarm.ringWithin(waitMs);
			return;
		}
		this.#isAwake = true;
		this.#passUntilQuiet().catch((error: unknown) => this.#backOff(error));
	}

	/** The loop: one pass after the other while there is something to do, then sleep until there is. */
	async #passUntilQuiet(): Promise<void> {
		const { clock, wire } = this.#deps;
		for (;;) {
			if (wire.names === null) await wire.read();
			this.#wokeAtMs = clock.monotonicMs();
			await this.#hold.lookInTime();
			if (this.#lease === null) {
				if (this.#isStopping) return this.#ended.resolve();
				if (!this.#wantsSlots) return this.#sleep(this.#hold.nextLookInMs);
				this.#lease = await this.#register();
			}
			const plan = this.#plan(this.#lease);
			if (typeof plan === "number") return this.#sleep(plan);
			await this.#carryOut(this.#lease, plan);
			await clock.yieldLoop();
		}
	}

	#sleep(forMs: number): void {
		this.#isAwake = false;
		this.#failuresInARow = 0;
		this.#alarm.ringWithin(Math.max(0, forMs));
	}

	async #register(): Promise<Lease> {
		const { clock, store, random, caps } = this.#deps;
		const engineId = Number.parseInt(random.hex(ENGINE_ID_BYTES), 16);
		const renewedAtMs = clock.monotonicMs();
		await store.queue.register(store.db, engineId, caps.overall, clock.nowMs());
		this.#lookAtMs = 0;
		return { engineId, renewedAtMs };
	}

	/** What waits of those that leave is put down: it goes out again if they stay after all. */
	#ownSlots(ours: readonly number[], share: number): void {
		this.#slots.learn(ours, share);
		const leaving = this.#lanes.waitingProgrammeIds().filter((id) => !this.#slots.mayHandOut(id));
		if (leaving.length > 0) this.#putOff(leaving, this.#deps.clock.nowMs());
	}

	/** What is to be done now; or for how long nothing is. */
	#plan(lease: Lease): PassInput | number {
		const { clock, store } = this.#deps;
		const nowMs = clock.nowMs();
		const monotonicMs = clock.monotonicMs();
		if (!this.#wantsSlots) this.#ownSlots(this.#slots.all(), 0);
		if (store.queue.hasChangedElsewhere()) {
			this.#isRereading = true;
			this.#elsewhereUntilMs = monotonicMs + ELSEWHERE_FOR_MS;
		}
		const isCheck = monotonicMs >= this.#checkAtMs;
		// A process that stood still has words yet to hear: what a check finds then was not missed.
		if (isCheck && !maySend(lease, monotonicMs)) this.#isRereading = true;
		const isRenewal = this.#isInDoubt || this.#isRereading || monotonicMs >= this.#lookAtMs;
		const due = this.#agenda.due(nowMs).filter((programmeId) => this.#slots.mayHandOut(programmeId));
		const limits = this.#lanes.limitsFor(due);
		const giveUp = this.#lanes.idleOf(this.#slots.leaving());
		const isFlush = this.#results.length >= this.#flushAt || monotonicMs >= this.#flushAtMs || this.#mayEnd;
		if (!isRenewal && !isCheck && !isFlush && limits.length + giveUp.length === 0)
			return Math.min(
				this.#agenda.nextAtMs - nowMs,
				Math.min(this.#lookAtMs, this.#checkAtMs, this.#flushAtMs) - monotonicMs,
				this.#hold.nextLookInMs,
				monotonicMs < this.#elsewhereUntilMs ? ELSEWHERE_LOOK_MS : Number.POSITIVE_INFINITY,
			);
		return {
			engineId: lease.engineId,
			isRenewal,
			mostInFlight: this.#wantsSlots ? this.#deps.caps.overall : null,
			endsSilent: maySend(lease, monotonicMs) && monotonicMs >= this.#patientUntilMs,
			rereads: this.#isRereading ? "doubt" : isCheck ? "check" : null,
			slots: this.#slots.all(),
			settlements: this.#results,
			isInDoubt: this.#isInDoubt,
			giveUp,
			isLast: this.#mayEnd && giveUp.length === this.#slots.count && !this.#isInDoubt,
			requests: this.#agenda.requestsFor(limits, (programmeId) => this.#lanes.inHand(programmeId)),
			aging: this.#lanes.agingProgrammeIds(monotonicMs - AGING_MS),
			nowMs,
		};
	}

	async #carryOut(lease: Lease, input: PassInput): Promise<void> {
		const { clock, log, store } = this.#deps;
		const startedAtMs = clock.monotonicMs();
		this.#results = [];
		this.#flushAtMs = Number.POSITIVE_INFINITY;
		this.#isRereading = false;
		this.#changed.clear();
		let output: PassOutput | null;
		try {
			output = await this.#pass.run(input);
		} catch (error) {
			this.#results = [...input.settlements, ...this.#results];
			this.#isInDoubt = true;
			this.#isRereading ||= input.rereads !== null;
			throw error;
		} finally {
			this.#counters.passTimes.observe((clock.monotonicMs() - startedAtMs) / SECOND_MS);
		}
		this.#isInDoubt = false;
		if (output === null) {
			log.warn(
				{ engineId: lease.engineId },
				"this engine was silent for too long; another one has its slots",
			);
			this.#counters.lateResults += input.settlements.length + this.#results.length;
			this.#forget(new Set(Array.from({ length: SLOTS }, (_, slot) => slot)));
			this.#results = [];
			this.#lease = null;
			// What was noted here since, others have not heard of.
			store.announceDoubt();
			return;
		}
		this.#learnResults(input, output);
		if (output.slots !== null) this.#learnSlots(lease, output.slots, input, startedAtMs);
		this.#forget(new Set(input.giveUp));
		if (input.rereads !== null) this.#learnAgenda(input, output);
		this.#takeRead(input, output, startedAtMs);
		if (input.isLast) this.#lease = null;
		// Other engines take these at once.
		if (input.giveUp.length > 0 || input.isLast) store.announceDoubt();
		if (output.hasNotice) this.#deps.onNotice();
	}

	#learnResults({ settlements, isInDoubt, nowMs }: PassInput, { settled }: PassOutput): void {
		countStored(this.#counters, settled);
		for (const settlement of settlements) {
			const { delivery, kind } = settlement;
			this.#lanes.putDown(delivery);
			if (settled.has(settlement)) {
				if (kind === "retry") this.#agenda.note(delivery.programmeId, settlement.dueAtMs);
				continue;
			}
			// Stored by the pass of which no word came; what is left of it is in the queue.
			this.#agenda.note(delivery.programmeId, nowMs);
			if (isInDoubt) continue;
			this.#deps.log.error(
				{ deliveryId: delivery.id, kind },
				"a delivery in hand was not in the queue any more",
			);
		}
	}

	#learnSlots(
		lease: Lease,
		{ ours, share, ended, nextSilentInMs }: NonNullable<PassOutput["slots"]>,
		{ slots: known }: PassInput,
		startedAtMs: number,
	): void {
		if (!maySend(lease, startedAtMs)) this.#patientUntilMs = startedAtMs + PATIENT_FOR_MS;
		lease.renewedAtMs = startedAtMs;
		// Given up by a pass of which no word came.
		this.#forget(new Set(known).difference(new Set(ours)));
		// Read once it is known here that they are ours: what is told from now on is heard.
		if (ours.some((slot) => !known.includes(slot))) {
			this.#isRereading = true;
			this.#tookSlotsAtMs = this.#deps.clock.monotonicMs();
		}
		this.#ownSlots(ours, this.#wantsSlots ? share : 0);
		this.#lookAtMs = startedAtMs + lookAgainInMs(nextSilentInMs, this.#patientUntilMs - startedAtMs);
		if (ended.length === 0) return;
		this.#counters.endedEngines += ended.length;
		for (const engine of ended)
			this.#deps.log.warn(engine, "an engine fell silent; what it had in flight is sent again");
		// Its process may have stored sales that it told nobody of.
		this.#isRereading = true;
		this.#deps.store.announceDoubt();
	}

	/** What only a check finds is a defect of ours: it is counted, and mended. */
	#learnAgenda({ rereads, nowMs }: PassInput, { agenda }: PassOutput): void {
		const { clock, log } = this.#deps;
		this.#checkAtMs = clock.monotonicMs() + CHECK_MS;
		// Not what was given up with this pass.
		const ours = agenda.filter(({ programmeId }) => this.#slots.owns(programmeId));
		const missed = this.#agenda.learnAll(ours, (programmeId) => this.#lanes.inHand(programmeId), nowMs);
		if (rereads === "doubt" || missed === 0) return;
		this.#counters.missed += missed;
		log.error({ missed }, "deliveries were due that this engine had not heard of");
	}

	#takeRead({ requests, nowMs }: PassInput, { read, targets }: PassOutput, startedAtMs: number): void {
		const rowsOf = Map.groupBy(read.deliveries, ({ programmeId }) => programmeId);
		const nextDue = new Map(read.nextDue.map(({ programmeId, dueAtMs }) => [programmeId, dueAtMs]));
		const learnedAtMs = this.#deps.clock.monotonicMs();
		const when = { readAtMs: startedAtMs, learnedAtMs };
		for (const target of targets) {
			if (this.#changed.has(target.programmeId)) continue;
			this.#lanes.noteTarget(target.programmeId, this.#openTarget(target, when));
		}
		const inHand = (programmeId: number) => this.#lanes.inHand(programmeId);
		for (const request of requests) {
			const { programmeId } = request;
			if (!this.#slots.mayHandOut(programmeId) || this.#changed.has(programmeId)) continue;
			const rows = rowsOf.get(programmeId) ?? [];
			const taken = this.#agenda.learn(request, rows, nextDue.get(programmeId) ?? null, inHand, nowMs);
			this.#lanes.noteRead(programmeId, learnedAtMs);
			for (const delivery of taken) this.#lanes.take(delivery);
		}
		this.#flushAt = Math.min(MAX_RESULTS_WAITING, Math.max(1, Math.ceil(this.#lanes.underWay / 2)));
		this.#sending.sendReady();
	}

	/** Readers that come together share a look: 20,000 programmes take a millisecond or two. */
	#readBacklog(): Backlog {
		const nowMs = this.#deps.clock.nowMs();
		if (nowMs - this.#backlog.readAtMs >= BACKLOG_KEEPS_MS)
			this.#backlog = { readAtMs: nowMs, ...this.#agenda.backlog(nowMs, this.#lanes.waitingSince()) };
		return this.#backlog;
	}

	#forget(slots: ReadonlySet<number>): void {
		if (slots.size === 0) return;
		this.#slots.drop(slots);
		this.#agenda.drop(slots);
		this.#lanes.drop(slots);
	}

	#backOff(error: unknown): void {
		this.#isAwake = false;
		const delayMs = BACKOFF_MS[Math.min(this.#failuresInARow, BACKOFF_MS.length - 1)] ?? 0;
		this.#failuresInARow++;
		if (this.#isStopping && this.#failuresInARow >= STOP_TRIES && this.#lanes.inFlight === 0) {
			this.#deps.log.error({ err: error }, "stopping without the last results: they will be sent again");
			this.#ended.resolve();
			return;
		}
		this.#deps.log.error({ err: error, retryInMs: delayMs }, "the queue could not be reached; trying again");
		this.#notBeforeMs = this.#deps.clock.monotonicMs() + delayMs;
		this.#alarm.ringWithin(delayMs);
	}
}
