// The service processes that are up, and what befalls them: deaths and restarts, stalls, deployments, clocks that
// are set, wake-ups that get lost between them.

import type { SeededRandom } from "../support/seeded-random.ts";
import { CLOCK_REACH_MS, type Plan } from "./plan.ts";
import { ServiceProcess, type Site } from "./service-process.ts";

export interface Cluster {
	/** Up and not stopping. */
	pick(): ServiceProcess | undefined;
	startAll(): void;
	/** One stands still, at once or while it sends, for so long that what it holds grows too old to be sent. */
	stallOne(): void;
	/** One is stopped in order and started anew. */
	deployOne(): void;
	/** Something is about to happen: a good moment for things to go wrong. */
	maybeHarm(): void;
	/** From now on nothing goes wrong any more. */
	calm(): void;
	/** How far the fastest clock is ahead of the true time. */
	aheadMs(): number;
	/** Since when at least one process is up; infinite while none is. */
	readonly upSinceMs: number;
	readonly kills: number;
}

/** Most passes, calls and chores take fewer steps than this. */
const MAX_STEPS_TO_LIVE = 60;
const MAX_DOWN_MS = 120_000;
/** Beyond the half minute after which a lease lapses. */
const MAX_STALL_MS = 90_000;
/** Twenty seconds after the last renewal nothing is sent. */
const TOO_OLD_MS = 20_000;

export function createCluster(
	site: Omit<Site, "announce" | "onEnd">,
	plan: Plan,
	random: SeededRandom,
): Cluster {
	const { timeline } = site;
	const { faults } = plan;
	const up = new Set<ServiceProcess>();
	let isCalm = false;
	let kills = 0;
	let nextNumber = 1;
	let upSinceMs = Number.POSITIVE_INFINITY;

	const fullSite: Site = {
		...site,
		announce(from, programmeIds) {
			for (const other of up) {
				if (other === from || (!isCalm && random.chance(faults.announcementLoss))) continue;
				timeline.setOccasion(
					timeline.nowMs + random.between(0, 50),
					() => other.store.hear(programmeIds),
					other,
				);
			}
		},
		onEnd(process) {
			up.delete(process);
			if (!process.isStopping) kills++;
			if (up.size === 0) upSinceMs = Number.POSITIVE_INFINITY;
			timeline.setOccasion(timeline.nowMs + random.between(1, MAX_DOWN_MS), start);
		},
	};

	function start(): void {
		const number = nextNumber++;
		up.add(new ServiceProcess(fullSite, number, random.between(0, 2 ** 31 - 1), isCalm ? 0 : drawOffset()));
		if (up.size === 1) upSinceMs = timeline.nowMs;
	}

	function drawOffset(): number {
		const reachMs = CLOCK_REACH_MS[plan.clocks];
		return random.between(-reachMs, reachMs);
	}

	function pick(): ServiceProcess | undefined {
		const able = [...up].filter((process) => !process.isStopping && process.stalledUntilMs <= timeline.nowMs);
		return able.length === 0 ? undefined : random.pick(able);
	}

	function soon(harm: (process: ServiceProcess) => void): void {
		timeline.setOccasion(timeline.nowMs + random.between(0, 20_000), () => {
			const process = pick();
			if (process !== undefined && !isCalm) harm(process);
		});
	}

	function stall(process: ServiceProcess, leastMs: number): void {
		process.stalledUntilMs = timeline.nowMs + drawStall(leastMs);
	}

	function drawStall(leastMs: number): number {
		return random.between(leastMs, MAX_STALL_MS);
	}

	function deploy(process: ServiceProcess): void {
		// A kill in the middle rejects it; the process is gone either way.
		process.stop().catch(() => undefined);
	}

	return {
		pick,
		deployOne() {
			const process = isCalm ? undefined : pick();
			if (process !== undefined) deploy(process);
		},
		stallOne() {
			const process = isCalm ? undefined : pick();
			if (process === undefined) return;
			if (random.chance(0.5)) stall(process, TOO_OLD_MS);
			else process.stallWhenSendingMs = drawStall(TOO_OLD_MS);
		},
		aheadMs: () => Math.max(0, ...Array.from(up, (process) => process.clockOffsetMs)),
		get upSinceMs() {
			return upSinceMs;
		},
		get kills() {
			return kills;
		},
		startAll() {
			for (let count = 0; count < plan.processes; count++) start();
		},
		maybeHarm() {
			if (isCalm) return;
			if (random.chance(faults.kill))
				soon(({ mishaps }) => mishaps.dieAfter(random.between(1, MAX_STEPS_TO_LIVE)));
			if (random.chance(faults.stall)) {
				soon((process) => stall(process, 100));
			}
			if (random.chance(faults.deploy)) {
				soon(deploy);
			}
			if (plan.clocks === "wild" && random.chance(0.1)) {
				soon((process) => {
					process.clockOffsetMs = drawOffset();
				});
			}
		},
		calm() {
			isCalm = true;
			for (const process of up) {
				process.mishaps.dieAfter(Number.POSITIVE_INFINITY);
				process.clockOffsetMs = 0;
				process.stalledUntilMs = 0;
				process.stallWhenSendingMs = 0;
			}
		},
	};
}
