// The callback engine: it tells shops of what their conversions did. Each receiver has a lane in the store; engines
// lease lanes that are due, and only the engine that holds a lane sends to its shop. One pass is one transaction: it
// stores the results that have come in, leases lanes, and hands out what is due and has room. Between passes requests
// are in flight and nothing waits for the database.
//
//   asleep ──something becomes due, or results wait──▶ passing ──▶ sending ──results──▶ passing …
//   passing ──the lease is gone──▶ everything in hand is void; it registers anew under another number
//   any ──stop──▶ draining: hands out nothing, gives back what waits, waits for what is in flight, ends its lease
//
// What it relies on: every pass begins at the engine's own row, its lease. An engine that dies, stalls or loses the
// database is taken over half a minute after its last renewal; without its row it can store nothing more, and it sends
// nothing when its last renewal is old. What is sent again was not yet stored as sent.

import { MINUTE_MS, SECOND_MS } from "../domain/time.ts";
import type { Tracer } from "../ports.ts";
import { registerEngine } from "../store/engines.ts";
import { markDue } from "../store/lanes.ts";
import type { Settlement } from "../store/queue.ts";
import type { Store } from "../store/store.ts";
import { Alarm } from "./alarm.ts";
import { type EngineCounters, newCounters } from "./counters.ts";
import { createDeliveryTraces, type DeliveryTraces } from "./delivery-traces.ts";
import { type Caps, Lanes } from "./lanes.ts";
import { drawEngineId, type Lease, maySend } from "./lease.ts";
import type { PassInput, PassOutput, RunPass } from "./pass.ts";
import { Planner, RESULT_LINGER_MS } from "./planner.ts";
import { createSending, type Sending, type SendingDeps } from "./sending.ts";
import { Targets } from "./targets.ts";

export interface EngineDeps extends SendingDeps {
	store: Store;
	sealingKey: Uint8Array;
	caps: Caps;
	runPass: RunPass;
	/** Called when a notice was written that may have to be mailed. */
	onNotice: () => void;
	/** Left out where nothing is traced. */
	tracer?: Tracer | null;
}

/** Under load changes are announced thousands of times a second; a pass for each would be all we do. */
const BUSY_PASS_GAP_MS = 5;
const BACKOFF_MS: readonly number[] = [100, 500, 2_000, 5_000];
/** On a clean stop: at once, and twice more if the database is away just then. After that the lease lapses. */
const STOP_WAITS_MS: readonly number[] = [0, 500, 2_000];
/** How often all receivers with something in the queue are walked for a lane that nobody would look at. */
const SLOW_LOOK_MS = MINUTE_MS;
/**
 * Whoever gives a lane away says that it is due now, by a clock that may be ahead of ours; and ours may have been set
 * back since. So only a lane that nobody would look at for so long counts as missed.
 */
const MISSED_FOR_MS = 5 * MINUTE_MS;

export class Engine {
	readonly #deps: EngineDeps;
	readonly #planner: Planner;
	readonly #targets: Targets;
	readonly #lanes: Lanes;
	readonly #sending: Sending;
	readonly #traces: DeliveryTraces | null;
	readonly #counters = newCounters();
	readonly #stopListening: () => void;
	/** The next pass, at the latest. */
	readonly #alarm: Alarm;
	/** Null before it is registered, and after it was lost. */
	#lease: Lease | null = null;
	#passing: Promise<void> | null = null;
	#lastPassAtMs = 0;
	#slowLookAtMs: number;
	#failuresInARow = 0;
	#isStopping = false;

	constructor(deps: EngineDeps) {
		this.#deps = deps;
		this.#targets = new Targets(deps.sealingKey, deps.log);
		this.#lanes = new Lanes(deps.caps);
		const { tracer = null } = deps;
		this.#traces = tracer === null ? null : createDeliveryTraces({ ...deps, tracer });
		const parts = { lanes: this.#lanes, targets: this.#targets };
		this.#planner = new Planner({ ...parts, counters: this.#counters, log: deps.log });
		this.#sending = createSending(
			{
				...deps,
				...parts,
				counters: this.#counters,
				mostInFlight: deps.caps.overall,
				traces: this.#traces,
				maySend: (nowMs) => this.#lease !== null && maySend(this.#lease, nowMs),
			},
			(settlement) => this.#keep(settlement),
		);
		this.#slowLookAtMs = deps.clock.nowMs();
		this.#alarm = new Alarm(deps.clock, () => this.#startPass());
		this.#stopListening = deps.store.onDue((where) => this.#wake(where));
		this.#startPass();
	}

	get counters(): EngineCounters {
		const { inFlight, inHand } = this.#lanes;
		return { ...this.#counters, inFlight, inHand, lanes: this.#planner.heldLanes };
	}

	/** Hands out no more, gives back what waits, finishes what is in flight (at most one deadline), ends its lease. */
	async stop(): Promise<void> {
		this.#isStopping = true;
		this.#stopListening();
		this.#alarm.cancel();
		const drained = this.#sending.stop();
		await this.#passing;
		await drained;
		await this.#endLease();
	}

	/**
	 * Something has become due, or the URL or the secret of these receivers has changed. Returns those whose lanes are
	 * not held here: an engine of another process may have them.
	 */
	#wake(where: readonly number[] | "anywhere"): readonly number[] {
		const nowMs = this.#deps.clock.nowMs();
		const elsewhere = this.#planner.announce(where, nowMs);
		if (where !== "anywhere") for (const receiverId of where) this.#targets.outdate(receiverId);
		if (nowMs - this.#lastPassAtMs >= BUSY_PASS_GAP_MS) this.#startPass();
		else this.#sleepAtMost(BUSY_PASS_GAP_MS);
		return this.#planner.isAlone ? [] : elsewhere;
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
		while (!this.#isStopping && (this.#lease === null || this.#planner.hasEnoughResults));
	}

	async #pass(): Promise<void> {
		const { clock, store, random, wire } = this.#deps;
		// Before the pass: what is in it has a secret, and by then they are known.
		if (wire.names === null) await wire.read();
		const nowMs = clock.nowMs();
		this.#lastPassAtMs = nowMs;
		if (this.#lease === null) {
			const engineId = drawEngineId(random);
			await registerEngine(store.db, engineId, nowMs);
			// Renewed with the first pass, which then looks at the other engines, too.
			this.#lease = { engineId, renewedAtMs: Number.NEGATIVE_INFINITY };
		}
		const input = this.#planner.plan(this.#lease, nowMs);
		const output = input === null ? null : await this.#run(this.#lease, input);
		if (output === null) return;
		await this.#traces?.handOut(output.choice.deliveries, nowMs, clock.nowMs());
		this.#sending.take(output.choice.deliveries);
		if (output.others !== null) this.#sending.giveBack(this.#planner.startLeaving());
		if (output.others?.hasLapsed === true) await this.#takeOver(nowMs);
		// Either way: a clock that was set back by an hour must not put the next look off for an hour.
		if (Math.abs(nowMs - this.#slowLookAtMs) >= SLOW_LOOK_MS) await this.#lookSlowly(nowMs);
	}

	/** Null when the lease is lost. */
	async #run(lease: Lease, input: PassInput): Promise<PassOutput | null> {
		const { clock } = this.#deps;
		const startedAtMs = clock.nowMs();
		try {
			const output = await this.#deps.runPass(input);
			if (output === null) {
				this.#deps.log.warn({ engineId: lease.engineId }, "another engine has taken over; starting anew");
				this.#lease = null;
				this.#planner.voidAll(input.settlements);
				return null;
			}
			if (input.renewal !== null) lease.renewedAtMs = input.nowMs;
			this.#planner.learn(input, output);
			if (output.hasNotice) this.#deps.onNotice();
			return output;
		} catch (error) {
			this.#planner.putBack(input, input.nowMs);
			throw error;
		} finally {
			this.#counters.passTimes.observe((clock.nowMs() - startedAtMs) / SECOND_MS);
		}
	}

	/** Engines that have been silent for too long: what they had in hand is interrupted, and their lanes are free. */
	async #takeOver(nowMs: number): Promise<void> {
		const { store, log } = this.#deps;
		for (;;) {
			const taken = await store.transact((trx) => store.queue.takeOver(trx, nowMs));
			if (taken === null) break;
			this.#counters.takenOver++;
			log.warn(taken, "took over from an engine that had fallen silent");
		}
		this.#planner.announce("anywhere", nowMs);
	}

	/** Behind everything else. What it finds is a defect of ours: it is counted, and mended. */
	async #lookSlowly(nowMs: number): Promise<void> {
		const { store, log } = this.#deps;
		this.#slowLookAtMs = nowMs;
		// In a transaction: on SQLite the connection may be in the middle of somebody else's.
		const missed = await store.transact((trx) => store.queue.findMissed(trx, nowMs + MISSED_FOR_MS));
		if (missed.length === 0) return;
		this.#counters.missedLanes += missed.length;
		log.error({ missed: missed.length }, "deliveries were due that no engine would have looked at");
		for (const { receiverId, dueAtMs } of missed) {
			await store.transact((trx) => markDue(trx, [receiverId], dueAtMs));
		}
		this.#planner.announce("anywhere", nowMs);
	}

	/** A delivery was settled one way or another, and waits for the next pass. */
	#keep(settlement: Settlement): void {
		this.#planner.keep(settlement);
		if (this.#planner.hasEnoughResults) this.#startPass();
		// The first sets the alarm for those behind it; a pass that ends looks for itself.
		else if (this.#planner.resultsWaiting === 1) this.#sleepAtMost(RESULT_LINGER_MS);
	}

	#sleepUntilNext(): void {
		if (this.#lease !== null)
			this.#sleepAtMost(this.#planner.nextPassInMs(this.#lease, this.#deps.clock.nowMs()));
	}

	#sleepAtMost(delayMs: number): void {
		if (!this.#isStopping) this.#alarm.ringWithin(Math.max(0, delayMs));
	}

	#backOff(error: unknown): void {
		const delayMs = BACKOFF_MS[Math.min(this.#failuresInARow, BACKOFF_MS.length - 1)] ?? 0;
		this.#failuresInARow++;
		this.#deps.log.error({ err: error, retryInMs: delayMs }, "the queue could not be reached; trying again");
		this.#sleepAtMost(delayMs);
	}

	async #endLease(): Promise<void> {
		const { clock, log, store, runPass } = this.#deps;
		const lease = this.#lease;
		if (lease === null) return;
		for (const waitMs of STOP_WAITS_MS) {
			if (waitMs > 0) await new Promise<void>((resolve) => clock.after(waitMs, resolve));
			const input = this.#planner.planLast(lease, clock.nowMs());
			try {
				const output = await runPass(input);
				if (output !== null) this.#planner.learn(input, output);
				// The engines of other processes take these lanes at once.
				store.announceDue(input.leaving);
				return;
			} catch (error) {
				this.#planner.putBack(input, input.nowMs);
				log.warn({ err: error }, "the last results could not be stored");
			}
		}
		log.error({}, "stopping without the last results: they will be sent again");
	}
}
