// Schedules the events of a run: bursts of sales and decisions, changes by owners, and hosts and names that
// fail and recover.

import { DAY_MS, HOUR_MS, MINUTE_MS } from "#core/domain/time.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import type { Cluster } from "./cluster.ts";
import type { Configuration } from "./configuration.ts";
import type { Holding } from "./holding.ts";
import type { Impatience } from "./impatience.ts";
import type { Network } from "./network.ts";
import type { Plan } from "./plan.ts";
import type { ProgrammeRecord, ReceiverRecord } from "./programme-record.ts";
import type { ServiceProcess } from "./service-process.ts";
import type { Timeline } from "./timeline.ts";
import type { Workload } from "./workload.ts";

export interface ScheduleSite {
	timeline: Timeline;
	plan: Plan;
	random: SeededRandom;
	programmes: readonly ProgrammeRecord[];
	network: Network;
	cluster: Pick<Cluster, "pick" | "stallOne" | "deployOne">;
	workload: Workload;
	configuration: Configuration;
	impatience: Impatience;
	holding: Holding;
	supervise(work: Promise<void>): void;
}

const BURST_MS = 30_000;
const MAX_MOMENTS = 6;
const MOMENT_MS = 20;
/** Delay after a burst. It is so short that calls of the burst are still in flight. */
const SOON_MS = 3_000;
/** Times after a burst within which its first, second or a later retry is pending. */
const IMPATIENT_WITHIN_MS = [2 * MINUTE_MS, 40 * MINUTE_MS, 9 * HOUR_MS] as const;
/** Time for the opening of a run. By its end a key and a URL are valid, but it may overlap with the first burst. */
const OPENING_MS = 60_000;

export function scheduleLife(site: ScheduleSite): void {
	const { timeline, plan, random, programmes, workload, configuration } = site;
	const lengthMs = plan.days * DAY_MS;
	const at = (offsetMs: number, run: () => void): void =>
		timeline.setOccasion(timeline.nowMs + offsetMs, run);
	const withProcess = (work: (process: ServiceProcess) => Promise<void>): void => {
		const process = site.cluster.pick();
		if (process !== undefined) site.supervise(work(process));
	};

	for (const [index, programme] of programmes.entries()) {
		for (const host of programme.hosts) scheduleMoods(site, programme, host);
		at(random.between(0, OPENING_MS), () =>
			withProcess((process) => configuration.issueKey(process, programme)),
		);
		if (plan.programmes[index]?.startsWithUrl !== true) continue;
		at(random.between(0, OPENING_MS), () =>
			withProcess((process) => configuration.saveUrl(process, programme)),
		);
	}
	const bursts: number[] = [];
	for (let burst = 0; burst < plan.bursts; burst++) {
		const startsMs = OPENING_MS + random.between(0, lengthMs - OPENING_MS - BURST_MS);
		bursts.push(startsMs);
		// Many calls are made at once, because only then does a process with a fault have several deliveries that wait for
		// each other.
		const moments = Array.from(
			{ length: random.between(1, MAX_MOMENTS) },
			() => startsMs + random.between(0, BURST_MS),
		);
		for (let act = 0; act < plan.actsPerBurst; act++) {
			at(random.pick(moments) + random.between(0, MOMENT_MS), () => {
				if (!random.chance(plan.faults.configuration)) workload.act();
				else withProcess((process) => configuration.changeSomething(process, random.pick(programmes)));
			});
		}
		for (const momentMs of moments) {
			const soonMs = momentMs + random.between(0, SOON_MS);
			if (random.chance(plan.faults.stall)) at(soonMs, () => site.cluster.stallOne());
			if (random.chance(plan.faults.deploy)) at(soonMs, () => site.cluster.deployOne());
		}
	}
	for (let hold = 0; hold < plan.holds; hold++) {
		// The last hold must end well before the end of the run.
		const startsMs = Math.min((bursts[hold] ?? bursts[0] ?? 0) + BURST_MS / 2, lengthMs - HOUR_MS);
		site.holding.holdAt(timeline.nowMs + startsMs);
	}
	for (let press = 0; press < plan.actsPerBurst; press++) {
		const withinMs = random.pick(IMPATIENT_WITHIN_MS);
		at(random.pick(bursts) + random.between(0, withinMs), () => site.impatience.press());
	}
}

/**
 * Schedules the behaviour of hosts. No events in the timeline are needed, because a host's behaviour matters only when
 * the host is called.
 */
export function scheduleMoods(
	{ timeline, network, plan, random }: Pick<ScheduleSite, "timeline" | "network" | "plan" | "random">,
	receiver: ReceiverRecord,
	host: string,
): void {
	const changes = Math.ceil(plan.days * plan.faults.moodChangesADay);
	const times = Array.from({ length: changes }, () => random.between(1, plan.days * DAY_MS)).sort(
		(a, b) => a - b,
	);
	network.setMood(host, { fromMs: timeline.nowMs, badPercent: 0, dns: "public" });
	for (const afterMs of times) {
		const isBad = random.chance(0.6);
		network.setMood(host, {
			fromMs: timeline.nowMs + afterMs,
			badPercent: isBad ? receiver.badDayPercent : 0,
			dns: isBad && random.chance(0.2) ? random.pick(["private", "mixed", "rebinding", "failing"]) : "public",
		});
	}
}
