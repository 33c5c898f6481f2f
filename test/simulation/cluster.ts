// The service processes that are up, and what befalls them: deaths and restarts, stalls, deployments, clocks that
// are set, wake-ups that get lost between them.

import type { SeededRandom } from "../support/seeded-random.ts";
import { CLOCK_OFFSETS_MS, type Plan } from "./plan.ts";
import { ServiceProcess, type Site } from "./service-process.ts";

export type Cluster = ReturnType<typeof createCluster>;

/** Most passes, calls and chores take fewer steps than this. */
const MAX_STEPS_TO_LIVE = 60;
const MAX_DOWN_MS = 120_000;
/** Beyond the quarter of a minute after which an engine is taken for silent. */
const MAX_STALL_MS = 60_000;
/** Ten seconds after the last renewal nothing is sent. */
const TOO_OLD_MS = 10_000;
/** Clocks that are further apart leave nobody sure. */
const SURE_WITHIN_MS = 60_000;
/** A connection that is lost is there again after this at the most. */
const MAX_DEAF_MS = 5_000;
/** What a process died before telling is found by a check within a minute, and that is looked for only after 30 s. */
const FOUND_WITHIN_MS = 120_000;

export function createCluster(
	site: Omit<Site, "announce" | "onEnd" | "mayHaveMissed">,
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
	/** Processes whose LISTEN connection is lost: what is told meanwhile they never hear. */
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
				process.store.hear({ kind: "doubt" });
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
		/** Up and not stopping. */
		pick,
		/** One is stopped in order and started anew. */
		deployOne() {
			const process = isCalm ? undefined : pick();
			if (process !== undefined) deploy(process);
		},
		/** One stands still, at once or while it sends, for so long that what it holds grows too old to be sent. */
		stallOne() {
			const process = isCalm ? undefined : pick();
			if (process === undefined) return;
			if (random.chance(0.5)) stall(process, TOO_OLD_MS);
			else process.stallWhenSendingMs = drawStall(TOO_OLD_MS);
		},
		/** Since when at least one process is up and sure of the time; infinite while none is. */
		get upSinceMs() {
			return upSinceMs;
		},
		get kills() {
			return kills;
		},
		startAll() {
			for (let count = 0; count < plan.processes; count++) start();
		},
		/** Something is about to happen: a good moment for things to go wrong. */
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
		/** From now on nothing goes wrong any more. */
		calm() {
			isCalm = true;
			for (const process of up) {
				process.mishaps.dieAfter(Number.POSITIVE_INFINITY);
				process.clockOffsetMs = 0;
				process.stalledUntilMs = 0;
				process.stallWhenSendingMs = 0;
			}
			noteUp();
		},
	};
}
