// The callback engine's series. It counts for itself; its numbers are read at each scrape.

import { type EngineCounters, oldestDueAgeMs } from "../callbacks/counters.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { Clock } from "../ports.ts";
import { counter, type Family, gauge, histogram } from "./exposition.ts";

export function engineFamilies(read: () => EngineCounters, clock: Pick<Clock, "nowMs">): readonly Family[] {
	return [
		gauge(
			"ringback_oldest_due_age_seconds",
			"How long the longest-waiting due delivery has been due when the engine last looked (every 5 s); 0 when none is; counts on while it cannot look",
			() => {
				const { backlog } = read();
				return backlog === null ? Number.NaN : oldestDueAgeMs(backlog, clock.nowMs()) / SECOND_MS;
			},
		),
		gauge(
			"ringback_programmes_due",
			"Programmes with at least one delivery that was due and not under way when the engine last looked",
			() => read().backlog?.programmesDue ?? Number.NaN,
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
			"ringback_attempts_lost_to_lateness_total",
			"Attempts that ran out of time because this process was too busy to keep the deadline; must stay 0",
			() => read().lostToLateness,
		),
		counter(
			"ringback_late_results_total",
			"Results that came after another engine had taken over",
			() => read().lateResults,
		),
		counter("ringback_engines_taken_over_total", "Engines that had fallen silent", () => read().takenOver),
		counter(
			"ringback_missed_lanes_total",
			"Receivers with something due that no engine would have looked at; must stay 0",
			() => read().missedLanes,
		),
		gauge("ringback_lanes", "Lanes leased to this process", () => read().lanes),
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
