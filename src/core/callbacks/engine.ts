// The callback engine sends callbacks about status changes to receivers. It owns slots of receivers, remembers when
// each receiver is next due, and sends. Start reading here. Then read engine-state (the states), decide (the next
// step), engine-memory (what the engine knows), pass (one transaction), sending and attempt.
//
// How a delivery gets to its receiver:
//   from a sale of this process, straight after its commit ─┐
//   from the queue, read by a pass when it is due ──────────┴▶ waiting ─▶ in flight ─▶ result waits ─▶ stored by a pass
//
// Two rules make this safe. A pass that writes first locks the engine's row, which another engine removes only if this
// one was silent for too long. And the engine starts a request only while its last renewal is fresh. If a process dies,
// the next owner of the slot sends the requests again that were in flight. After the machine was suspended, the engine
// takes nothing that it knows for granted: it sends nothing before a pass has renewed its row and read the queue again.

import type { ReceiverId } from "../domain/receiver.ts";
import type { OpeningKeys } from "../domain/sealing.ts";
import { SLOTS } from "../domain/slot.ts";
import { MINUTE_MS, SECOND_MS } from "../domain/time.ts";
import type { DueDelivery, Owed, Settlement } from "../store/queries/queue.ts";
import type { Store } from "../store/store.ts";
import { countStored, type EngineCounters, newCounters } from "./counters.ts";
import {
	decide,
	type EngineTimers,
	hasNothingLeftToWaitFor,
	type Moment,
	type PassPlan,
	type Situation,
	type Step,
} from "./decide.ts";
import { EngineMemory } from "./engine-memory.ts";
import {
	changeState,
	type EngineState,
	type Intent,
	intentOf,
	isLeaseFresh,
	type Lease,
	maySend,
} from "./engine-state.ts";
import { createFailureLog, type FailureLog } from "./failure-log.ts";
import { HoldWatch } from "./hold-watch.ts";
import { createPass, type Pass, type PassInput, type PassOutput } from "./pass.ts";
import type { Caps } from "./send-buffer.ts";
import { createSending, type Sending, type SendingDeps } from "./sending.ts";
import { Sleep } from "./sleep.ts";
import { lookAgainInMs, PATIENT_FOR_MS } from "./slots.ts";
import { AGING_MS, createTargetOpener } from "./targets.ts";
import { MAX_WAIT_MS, WaitingResults } from "./waiting-results.ts";

export interface EngineDeps extends SendingDeps {
	store: Store;
	keyRing: OpeningKeys;
	caps: Caps;
	/** Called after a pass wrote a notice that may have to be mailed. */
	onNotice: () => void;
}

/** Log messages that the crash tests count. The first two report a defect of the engine itself. */
export const ENGINE_MESSAGES = {
	missed: "deliveries were due of which this engine was not notified",
	vanished: "a delivery in progress was no longer in the queue",
	silent: "an engine fell silent; its requests in flight are sent again",
} as const;

/** Minimum time between two wake-ups by notifications. Thousands of notifications may arrive in a second. */
const BUSY_GAP_MS = 5;
/** Delays after a failed step. The first is for the first failure in a row, and the last is for all later ones. */
const BACKOFF_MS: readonly number[] = [100, 500, 2_000, 5_000];
/** Number of failed steps in a row after which a stop gives up, once no request is in flight. */
const STOP_TRIES = 3;
/** Interval of the routine check, which reads the first due rows although no notification seems to be missing. */
const CHECK_EVERY_MS = MINUTE_MS;
/** Time for which an engine on SQLite polls after another process wrote to the file. */
const POLL_FOR_MS = MINUTE_MS;
/**
 * Number of random bytes in an engine's id. Six bytes make equal ids practically impossible, and still fit exactly
 * into a number.
 */
const ENGINE_ID_BYTES = 6;
/**
 * Jump of the shared clock against the monotonic clock, within one step of the engine, from which the machine counts
 * as suspended. Corrections of the shared clock are much smaller. If somebody sets the clock by more, the engine acts
 * as after a suspension.
 */
const SUSPENDED_MS = SECOND_MS;
const ALL_SLOTS: ReadonlySet<number> = new Set(Array.from({ length: SLOTS }, (_, slot) => slot));

export class Engine {
	readonly #deps: EngineDeps;
	readonly #memory: EngineMemory;
	readonly #results = new WaitingResults();
	readonly #sending: Sending;
	readonly #failureLog: FailureLog;
	readonly #pass: Pass;
	readonly #hold: HoldWatch;
	readonly #counters = newCounters();
	readonly #sleep: Sleep;
	readonly #timers: EngineTimers;
	readonly #stopListening: () => void;
	readonly #ended: Promise<void>;
	#state: EngineState = { kind: "unregistered" };
	#isStopRequested = false;
	#needsReread = false;
	#failuresInARow = 0;
	/** Monotonic time at which the main loop last began a step. */
	#steppedAtMs = Number.NEGATIVE_INFINITY;
	/** Difference between the shared clock and the monotonic clock when the main loop last began a step. */
	#clockGapMs: number;

	constructor(deps: EngineDeps) {
		const { clock, store, caps } = deps;
		this.#deps = deps;
		this.#clockGapMs = this.#readClockGap();
		this.#memory = new EngineMemory(caps, createTargetOpener(deps.keyRing, deps.log));
		this.#failureLog = createFailureLog(deps);
		this.#pass = createPass(store, deps.random);
		this.#hold = new HoldWatch(deps);
		this.#sleep = new Sleep(clock);
		this.#timers = {
			renewAtMs: 0,
			checkAtMs: clock.monotonicMs() + CHECK_EVERY_MS,
			patientUntilMs: Number.NEGATIVE_INFINITY,
			pollUntilMs: Number.NEGATIVE_INFINITY,
		};
		this.#sending = createSending(
			{
				...deps,
				buffer: this.#memory.buffer,
				counters: this.#counters,
				mostInFlight: caps.overall,
				maySend: () => this.#maySend(),
			},
			{
				onSettled: (settlement) => this.#addResult(settlement),
				onUnsent: (delivery, againAtMs) => this.#releaseUnsent(delivery, againAtMs),
			},
		);
		this.#stopListening = store.onDue({
			onOwed: (owed) => this.#onOwed(owed),
			onTargetChange: (receiverId) => this.#onTargetChange(receiverId),
			onRecheck: () => this.#onRecheck(),
		});
		this.#ended = this.#run();
	}

	get counters(): EngineCounters {
		const { buffer, slots } = this.#memory;
		const readBacklog = () => this.#memory.backlog(this.#deps.clock.nowMs());
		return {
			...this.#counters,
			inFlight: buffer.inFlight,
			waitingOrInFlight: buffer.waitingOrInFlight,
			slots: slots.count,
			get backlog() {
				return readBacklog();
			},
		};
	}

	/**
	 * Stops the engine. It starts no new request, waits for those in flight (at most one deadline), stores their results
	 * and gives up all slots.
	 */
	async stop(): Promise<void> {
		this.#isStopRequested = true;
		// The row is renewed at once, so that the other engines share the slots without this engine.
		this.#timers.renewAtMs = 0;
		this.#failuresInARow = 0;
		this.#stopListening();
		this.#followIntent();
		this.#sleep.interrupt();
		await this.#ended;
		this.#sending.stop();
		this.#failureLog.stop();
	}

	/** The main loop. It never rejects. */
	async #run(): Promise<void> {
		while (this.#state.kind !== "stopped") {
			try {
				await this.#lookOutside();
				this.#followIntent();
				await this.#carryOut(decide(this.#describe(), this.#now()));
			} catch (error) {
				await this.#backOff(error);
			}
		}
	}

	/**
	 * Reads the header names used in callbacks, and whether staff hold all callbacks. The engine must know both before it
	 * decides.
	 */
	async #lookOutside(): Promise<void> {
		const { clock, wire } = this.#deps;
		this.#steppedAtMs = clock.monotonicMs();
		if (this.#wasSuspended()) this.#resume();
		this.#clockGapMs = this.#readClockGap();
		if (wire.names === null) await wire.read();
		await this.#hold.lookInTime();
	}

	/**
	 * Makes the engine renew its row and read everything again, because the machine was suspended and its knowledge is
	 * out of date.
	 */
	#resume(): void {
		if (this.#state.kind === "running" || this.#state.kind === "leaving") {
			this.#state.lease.renewedAtMs = Number.NEGATIVE_INFINITY;
		}
		this.#timers.renewAtMs = 0;
		this.#hold.lookSoon();
		this.#memory.resume(this.#now());
	}

	#followIntent(): void {
		const state = this.#state;
		const intent = this.#intent;
		if (state.kind === "running" && intent !== "send") {
			this.#enter({ kind: "leaving", lease: state.lease });
			this.#memory.leaveAllSlots(this.#deps.clock.nowMs());
		} else if (state.kind === "leaving" && intent === "send") {
			this.#enter({ kind: "running", lease: state.lease });
		}
	}

	async #carryOut(step: Step): Promise<void> {
		switch (step.kind) {
			case "register":
				return this.#register();
			case "pass":
				await this.#runPass(step.lease, step.plan);
				return this.#deps.clock.yieldLoop();
			case "sleep":
				this.#failuresInARow = 0;
				return this.#sleep.light(step.forMs);
			case "end":
				return this.#enter({ kind: "stopped" });
			default:
				return step satisfies never;
		}
	}

	async #backOff(error: unknown): Promise<void> {
		const { log } = this.#deps;
		const delayMs = BACKOFF_MS[Math.min(this.#failuresInARow, BACKOFF_MS.length - 1)] ?? 0;
		this.#failuresInARow++;
		const hasTriedEnough = this.#isStopRequested && this.#failuresInARow >= STOP_TRIES;
		if (hasTriedEnough && this.#memory.buffer.inFlight === 0) {
			log.error(
				{ err: error },
				"stopping without storing the last results; those callbacks will be sent again",
			);
			this.#followIntent();
			this.#enter({ kind: "stopped" });
			return;
		}
		log.error({ err: error, retryInMs: delayMs }, "the engine could not reach the database; trying again");
		await this.#sleep.deep(delayMs);
	}

	#enter(state: EngineState): void {
		this.#state = changeState(this.#state, state);
	}

	/** Returns the snapshot from which the next step is decided. */
	#describe(): Situation {
		const { clock, store } = this.#deps;
		const isRegistered = this.#state.kind === "running" || this.#state.kind === "leaving";
		if (isRegistered && store.queue.hasChangedElsewhere()) {
			this.#needsReread = true;
			this.#timers.pollUntilMs = clock.monotonicMs() + POLL_FOR_MS;
		}
		return {
			state: this.#state,
			intent: this.#intent,
			inFlight: this.#memory.buffer.inFlight,
			slotCount: this.#memory.slots.count,
			idleSlots: this.#memory.idleSlots(),
			readable: this.#memory.readable(clock.nowMs()),
			nextDueAtMs: this.#memory.dueTimes.nextAtMs,
			results: this.#results,
			needsReread: this.#needsReread,
			timers: this.#timers,
			holdCheckAtMs: this.#hold.checkAtMs,
		};
	}

	async #register(): Promise<void> {
		const { clock, store, random, caps } = this.#deps;
		const engineId = Number.parseInt(random.hex(ENGINE_ID_BYTES), 16);
		const renewedAtMs = clock.monotonicMs();
		await store.queue.register(store.db, engineId, caps.overall, clock.nowMs());
		this.#timers.renewAtMs = 0;
		this.#enter({ kind: "running", lease: { engineId, renewedAtMs, isUncertain: false } });
	}

	async #runPass(lease: Lease, plan: PassPlan): Promise<void> {
		const { clock, store, caps } = this.#deps;
		const started = this.#now();
		const input: PassInput = {
			...plan,
			engineId: lease.engineId,
			mostInFlight: plan.wantsSlots ? caps.overall : null,
			slots: this.#memory.slots.all(),
			settlements: this.#results.takeAll(),
			isUncertain: lease.isUncertain,
			requests: this.#memory.beginReads(plan.reads),
			oldTargets: this.#memory.buffer.receiversWithOldTarget(started.monotonicMs - AGING_MS),
			nowMs: started.nowMs,
		};
		this.#needsReread = false;
		let output: PassOutput | null;
		try {
			output = await this.#pass.run(input);
		} catch (error) {
			this.#results.putBack(input.settlements);
			lease.isUncertain = true;
			this.#needsReread ||= plan.reread !== null;
			throw error;
		} finally {
			this.#counters.passTimes.observe((clock.monotonicMs() - started.monotonicMs) / SECOND_MS);
		}
		if (output === null) return this.#loseRow(lease, input);
		lease.isUncertain = false;
		this.#applyResults(input, output);
		if (output.slots !== null) this.#applySlots(lease, output.slots, started.monotonicMs);
		this.#memory.forgetSlots(new Set(plan.giveUp));
		if (plan.reread !== null) this.#applyFirstDue(input, output);
		this.#applyRead(input, output, started.monotonicMs);
		if (plan.isLast) this.#enter({ kind: "unregistered" });
		// The other engines are notified, so that they can take these slots at once.
		if (plan.giveUp.length > 0 || plan.isLast) store.announceRecheck();
		if (output.hasNotice) this.#deps.onNotice();
		await this.#failureLog.write(store.db, output.settled);
	}

	/** Discards all deliveries in progress, because another engine now owns their slots and sends them. */
	#loseRow({ engineId }: Lease, { settlements }: PassInput): void {
		const { log, store } = this.#deps;
		log.warn({ engineId }, "this engine was silent for too long; another engine owns its slots now");
		this.#counters.lateResults += settlements.length + this.#results.takeAll().length;
		this.#memory.forgetSlots(ALL_SLOTS);
		this.#enter({ kind: "unregistered" });
		// Other engines were not notified of rows that this engine noted after it had lost its slots.
		store.announceRecheck();
	}

	#applyResults({ settlements, isUncertain, nowMs }: PassInput, { settled }: PassOutput): void {
		const { buffer, dueTimes } = this.#memory;
		countStored(this.#counters, settled);
		for (const settlement of settlements) {
			const { delivery, kind } = settlement;
			buffer.release(delivery);
			if (settled.has(settlement)) {
				if (kind === "retry") dueTimes.note(delivery.receiverId, settlement.dueAtMs);
				continue;
			}
			// If the uncertain pass did store the result, the delivery's row in the queue is gone or has its next due time.
			// The queue is read again in any case.
			dueTimes.note(delivery.receiverId, nowMs);
			if (isUncertain) continue;
			this.#deps.log.error({ deliveryId: delivery.id, kind }, ENGINE_MESSAGES.vanished);
		}
	}

	#applySlots(
		lease: Lease,
		{ owned, share, removed, nextSilentInMs }: NonNullable<PassOutput["slots"]>,
		startedAtMs: number,
	): void {
		const { log, store } = this.#deps;
		const timers = this.#timers;
		if (!isLeaseFresh(lease, startedAtMs)) timers.patientUntilMs = startedAtMs + PATIENT_FOR_MS;
		lease.renewedAtMs = startedAtMs;
		timers.renewAtMs = startedAtMs + lookAgainInMs(nextSilentInMs, timers.patientUntilMs - startedAtMs);
		const hasNew = this.#memory.updateSlots(owned, this.#intent === "send" ? share : 0, this.#now());
		// The rows of new slots are read by the next pass. From now on this engine handles notifications for them, so that none
		// is lost in between.
		if (hasNew || removed.length > 0) this.#needsReread = true;
		if (removed.length === 0) return;
		this.#counters.endedEngines += removed.length;
		for (const engine of removed) log.warn(engine, ENGINE_MESSAGES.silent);
		// The process of a silent engine may have stored sales and notified nobody, so all engines check the queue.
		store.announceRecheck();
	}

	/**
	 * Notes the first due rows. A row that only a routine check finds was missed. That is a defect of ours, so it is
	 * counted and logged.
	 */
	#applyFirstDue({ reread, nowMs }: PassInput, { firstDue }: PassOutput): void {
		const { clock, log } = this.#deps;
		const { dueTimes, slots } = this.#memory;
		this.#timers.checkAtMs = clock.monotonicMs() + CHECK_EVERY_MS;
		// The rows of slots that this pass gave up are left out.
		const owned = firstDue.filter(({ receiverId }) => slots.owns(receiverId));
		const missed = dueTimes.noteFirstRows(owned, nowMs);
		if (reread !== "routine" || missed === 0) return;
		this.#counters.missed += missed;
		log.error({ missed }, ENGINE_MESSAGES.missed);
	}

	#applyRead({ requests, nowMs }: PassInput, { read, targets }: PassOutput, startedAtMs: number): void {
		const when = { readAtMs: startedAtMs, learnedAtMs: this.#deps.clock.monotonicMs() };
		this.#memory.addRead(requests, { ...read, targets }, when, nowMs);
		this.#results.adaptTo(this.#memory.buffer.waitingOrInFlight);
		this.#sending.sendReady();
	}

	/**
	 * Handles deliveries that have become due, from this process or another. Returns the receivers to which another
	 * engine must send.
	 */
	#onOwed({ receiverIds, dueAtMs, ready }: Owed): readonly ReceiverId[] {
		const { dueTimes, slots } = this.#memory;
		const isSending = this.#maySend();
		const nowMs = this.#deps.clock.nowMs();
		const added = ready === undefined || !isSending ? null : this.#memory.addUnread(ready, nowMs);
		for (const { receiverId, isFailing } of added?.targets ?? []) {
			if (isFailing) this.#pass.noteFailing(receiverId);
		}
		if (added !== null) this.#sending.sendReady();
		let mustRead = false;
		for (const receiverId of receiverIds) {
			// Receivers of leaving slots are noted too, because their slot may stay after all.
			if (!slots.owns(receiverId) || added?.completeIds.has(receiverId)) continue;
			dueTimes.note(receiverId, dueAtMs);
			mustRead = true;
		}
		if (mustRead) this.#wakeSoon();
		// An engine whose lease is old may have lost its slots without knowing it yet.
		const isSure = this.#maySend();
		return receiverIds.filter((receiverId) => !isSure || !slots.maySendTo(receiverId));
	}

	/**
	 * Handles a change of a receiver's URL or secret. The next pass reads both again, together with the due deliveries.
	 */
	#onTargetChange(receiverId: ReceiverId): void {
		if (!this.#memory.slots.owns(receiverId)) return;
		this.#memory.dropTarget(receiverId, this.#now());
		this.#wakeSoon();
	}

	/** Handles a hint that a notification may have been lost, or that slots may be free. */
	#onRecheck(): void {
		this.#needsReread = true;
		this.#wakeSoon();
	}

	/** Keeps the result of an attempt until the next pass stores it. */
	#addResult(settlement: Settlement): void {
		if (!this.#memory.buffer.isInProgress(settlement.delivery)) {
			this.#counters.lateResults++;
			// The request has ended, so deliveries that were read meanwhile may be sent.
			this.#wakeSoon();
			return;
		}
		const results = this.#results;
		results.add(settlement, this.#deps.clock.monotonicMs());
		this.#sleep.wakeWithin(MAX_WAIT_MS);
		const isLastResult = hasNothingLeftToWaitFor({
			intent: this.#intent,
			inFlight: this.#memory.buffer.inFlight,
		});
		if (results.count >= results.storeAtCount || isLastResult) this.#sleep.wake();
	}

	/**
	 * Drops a delivery that was not sent, and postpones its receiver. The reason also applies to the receiver's other
	 * waiting deliveries.
	 */
	#releaseUnsent(delivery: DueDelivery, againAtMs: number): void {
		if (!this.#memory.buffer.isInProgress(delivery)) return;
		this.#memory.buffer.release(delivery);
		this.#memory.postpone([delivery.receiverId], againAtMs);
		this.#wakeSoon();
	}

	#wakeSoon(): void {
		if (this.#deps.clock.monotonicMs() - this.#steppedAtMs >= BUSY_GAP_MS) this.#sleep.wake();
		else this.#sleep.wakeWithin(BUSY_GAP_MS);
	}

	get #intent(): Intent {
		return intentOf({
			isStopRequested: this.#isStopRequested,
			isHeld: this.#hold.isHeld,
			isClockSure: this.#deps.clock.isSure(),
		});
	}

	#maySend(): boolean {
		return !this.#wasSuspended() && maySend(this.#state, this.#intent, this.#deps.clock.monotonicMs());
	}

	/** Returns whether the machine was suspended since the main loop last began a step. */
	#wasSuspended(): boolean {
		return this.#readClockGap() - this.#clockGapMs > SUSPENDED_MS;
	}

	#readClockGap(): number {
		const { nowMs, monotonicMs } = this.#now();
		return nowMs - monotonicMs;
	}

	#now(): Moment {
		const { clock } = this.#deps;
		return { nowMs: clock.nowMs(), monotonicMs: clock.monotonicMs() };
	}
}
