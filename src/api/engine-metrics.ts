// The callback engine's series. It counts for itself; its numbers are read at each scrape.

import type { EngineCounters } from "../callbacks/counters.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { Clock } from "../ports.ts";
import { counter, type Family, gauge, histogram } from "./exposition.ts";

export function engineFamilies(read: () => EngineCounters, clock: Pick<Clock, "nowMs">): readonly Family[] {
	return [
		gauge(
			"ringback_oldest_due_age_seconds",
			"How long the longest-waiting delivery of this engine's slots has been due; 0 when none is",
			() => {
				const nowMs = clock.nowMs();
				return (nowMs - (read().backlog.oldestDueAtMs ?? nowMs)) / SECOND_MS;
			},
		),
		gauge(
			"ringback_programmes_due",
			"Programmes of this engine's slots with at least one delivery that is due and not in flight",
			() => read().backlog.programmesDue,
		),
		histogram(
			"ringback_delivery_first_answer_seconds",
			"Time from a status change to the shop's answer to its first attempt; of attempts that were answered",
			() => read().firstAnswers,
		),
		histogram(
			"ringback_attempt_send_delay_seconds",
			"Time from an attempt's due time to its request",
			() => read().sendDelays,
		),
		histogram(
			"ringback_attempt_duration_seconds",
			"Time from an attempt's request to its end, however it ended; the shop has five seconds",
			() => read().attemptTimes,
		),
		{
			name: "ringback_attempts_total",
			help: "Stored attempts by verdict",
			type: "counter",
			read: () => [...read().attemptsByVerdict].map(([verdict, count]) => [{ verdict }, count]),
		},
		{
			name: "ringback_deliveries_finished_total",
			help: "Deliveries that came to a final state",
			type: "counter",
			read() {
				const { finished, cancelled } = read();
				return Object.entries({ ...finished, cancelled }).map(([state, count]) => [{ state }, count]);
			},
		},
		counter(
			"ringback_late_results_total",
			"Results that came after the engine had lost its slots",
			() => read().lateResults,
		),
		counter(
			"ringback_engines_taken_over_total",
			"Engines that had fallen silent, whose slots this one freed",
			() => read().endedEngines,
		),
		counter(
			"ringback_missed_programmes_total",
			"Programmes with something due that the engine had not heard of; must stay 0",
			() => read().missed,
		),
		gauge("ringback_slots", "Slots of programmes that this process sends to, of 64", () => read().slots),
		gauge("ringback_in_flight", "Requests to shops under way now", () => read().inFlight),
		gauge(
			"ringback_in_hand",
			"Deliveries in the hands of this process: waiting to be sent or under way",
			() => read().inHand,
		),
		histogram(
			"ringback_pass_duration_seconds",
			"Time that a pass of the engine took, which is one transaction",
			() => read().passTimes,
		),
	];
}
