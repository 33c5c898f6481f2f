// Sends the deliveries in the buffer, as many at once as the caps and the pace allow. Each delivery either gets a
// result, or goes back to the queue if nothing could be sent.

import type { AnswerExcerpt } from "../domain/answer-excerpt.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { Outcome } from "../domain/verdict.ts";
import type { Clock, Load, Log, PostbackAnswer, Random, Transport } from "../ports.ts";
import type { KnownWire } from "../store/network-cache.ts";
import type { DueDelivery, Settlement } from "../store/queries/queue.ts";
import { createPreparer, type PreparedAttempt, settleAnswer } from "./attempt.ts";
import type { EngineCounters } from "./counters.ts";
import { judgeSending } from "./judge-sending.ts";
import { Pace } from "./pace.ts";
import type { SendBuffer } from "./send-buffer.ts";
import { isFresh } from "./targets.ts";

export interface SendingDeps {
	clock: Clock;
	random: Random;
	transport: Pick<Transport, "post">;
	/** Names of the headers of callbacks. Nothing is sent before these names are known. */
	wire: KnownWire;
	load: Load;
	log: Log;
}

export interface Sending {
	/**
	 * Sends the deliveries that may be sent now. The caller must call this after it has added deliveries to the buffer.
	 */
	sendReady(): void;
	stop(): void;
}

export interface SendingEvents {
	onSettled(settlement: Settlement): void;
	/**
	 * Called if nothing was sent. The delivery's row in the queue is unchanged, and it may be tried again at `againAtMs`.
	 */
	onUnsent(delivery: DueDelivery, againAtMs: number): void;
}

/** Delay before the next try if a request failed because this machine is out of sockets or memory. */
const OUR_TROUBLE_RETRY_MS = 5_000;

export function createSending(
	deps: SendingDeps & {
		buffer: SendBuffer;
		counters: Pick<EngineCounters, "firstAnswers" | "sendDelays" | "attemptTimes">;
		mostInFlight: number;
		maySend: () => boolean;
	},
	{ onSettled, onUnsent }: SendingEvents,
): Sending {
	const { clock, buffer, counters } = deps;
	const prepare = createPreparer(deps.random);
	const pace = new Pace(deps, sendReady);
	const logForbiddenAddress = createForbiddenAddressLog(deps.log);

	function sendReady(): void {
		if (!buffer.sendReady(send, () => pace.hasRoom())) pace.noteWait();
	}

	function send(delivery: DueDelivery): void {
		const startedAtMs = clock.nowMs();
		const reading = buffer.targetOf(delivery.receiverId);
		const maySend = reading !== null && isFresh(reading, clock.monotonicMs()) && deps.maySend();
		const judged = judgeSending(reading, delivery, startedAtMs, maySend);
		if (judged.kind === "cancel") {
			// A removed URL may leave thousands of deliveries to cancel. With a duration of 0 the receiver counts as fast, so
			// that many of them are read at once.
			buffer.endRequest(delivery, 0);
			onSettled({ kind: "cancelled", delivery, endedAtMs: startedAtMs });
			return;
		}
		// If the header names are not known yet, the next pass reads them, and then the delivery is tried again.
		const names = deps.wire.namesFor(delivery.receiverId);
		if (judged.kind === "later" || names === null) {
			buffer.endRequest(delivery, null);
			onUnsent(delivery, judged.kind === "later" ? judged.atMs : startedAtMs);
			return;
		}
		const prepared = prepare(names, delivery, judged.target, startedAtMs);
		const request = pace.begin();
		counters.sendDelays.observe((startedAtMs - delivery.dueAtMs) / SECOND_MS);
		// The transport never rejects. It turns every failure into an outcome.
		void deps.transport.post(prepared.request).then((answer) => {
			const tookMs = pace.end(request, answer.outcome.kind === "answered");
			conclude(delivery, prepared, answer, tookMs);
		});
	}

	function conclude(
		delivery: DueDelivery,
		prepared: PreparedAttempt,
		answer: PostbackAnswer,
		tookMs: number,
	): void {
		const endedAtMs = prepared.startedAtMs + tookMs;
		counters.attemptTimes.observe(tookMs / SECOND_MS);
		// Only first attempts are measured. They are due when their event is written, so this is the time from the event to
		// the answer.
		if (answer.outcome.kind === "answered" && delivery.seq === 0)
			counters.firstAnswers.observe((endedAtMs - delivery.dueAtMs) / SECOND_MS);
		logForbiddenAddress(prepared.request.url, answer.outcome);
		const settle = (excerpt: AnswerExcerpt | null): void => {
			buffer.endRequest(delivery, tookMs);
			const settlement = settleAnswer(delivery, prepared, answer, excerpt, endedAtMs);
			if (settlement === null) onUnsent(delivery, endedAtMs + OUR_TROUBLE_RETRY_MS);
			else onSettled(settlement);
			sendReady();
		};
		// The attempt has ended. Its result waits only for the part of the answer that is stored with it.
		if (answer.excerpt === null) settle(null);
		else void answer.excerpt.then(settle);
	}

	return { sendReady, stop: () => pace.stop() };
}

/**
 * Maximum number of hosts that are remembered as logged. If there are more, all of them are forgotten, and a host may
 * be logged a second time.
 */
const MAX_REMEMBERED = 1_000;

/**
 * Logs callbacks that were not sent because their host resolves to a private or internal address. The address is meant for
 * the operator. It is written to the log, but neither to the database nor to a page. Each pair of host and address is logged
 * once, so that a receiver's mistake does not flood the log.
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
		log.warn({ host, address, reason }, "a callback was not sent because its host is not public");
	};
}
