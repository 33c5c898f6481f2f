// Manages the service processes of a simulation and their faults: kills and restarts, stalls, deployments, clock
// changes, and lost notifications between processes.

import type { SeededRandom } from "../support/seeded-random.ts";
import { CLOCK_OFFSETS_MS, type Plan } from "./plan.ts";
import { ServiceProcess, type Site } from "./service-process.ts";

export type Cluster = ReturnType<typeof createCluster>;

/**
 * Maximum number of steps after which a process that is to be killed dies. Most passes, calls and chores take fewer
 * steps.
 */
const MAX_STEPS_TO_LIVE = 60;
const MAX_DOWN_MS = 120_000;
/** Maximum length of a stall. It is longer than the 15 seconds after which an engine counts as silent. */
const MAX_STALL_MS = 60_000;
/** Age of the last lease renewal from which an engine sends nothing more. */
const TOO_OLD_MS = 10_000;
/**
 * Maximum difference between a machine's clock and the database's clock at which the process still relies on the time.
 */
const SURE_WITHIN_MS = 60_000;
/** Maximum time until a lost LISTEN connection is open again. */
const MAX_DEAF_MS = 5_000;
/**
 * Time within which a row is found if a process died before it notified the others. A check finds it within a
 * minute, and it counts as missed only after 30 seconds.
 */
const FOUND_WITHIN_MS = 120_000;

export function createCluster(
	site: Omit<Site, "announce" | "onEnd" | "mayHaveMissed"> & {
		/** Called with the ids of all engines of a process that was killed. */
		onKilled(engineIds: ReadonlySet<number>): void;
	},
	plan: Plan,
	random: SeededRandom,
) {
	const { timeline } = site;
	const { faults } = plan;
	const up = new Set<ServiceProcess>();
	let isCalm = false;
	let kills = 0;
	let nextNumber = 1;
	let upSinceMs = Number.POSITIVE_INFINITY;
	let lastKillAtMs = Number.NEGATIVE_INFINITY;
	/** Processes whose LISTEN connection is lost. They miss all notifications until it is open again. */
	const deaf = new Set<ServiceProcess>();

	function noteUp(): void {
		const isAble = [...up].some(({ clockOffsetMs }) => Math.abs(clockOffsetMs) <= SURE_WITHIN_MS);
		if (!isAble) upSinceMs = Number.POSITIVE_INFINITY;
		else if (upSinceMs === Number.POSITIVE_INFINITY) upSinceMs = timeline.nowMs;
	}

	function deafen(process: ServiceProcess): void {
		deaf.add(process);
		timeline.setOccasion(
			timeline.nowMs + random.between(0, MAX_DEAF_MS),
			() => {
				deaf.delete(process);
				process.store.hear({ kind: "recheck" });
			},
			process,
		);
	}

	const fullSite: Site = {
		...site,
		announce(from, word) {
			for (const other of up) {
				if (other === from || deaf.has(other)) continue;
				if (!isCalm && random.chance(faults.announcementLoss)) {
					deafen(other);
					continue;
				}
				timeline.setOccasion(timeline.nowMs + random.between(0, 50), () => other.store.hear(word), other);
			}
		},
		mayHaveMissed: () => timeline.nowMs - lastKillAtMs < FOUND_WITHIN_MS,
		onEnd(process) {
			up.delete(process);
			deaf.delete(process);
			if (process.wasKilled) {
				kills++;
				lastKillAtMs = timeline.nowMs;
				site.onKilled(process.store.engineIds);
			}
			noteUp();
			timeline.setOccasion(timeline.nowMs + random.between(1, MAX_DOWN_MS), start);
		},
	};

	function start(): void {
		const number = nextNumber++;
		up.add(new ServiceProcess(fullSite, number, random.between(0, 2 ** 31 - 1), isCalm ? 0 : drawOffset()));
		noteUp();
	}

	function drawOffset(): number {
		const reachMs = random.pick(CLOCK_OFFSETS_MS[plan.clocks]);
		return random.between(-reachMs, reachMs);
	}

	function pick(): ServiceProcess | undefined {
		const able = [...up].filter((process) => process.isServing && process.stalledUntilMs <= timeline.nowMs);
		return able.length === 0 ? undefined : random.pick(able);
	}

	function soon(harm: (process: ServiceProcess) => void): void {
		timeline.setOccasion(timeline.nowMs + random.between(0, 20_000), () => {
			const process = pick();
			if (process !== undefined && !isCalm) harm(process);
		});
	}

	function stall(process: ServiceProcess, leastMs: number): void {
		process.stall(drawStall(leastMs));
	}

	function drawStall(leastMs: number): number {
		return random.between(leastMs, MAX_STALL_MS);
	}

	function deploy(process: ServiceProcess): void {
		// The promise rejects if the process is killed while it stops. The process has ended in either case.
		process.stop().catch(() => undefined);
	}

	return {
		/** Returns a random process that is running and not stopping. */
		pick,
		/** Stops one process cleanly. It is started again later. */
		deployOne() {
			const process = isCalm ? undefined : pick();
			if (process !== undefined) deploy(process);
		},
		/**
		 * Stalls one process, at once or while it sends. The stall lasts so long that the process may no longer send its
		 * deliveries.
		 */
		stallOne() {
			const process = isCalm ? undefined : pick();
			if (process === undefined) return;
			if (random.chance(0.5)) stall(process, TOO_OLD_MS);
			else process.stallWhenSendingMs = drawStall(TOO_OLD_MS);
		},
		/**
		 * Time since which at least one process is running and relies on its clock. It is infinite if there is no
		 * such process.
		 */
		get upSinceMs() {
			return upSinceMs;
		},
		get kills() {
			return kills;
		},
		startAll() {
			for (let count = 0; count < plan.processes; count++) start();
		},
		/** Causes a random fault. This is called when an event is about to happen, which is a good moment for a fault. */
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
					noteUp();
				});
			}
		},
		/** Kills a process at one of its next steps, if the plan has kills. This is called before a long piece of work. */
		maybeKill() {
			const process = isCalm || !random.chance(faults.kill) ? undefined : pick();
			process?.mishaps.dieAfter(random.between(1, MAX_STEPS_TO_LIVE));
		},
		/** Ends all faults. */
		calm() {
			isCalm = true;
			for (const process of up) {
				process.mishaps.dieAfter(Number.POSITIVE_INFINITY);
				process.clockOffsetMs = 0;
				process.wake();
				process.stallWhenSendingMs = 0;
			}
			noteUp();
		},
	};
}
