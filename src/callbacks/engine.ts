// The callback engine: it tells shops of what their conversions did. One pass is one transaction: it stores the
// results that have come in and claims what is due and has room. Between passes requests are in flight and nothing
// waits for the database.
//
//   asleep ──something becomes due, or results wait──▶ passing ──▶ sending ──results──▶ passing …
//   any ──stop──▶ draining: claims nothing, gives back what is held, waits for what is in flight ──▶ stopped
//
// What it relies on: a claim lapses after half a minute and every settlement names its claim, so an engine
// that dies, stalls or loses the database harms nobody. What is sent again was not yet stored as sent.

import type { Log } from "../ports.ts";
import type { Settlement } from "../store/queue.ts";
import type { Store } from "../store/store.ts";
import { Agenda, POLL_MS } from "./agenda.ts";
import { Alarm } from "./alarm.ts";
import { countStored, type EngineCounters, findBacklog, newCounters } from "./counters.ts";
import { type Caps, Lanes } from "./lanes.ts";
import type { PassInput, PassOutput, RunPass } from "./pass.ts";
import { createSending, type Sending, type SendingDeps } from "./sending.ts";
import { Targets } from "./targets.ts";

export interface EngineDeps extends SendingDeps {
	store: Store;
	sealingKey: Uint8Array;
	log: Log;
	caps: Caps;
	runPass: RunPass;
	/** Called when a notice was written that may have to be mailed. */
	onNotice: () => void;
}

/** Results per transaction: by then a commit costs each of them next to nothing. */
const MAX_RESULTS_WAITING = 2_048;
/** Stragglers are stored after this at the latest, so that the page shows them at once. */
const RESULT_LINGER_MS = 100;
/** Under load changes are announced thousands of times a second; a pass for each would be all we do. */
const BUSY_PASS_GAP_MS = 5;
const BACKOFF_MS: readonly number[] = [100, 500, 2_000, 5_000];
/** On a clean stop: at once, and twice more if the database is away just then. After that the claims lapse. */
const STOP_WAITS_MS: readonly number[] = [0, 500, 2_000];

export class Engine {
	readonly #deps: EngineDeps;
	readonly #agenda = new Agenda();
	readonly #targets: Targets;
	readonly #lanes: Lanes;
	readonly #sending: Sending;
	readonly #counters = newCounters();
	readonly #stopListening: () => void;
	/** The next pass, at the latest. */
	readonly #alarm: Alarm;
	#results: Settlement[] = [];
	/** So many results start a pass. Follows what is held, so that a single delivery is stored at once. */
	#flushAt = 1;
	#passing: Promise<void> | null = null;
	#lastPassAtMs = 0;
	#failuresInARow = 0;
	#isStopping = false;

	constructor(deps: EngineDeps) {
		this.#deps = deps;
		this.#targets = new Targets(deps.sealingKey, deps.log);
		this.#lanes = new Lanes(deps.caps);
		const parts = { lanes: this.#lanes, targets: this.#targets, mostInFlight: deps.caps.overall };
		this.#sending = createSending({ ...deps, ...parts }, (settlement) => this.#keep(settlement));
		this.#alarm = new Alarm(deps.clock, () => this.#startPass());
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
		const drained = this.#sending.stop();
		await this.#passing;
		await drained;
		await this.#storeLastResults();
	}

	/** Something has become due, or the URL or the secret of these programmes has changed. */
	#wake(where: readonly number[] | "anywhere"): void {
		const nowMs = this.#deps.clock.nowMs();
		this.#agenda.announce(where, nowMs);
		if (where !== "anywhere") for (const programmeId of where) this.#targets.outdate(programmeId);
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
		if (this.#agenda.isOutdated(nowMs)) await this.#readAgenda(nowMs);
		const requests = this.#lanes.claimRequests(this.#agenda.due(nowMs));
		this.#agenda.startRound();
		const used = [...requests.map(({ programmeId }) => programmeId), ...this.#lanes.waitingProgrammeIds()];
		const targetsOf = this.#targets.startReading(used, nowMs);
		if (this.#results.length === 0 && requests.length === 0 && targetsOf.length === 0) return;
		const settlements = this.#results;
		this.#results = [];
		try {
			this.#learn(await this.#run({ settlements, requests, targetsOf, nowMs }), nowMs);
		} catch (error) {
			// Nothing of it was stored. Results that came in meanwhile go behind these.
			this.#results = [...settlements, ...this.#results];
			throw error;
		}
		this.#flushAt = Math.min(MAX_RESULTS_WAITING, Math.max(1, Math.ceil(this.#lanes.held / 2)));
	}

	async #readAgenda(nowMs: number): Promise<void> {
		const { store } = this.#deps;
		const rows = await store.queue.agenda(store.db);
		this.#agenda.fill(rows, nowMs);
		this.#counters.backlog = findBacklog(rows, nowMs);
		this.#lanes.forgetIdle();
	}

	async #run(input: PassInput): Promise<PassOutput> {
		const passed = await this.#deps.runPass(input);
		countStored(this.#counters, input.settlements, passed.settled);
		if (passed.hasNotice) this.#deps.onNotice();
		return passed;
	}

	#learn({ targets, claimed }: PassOutput, nowMs: number): void {
		for (const target of targets) this.#targets.learn(target, nowMs);
		for (const { programmeId, dueAtMs } of claimed.nextDue) {
			this.#agenda.correct(programmeId, dueAtMs, nowMs);
		}
		this.#sending.take(claimed.deliveries);
	}

	/** A claim has ended one way or another: its settlement waits for the next pass. */
	#keep(settlement: Settlement): void {
		this.#results.push(settlement);
		if (settlement.kind === "retry" || settlement.kind === "released") {
			this.#agenda.note(settlement.delivery.programmeId, settlement.dueAtMs);
		}
		if (this.#results.length >= this.#flushAt) this.#startPass();
		else this.#sleepAtMost(RESULT_LINGER_MS);
	}

	#sleepUntilNext(): void {
		const nowMs = this.#deps.clock.nowMs();
		const canClaimNow = this.#lanes.claimRequests(this.#agenda.due(nowMs)).length > 0;
		const waitsMs = [
			this.#results.length > 0 ? RESULT_LINGER_MS : POLL_MS,
			canClaimNow ? 0 : this.#agenda.nextAfter(nowMs) - nowMs,
			...this.#lanes.waitingProgrammeIds().map((id) => this.#targets.freshForMs(id, nowMs)),
		];
		this.#sleepAtMost(Math.min(...waitsMs));
	}

	#sleepAtMost(delayMs: number): void {
		if (!this.#isStopping) this.#alarm.ringWithin(delayMs);
	}

	#backOff(error: unknown): void {
		const delayMs = BACKOFF_MS[Math.min(this.#failuresInARow, BACKOFF_MS.length - 1)] ?? 0;
		this.#failuresInARow++;
		this.#agenda.outdate();
		this.#deps.log.error({ err: error, retryInMs: delayMs }, "the queue could not be reached; trying again");
		this.#sleepAtMost(delayMs);
	}

	async #storeLastResults(): Promise<void> {
		const { clock, log } = this.#deps;
		for (const waitMs of STOP_WAITS_MS) {
			if (this.#results.length === 0) return;
			await new Promise<void>((resolve) => clock.after(waitMs, resolve));
			try {
				await this.#run({ settlements: this.#results, requests: [], targetsOf: [], nowMs: clock.nowMs() });
				this.#results = [];
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
