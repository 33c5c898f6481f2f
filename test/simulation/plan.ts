// Draws the plan of a run from a seed: participants, length, and kinds of faults. Each kind of fault is left out of
// about half of the runs, because faults also hide each other.

import { DAY_MS } from "#core/domain/time.ts";
import type { SeededRandom } from "../support/seeded-random.ts";

export interface Plan {
	processes: number;
	programmes: readonly ProgrammePlan[];
	/** Number of virtual days with faults. In the days after these, everything must end. */
	days: number;
	/** Number of bursts of sales and decisions. */
	bursts: number;
	actsPerBurst: number;
	capPerProgramme: number;
	/** Accuracy of the machines' clocks compared with the database's clock, and whether they jump. */
	clocks: "exact" | "close" | "wild";
	faults: Faults;
	/** Number of times that staff hold all callbacks. */
	holds: number;
}

export interface ProgrammePlan {
	currency: "EUR" | "JPY" | "BHD";
	commissionRate: string;
	feeRate: string;
	approvalDays: number;
	parksPixels: boolean;
	parkedDays: number;
	/** True if the shop has a URL from the start. Other shops enter a URL later or never. */
	startsWithUrl: boolean;
	/** Percentage of requests that the shop's endpoint does not answer well on a bad day. */
	badDayPercent: number;
}

/** Probability of each fault on each occasion, or 0 if the run does not have the fault. */
export interface Faults {
	kill: number;
	stall: number;
	deploy: number;
	databaseFailure: number;
	announcementLoss: number;
	mailRefusal: number;
	/** Share of the workload's actions that change the URL or the secret. */
	configuration: number;
	/** Number of changes of a host's behaviour or DNS per day. */
	moodChangesADay: number;
}

const CURRENCIES = ["EUR", "JPY", "BHD"] as const;
export const RATES = ["0", "5", "7.5", "12.3456", "33.3333", "100"];

export function drawPlan(random: SeededRandom): Omit<Plan, "holds"> {
	const maybe = (share: number): number => (random.chance(0.5) ? share * random.fraction() : 0);
	return {
		processes: random.between(1, 3),
		programmes: Array.from({ length: random.between(1, 4) }, (_, index) =>
			drawProgramme(random, index === 0),
		),
		days: random.between(2, 16),
		bursts: random.between(1, 4),
		actsPerBurst: random.between(8, 48),
		capPerProgramme: random.pick([1, 2, 8]),
		clocks: random.pick(["exact", "exact", "close", "wild"]),
		faults: {
			kill: maybe(0.8),
			stall: maybe(0.5),
			deploy: maybe(0.6),
			databaseFailure: maybe(0.02),
			announcementLoss: random.pick([0, 0.5, 1]),
			mailRefusal: maybe(0.5),
			configuration: maybe(0.3),
			moodChangesADay: random.pick([1, 6, 24]),
		},
	};
}

/** Draws a programme. The first one has a URL from the start, so that every run sends something. */
function drawProgramme(random: SeededRandom, isFirst: boolean): ProgrammePlan {
	return {
		currency: random.pick(CURRENCIES),
		commissionRate: random.pick(RATES),
		feeRate: random.pick(RATES),
		approvalDays: random.between(0, 14),
		parksPixels: random.chance(0.7),
		parkedDays: random.pick([1, 1, 3, 30]),
		startsWithUrl: isFirst || random.chance(0.8),
		badDayPercent: random.pick([5, 40, 100]),
	};
}

/** Returns true if nothing in the plan delays attempts, so that each must be made at its time. */
export function isPunctual({ faults, holds, clocks, capPerProgramme }: Plan): boolean {
	const delays = faults.kill + faults.stall + faults.deploy + faults.databaseFailure + holds;
	return delays === 0 && clocks !== "wild" && capPerProgramme > 1;
}

/**
 * Maximum difference of a machine's clock from the database's clock, in either direction. If the difference is more
 * than a minute, the process does nothing that depends on the time.
 */
export const CLOCK_OFFSETS_MS: Readonly<Record<Plan["clocks"], readonly number[]>> = {
	exact: [0],
	close: [50, 4_000, 50_000],
	wild: [0, 4_000, 50_000, 70_000, 3_600_000, 31 * DAY_MS],
};
