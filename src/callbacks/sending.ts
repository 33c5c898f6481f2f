// What is in hand goes out: as many requests at once as the lanes and the pace allow, and for each delivery one
// settlement, whether its request was answered or there was a reason to send nothing.

import type { KeptAnswer } from "../domain/kept-answer.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { Clock, Load, Log, Random, Transport } from "../ports.ts";
import type { KnownWire } from "../store/known-wire.ts";
import type { DueDelivery, Settlement } from "../store/queue.ts";
import { createPreparer, type PrepareAttempt, settleAnswer } from "./attempt.ts";
import type { EngineCounters } from "./counters.ts";
import type { DeliveryTraces } from "./delivery-traces.ts";
import { createForbiddenAddressLog } from "./forbidden-addresses.ts";
import type { Lanes } from "./lanes.ts";
import { isLostToLateness } from "./lateness.ts";
import { watchPace } from "./pace-watch.ts";
import { isSendable, type KnownTarget, type Target, type Targets } from "./targets.ts";

export interface SendingDeps {
	clock: Clock;
	random: Random;
	transport: Pick<Transport, "post">;
	/** Nothing is sent before the names on it are known. */
	wire: KnownWire;
	load: Load;
	log: Log;
}

export interface Sending {
	/** Deliveries that were just handed out. */
	take(deliveries: readonly DueDelivery[]): void;
	/** What waits in these lanes is given back. */
	giveBack(receiverIds: readonly number[]): void;
	/** Gives back what waits, and resolves when nothing is in flight any more: at most one deadline later. */
	stop(): Promise<void>;
}

/** A secret that cannot be opened is looked at again after this: somebody may have set the right key. */
const NO_TARGET_RETRY_MS = 5_000;

export function createSending(
	deps: SendingDeps & {
		lanes: Lanes;
		targets: Targets;
		counters: Pick<EngineCounters, "lostToLateness" | "firstAnswers" | "sendDelays" | "attemptTimes">;
		mostInFlight: number;
		/** Null where nothing is traced. */
		traces: DeliveryTraces | null;
		/** Whether the engine's lease is young enough for another attempt. */
		maySend: (nowMs: number) => boolean;
	},
	onSettled: (settlement: Settlement) => void,
): Sending {
	const { clock, lanes, targets, counters, traces } = deps;
	/** Made once: the names on the wire do not change any more when they are known. */
	let prepare: PrepareAttempt | null = null;
	const pace = watchPace(deps, sendReady);
	const logForbiddenAddress = createForbiddenAddressLog(deps.log);
	let drained: PromiseWithResolvers<void> | null = null;

	function sendReady(): void {
		if (!lanes.sendReady(send, pace.hasRoom)) pace.noteWait();
	}

	function send(delivery: DueDelivery): void {
		const startedAtMs = clock.nowMs();
		const known = targets.find(delivery.receiverId);
		const { target, unsent } = judgeSending(known, delivery, startedAtMs, deps.maySend(startedAtMs));
		if (target === null) {
			land(unsent, null);
			return;
		}
		if (deps.wire.names === null) {
			// Those may still change. They are read with the next pass, which hands it out again.
			land({ kind: "released", delivery, dueAtMs: startedAtMs }, null);
			return;
		}
		prepare ??= createPreparer(deps.wire.names, deps.random);
		const prepared = prepare(delivery, target, startedAtMs);
		const underWay = pace.begin(startedAtMs);
		counters.sendDelays.observe((startedAtMs - delivery.dueAtMs) / SECOND_MS);
		// Never rejects: the transport turns whatever happens into an outcome.
		void deps.transport.post(prepared.request).then((answer) => {
			const endedAtMs = clock.nowMs();
			const tookMs = endedAtMs - startedAtMs;
			const isAnswered = answer.outcome.kind === "answered";
			pace.end(underWay, isAnswered ? tookMs : null);
			counters.attemptTimes.observe(tookMs / SECOND_MS);
			// An event falls due when it is written. Whatever was given back meanwhile counts from then on.
			if (isAnswered && delivery.seq === 0)
				counters.firstAnswers.observe((endedAtMs - delivery.dueAtMs) / SECOND_MS);
			if (!isAnswered) {
				if (isLostToLateness(answer, tookMs, pace.lateSinceMs(underWay))) counters.lostToLateness++;
				logForbiddenAddress(prepared.request.url, answer.outcome);
			}
			traces?.attempt(delivery, prepared.request.url, answer, startedAtMs, endedAtMs);
			// The attempt has ended; only its settlement waits for the little that is kept of an answer.
			const landWith = (kept: KeptAnswer | null): void => {
				land(settleAnswer(delivery, prepared, answer, kept, endedAtMs), tookMs);
				sendReady();
			};
			if (answer.kept === null) landWith(null);
			else void answer.kept.then(landWith);
		});
	}

	function land(settlement: Settlement, tookMs: number | null): void {
		lanes.land(settlement.delivery.receiverId, tookMs);
		onSettled(settlement);
		if (lanes.inFlight === 0) drained?.resolve();
	}

	function release(deliveries: readonly DueDelivery[]): void {
		const dueAtMs = clock.nowMs();
		for (const delivery of deliveries) onSettled({ kind: "released", delivery, dueAtMs });
	}

	return {
		take(deliveries) {
			if (drained !== null) {
				release(deliveries);
				return;
			}
			for (const delivery of deliveries) lanes.takeInHand(delivery);
			sendReady();
		},
		giveBack: (receiverIds) => release(lanes.takeWaiting(receiverIds)),
		stop() {
			drained = Promise.withResolvers<void>();
			pace.stop();
			release(lanes.takeWaiting(lanes.waitingReceiverIds()));
			if (lanes.inFlight === 0) drained.resolve();
			return drained.promise;
		},
	};
}

export type SendJudgement = { target: Target; unsent: null } | { target: null; unsent: Settlement };

/** May a delivery in hand go out now, and where to; or how it is settled without anything being sent. */
export function judgeSending(
	known: KnownTarget | undefined,
	delivery: DueDelivery,
	nowMs: number,
	maySend: boolean,
): SendJudgement {
	const release = (dueAtMs: number): SendJudgement => ({
		target: null,
		unsent: { kind: "released", delivery, dueAtMs },
	});
	// Forgotten because so many others were read since: when it is handed out again, it is read anew.
	if (known === undefined) return release(nowMs);
	const { target, endpointEpoch } = known;
	if (delivery.endpointEpoch < endpointEpoch) {
		return { target: null, unsent: { kind: "cancelled", delivery, endedAtMs: nowMs } };
	}
	// Nobody knows what was saved since, or the clock was set back. When it is handed out again, it is read anew.
	if (!isSendable(known, nowMs)) return release(nowMs);
	// Of a later epoch: another process has saved a URL since the target was read. Next time it is read again.
	if (target === null || delivery.endpointEpoch > endpointEpoch) return release(nowMs + NO_TARGET_RETRY_MS);
	// The clock was set back since it was handed out: nothing goes out early.
	if (nowMs < delivery.dueAtMs) return release(delivery.dueAtMs);
	return maySend ? { target, unsent: null } : release(nowMs);
}
