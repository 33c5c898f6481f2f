// Everything that is left to chance in a round, drawn from its seed before the round starts: a seed and a kind
// give the same plan on every machine. What real processes make of it is theirs.

import { createSeededRandom, type SeededRandom } from "../support/seeded-random.ts";
import { drawOrders, inTrouble, type PlannedOrder } from "./orders.ts";

export const KINDS = ["sqlite-kill", "postgres-kill", "postgres-restart", "disk-full"] as const;
export type Kind = (typeof KINDS)[number];

export type Role = "all" | "web" | "worker";

export type Happening = "answer" | "arrival";

/** When a crash falls: after so many of these, counted together, or so long after a start. */
export type Moment =
	| { kind: "happenings"; counted: readonly Happening[]; count: number }
	| { kind: "start"; delayMs: number };

export type Crash =
	/** `politeMs`: the process is asked to stop so long before, and dies in the middle of it. */
	| { kind: "kill"; victims: readonly number[]; politeMs: number | null }
	/** All services, in good order, in the middle of the work. */
	| { kind: "stop" }
	| { kind: "restart"; way: "fast" | "immediate" }
	| { kind: "fill"; ending: "room" | "killed" | "killed and started" };

export interface Phase {
	moment: Moment;
	crash: Crash;
	orders: readonly PlannedOrder[];
	/** How much time goes by if nobody is left running behind the crash; null for none. */
	passesMs: number | null;
}

export interface RoundPlan {
	seed: number;
	kind: Kind;
	/** A service process each. */
	roles: readonly Role[];
	phases: readonly Phase[];
	/** Goes by when everything has ended; null when only leases have to lapse. */
	lastPassesMs: number | null;
	/** Which of the machine's ways to fill a disk. */
	diskChoice: number;
}

/** Few enough for a round of seconds; enough that a crash falls in the middle of them. */
const ORDERS_A_PHASE: readonly [least: number, most: number] = [16, 24];
/** The least a phase makes happen is an answer and an arrival for most of its orders. */
const KILL_AFTER: readonly [least: number, most: number] = [1, 30];
/** Early: there must be orders left to be refused while the disk is full. */
const FILL_AFTER: readonly [least: number, most: number] = [1, 12];
/** A process needs half a second to start on an idle machine. */
const MAX_START_DELAY_MS = 700;
const MAX_POLITE_MS = 60;
/** Early: most reports are still to come, and the first callbacks are under way. */
const SURE_AFTER: readonly [least: number, most: number] = [1, 5];
/** Of a kind: twenty rounds, five of each, have one. */
const SURE_EVERY = 5;
/** Half of a round's cost is the starting of processes, and a second phase starts them all again. */
const TWO_PHASES_SHARE = 0.15;
const RETRY_MS = 61_000;
/** Leases lapse after 30 s, retries come after one minute and after five. */
const PASSING_MS = [30_000, RETRY_MS, 301_000] as const;

export function kindOf(seed: number): Kind {
	return KINDS[seed % KINDS.length] ?? "sqlite-kill";
}

/** In turn, not drawn: a short run, too, has one of each kind. */
function isSure(seed: number): boolean {
	return Math.floor(seed / KINDS.length) % SURE_EVERY === 0;
}

/** In turn, too: a short run has all ways. */
function diskChoiceOf(seed: number): number {
	return Math.floor(seed / KINDS.length);
}

export function drawRound(seed: number, kind: Kind): RoundPlan {
	const random = createSeededRandom(seed);
	const roles = drawRoles(random, kind);
	if (isSure(seed)) return drawSureRound(random, seed, kind, roles);
	const phases: Phase[] = [];
	for (let left = random.chance(TWO_PHASES_SHARE) ? 2 : 1; left > 0; left--) {
		phases.push(drawPhase(random, kind, roles, `${phases.length + 1}`));
	}
	return {
		seed,
		kind,
		roles,
		phases,
		lastPassesMs: random.chance(0.15) ? random.pick(PASSING_MS) : null,
		diskChoice: diskChoiceOf(seed),
	};
}

/**
 * A crash that cannot miss: everybody is killed while a shop has a request that it has not answered yet, or the
 * database goes away while reports still come in. What was hit comes again; so does a callback that was refused.
 */
function drawSureRound(random: SeededRandom, seed: number, kind: Kind, roles: readonly Role[]): RoundPlan {
	const crash = sureCrash(kind, roles, random.between(...SURE_AFTER));
	const [first, ...others] = drawOrders(random, "1", random.between(...ORDERS_A_PHASE));
	if (first === undefined) throw new RangeError("a phase has orders");
	const isDownAfter = crash.crash.kind === "kill";
	return {
		seed,
		kind,
		roles,
		phases: [{ ...crash, orders: [inTrouble(first), ...others], passesMs: isDownAfter ? RETRY_MS : null }],
		lastPassesMs: isDownAfter ? null : RETRY_MS,
		diskChoice: diskChoiceOf(seed),
	};
}

function sureCrash(kind: Kind, roles: readonly Role[], count: number): Pick<Phase, "moment" | "crash"> {
	switch (kind) {
		case "sqlite-kill":
		case "postgres-kill":
			return {
				moment: { kind: "happenings", counted: ["arrival"], count },
				crash: { kind: "kill", victims: roles.map((_, index) => index), politeMs: null },
			};
		case "postgres-restart":
			return {
				moment: { kind: "happenings", counted: ["answer"], count },
				crash: { kind: "restart", way: "immediate" },
			};
		case "disk-full":
			return {
				moment: { kind: "happenings", counted: ["answer"], count },
				crash: { kind: "fill", ending: "room" },
			};
		default:
			return kind satisfies never;
	}
}

function drawRoles(random: SeededRandom, kind: Kind): readonly Role[] {
	if (kind === "sqlite-kill" || kind === "disk-full") return ["all"];
	return random.chance(0.5) ? ["all", "all"] : ["web", "worker"];
}

function drawPhase(random: SeededRandom, kind: Kind, roles: readonly Role[], name: string): Phase {
	return {
		...drawCrash(random, kind, roles),
		orders: drawOrders(random, name, random.between(...ORDERS_A_PHASE)),
		passesMs: random.chance(0.8) ? random.pick(PASSING_MS) : null,
	};
}

function drawCrash(
	random: SeededRandom,
	kind: Kind,
	roles: readonly Role[],
): Pick<Phase, "moment" | "crash"> {
	switch (kind) {
		case "sqlite-kill":
		case "postgres-kill":
			return drawKill(random, roles);
		case "postgres-restart":
			return {
				moment: drawMoment(random, KILL_AFTER),
				crash: { kind: "restart", way: random.pick(["fast", "immediate"]) },
			};
		case "disk-full":
			return {
				moment: drawMoment(random, FILL_AFTER),
				// Mostly the promise itself: it goes on without a restart.
				crash: { kind: "fill", ending: random.pick(["room", "room", "killed", "killed and started"]) },
			};
		default:
			return kind satisfies never;
	}
}

function drawMoment(random: SeededRandom, [least, most]: readonly [number, number]): Moment {
	return { kind: "happenings", counted: ["answer", "arrival"], count: random.between(least, most) };
}

function drawKill(random: SeededRandom, roles: readonly Role[]): Pick<Phase, "moment" | "crash"> {
	const all = roles.map((_, index) => index);
	const victims = random.chance(0.4) ? all : [random.pick(all)];
	const happenings = drawMoment(random, KILL_AFTER);
	const way = random.fraction();
	if (way > 0.85) return { moment: happenings, crash: { kind: "stop" } };
	if (way < 0.2) {
		const moment: Moment = { kind: "start", delayMs: random.between(0, MAX_START_DELAY_MS) };
		return { moment, crash: { kind: "kill", victims, politeMs: null } };
	}
	const politeMs = way < 0.35 ? random.between(0, MAX_POLITE_MS) : null;
	return { moment: happenings, crash: { kind: "kill", victims, politeMs } };
}

/** For people, in a failure's message. */
export function describeRound({ kind, seed, roles, phases }: RoundPlan): string {
	const crashes = phases.map(({ crash, moment }) => `${JSON.stringify(crash)} at ${JSON.stringify(moment)}`);
	return `${kind}, seed ${seed}, roles ${roles.join(" + ")}: ${crashes.join("; ")}`;
}
