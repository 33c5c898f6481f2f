// What is in hand goes out: as many requests at once as the lanes and the pace allow. Each delivery comes to a
// settlement, or is put down again because there was a reason to send nothing.

import type { KeptAnswer } from "../domain/kept-answer.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { Outcome } from "../domain/verdict.ts";
import type { Clock, Load, Log, Random, Transport } from "../ports.ts";
import type { KnownWire } from "../store/queries/known-network.ts";
import type { DueDelivery, Settlement } from "../store/queries/queue.ts";
import { createPreparer, type PrepareAttempt, settleAnswer } from "./attempt.ts";
import type { EngineCounters } from "./counters.ts";
import type { Lanes } from "./lanes.ts";
import { Pace } from "./pace.ts";
import { isFresh, type KnownTarget, type Target } from "./targets.ts";

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
	/** There is something new in hand. */
	sendReady(): void;
	stop(): void;
}

export interface SendingEvents {
	onSettled(settlement: Settlement): void;
	/** Nothing was sent: it is in the queue as it was, and may be tried again then. */
	onUnsent(delivery: DueDelivery, againAtMs: number): void;
}

/** A secret that cannot be opened is looked at again after this: somebody may have set the right key. */
const NO_TARGET_RETRY_MS = 5_000;
/** The machine is out of sockets or memory: soon again, and not at once. */
const OUR_TROUBLE_RETRY_MS = 5_000;

export function createSending(
	deps: SendingDeps & {
		lanes: Lanes;
		counters: Pick<EngineCounters, "firstAnswers" | "sendDelays" | "attemptTimes">;
		mostInFlight: number;
		/** Whether the engine's lease is young enough for another attempt. */
		maySend: () => boolean;
	},
	{ onSettled, onUnsent }: SendingEvents,
): Sending {
	const { clock, lanes, counters } = deps;
	/** Made once: the names on the wire do not change any more when they are known. */
	let prepare: PrepareAttempt | null = null;
	const pace = new Pace(deps, sendReady);
	const logForbiddenAddress = createForbiddenAddressLog(deps.log);

	function sendReady(): void {
		if (!lanes.sendReady(send, () => pace.hasRoom())) pace.noteWait();
	}

	function send(delivery: DueDelivery): void {
		const startedAtMs = clock.nowMs();
		const known = lanes.targetOf(delivery.programmeId);
		const maySend = known !== null && isFresh(known, clock.monotonicMs()) && deps.maySend();
		const judged = judgeSending(known, delivery, startedAtMs, maySend);
		// The names are read with the next pass, which hands it out again.
		if (judged.kind !== "send" || deps.wire.names === null) {
			// A removed URL may have left thousands: it costs the shop nothing to hand out many of them at once.
			lanes.land(delivery, judged.kind === "cancel" ? 0 : null);
			if (judged.kind === "cancel") onSettled({ kind: "cancelled", delivery, endedAtMs: startedAtMs });
			else onUnsent(delivery, judged.kind === "later" ? judged.atMs : startedAtMs);
			return;
		}
		prepare ??= createPreparer(deps.wire.names, deps.random);
		const prepared = prepare(delivery, judged.target, startedAtMs);
		const underWay = pace.begin();
		counters.sendDelays.observe((startedAtMs - delivery.dueAtMs) / SECOND_MS);
		// Never rejects: the transport turns whatever happens into an outcome.
		void deps.transport.post(prepared.request).then((answer) => {
			const isAnswered = answer.outcome.kind === "answered";
			const tookMs = pace.end(underWay, isAnswered);
			const endedAtMs = startedAtMs + tookMs;
			counters.attemptTimes.observe(tookMs / SECOND_MS);
			// An event falls due when it is written.
			if (isAnswered && delivery.seq === 0)
				counters.firstAnswers.observe((endedAtMs - delivery.dueAtMs) / SECOND_MS);
			logForbiddenAddress(prepared.request.url, answer.outcome);
			// The attempt has ended; only its settlement waits for the little that is kept of an answer.
			const landWith = (kept: KeptAnswer | null): void => {
				lanes.land(delivery, tookMs);
				const settlement = settleAnswer(delivery, prepared, answer, kept, endedAtMs);
				if (settlement === null) onUnsent(delivery, endedAtMs + OUR_TROUBLE_RETRY_MS);
				else onSettled(settlement);
				sendReady();
			};
			if (answer.kept === null) landWith(null);
			else void answer.kept.then(landWith);
		});
	}

	return { sendReady, stop: () => pace.stop() };
}

export type SendJudgement =
	| { kind: "send"; target: Target }
	/** Its URL has been removed. */
	| { kind: "cancel" }
	| { kind: "later"; atMs: number };

/** May a delivery in hand go out now, and where to. */
export function judgeSending(
	known: KnownTarget | null,
	delivery: DueDelivery,
	nowMs: number,
	maySend: boolean,
): SendJudgement {
	const { target = null, endpointEpoch = 0 } = known ?? {};
	if (delivery.endpointEpoch < endpointEpoch) return { kind: "cancel" };
	// Its target was read too long ago, or the lease is old: the next pass reads and renews.
	if (!maySend) return { kind: "later", atMs: nowMs };
	// Of a later epoch: another process has saved a URL since the target was read. Next time it is read again.
	if (target === null || delivery.endpointEpoch > endpointEpoch)
		return { kind: "later", atMs: nowMs + NO_TARGET_RETRY_MS };
	// The clock was set back since it was handed out: nothing goes out early.
	if (nowMs < delivery.dueAtMs)
		return { kind: "later", atMs: Math.min(delivery.dueAtMs, nowMs + NO_TARGET_RETRY_MS) };
	return { kind: "send", target };
}

/** Only bounds memory; when full, what is forbidden is simply logged once more. */
const MAX_REMEMBERED = 1_000;

/**
 * Callbacks that were not sent because their host resolves to a private or internal address. The address is for whoever
 * runs the service: it goes to the log, and neither into the database nor onto a page. Each host with its address is
 * logged once, not once a callback: a shop's mistake must not flood the log.
 */
export function createForbiddenAddressLog(log: Log): (url: string, outcome: Outcome) => void {
	const logged = new Map<string, string>();
	return (url, outcome) => {
		if (outcome.kind !== "forbidden-address") return;
		const host = URL.parse(url)?.host ?? "";
		const { address, reason } = outcome;
		if (logged.get(host) === address) return;
		if (logged.size >= MAX_REMEMBERED) logged.clear();
		logged.set(host, address);
		log.warn({ host, address, reason }, "a callback was not sent: its host is not public");
	};
}
