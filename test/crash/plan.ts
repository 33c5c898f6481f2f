// Everything that is left to chance in a round, drawn from its seed before the round starts: a seed and a kind
// give the same plan on every machine. What real processes make of it is theirs.

import { SILENT_MS } from "../../src/store/queries/queue.ts";
import { createSeededRandom, type SeededRandom } from "../support/seeded-random.ts";
import { drawOrders, inTrouble, type PlannedOrder, slowed } from "./orders.ts";

export const KINDS = [
	"sqlite-kill",
	"postgres-kill",
	"postgres-restart",
	"disk-full",
	"postgres-rolling",
	"postgres-turnover",
] as const;
export type Kind = (typeof KINDS)[number];

/** Those whose rounds are over in seconds, with one crash or two. */
type BriefKind = Exclude<Kind, "postgres-rolling" | "postgres-turnover">;

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
	| { kind: "fill"; ending: "room" | "killed" | "killed and started" }
	/** One service after the other is stopped in good order and started again, so many times round; then one is killed. */
	| { kind: "roll"; laps: number; victim: number }
	/** One after the other is stopped or killed, while the one before it starts again. */
	| { kind: "turnover"; steps: readonly TurnoverStep[] };

export interface TurnoverStep {
	victim: number;
	/** So long after the one before it was started. */
	pauseMs: number;
	/** With a lapse the others take over at once, in the middle of the work; otherwise when its time is over. */
	way: "stop" | "kill" | "kill and lapse";
}

export interface Phase {
	moment: Moment;
	crash: Crash;
	orders: readonly PlannedOrder[];
	/** They come one by one, so far apart, until the crash is over; null: all at once, and all of them. */
	everyMs: number | null;
	/** How much time goes by if nobody is left running behind the crash; null for none. */
	passesMs: number | null;
}

export interface RoundPlan {
	seed: number;
	kind: Kind;
	/** A service process each. */
	roles: readonly Role[];
	shops: number;
	/** How many requests a shop gets at a time; null for what is usual. */
	cap: number | null;
	phases: readonly Phase[];
	/** Goes by when everything has ended; null when only killed engines have to be silent for their time. */
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
/** Of a kind: every fifth. */
const SURE_EVERY = 5;
/** A seed from which on the first round of each kind is one. */
export const SURE_SEEDS_APART: number = SURE_EVERY * KINDS.length;
/** Half of a round's cost is the starting of processes, and one more phase starts them all again. */
const SECOND_CRASH_SHARE = 0.15;
const RETRY_MS = 61_000;
/** An engine is taken for silent after 15 s, retries come after one minute and after five. */
const PASSING_MS = [SILENT_MS, RETRY_MS, 301_000] as const;
/** More than processes, so that each has some and they move. */
const STEADY_SHOPS = 5;
/** Below what a shop would get in a burst, so that two processes could be seen to exceed it. */
const STEADY_CAP = 2;
/** Ten orders a second make some sixteen callbacks, which come in bursts: now and then a shop has its share. */
const STEADY_EVERY_MS = 100;
/** More than are reported in the longest of such phases. */
const STEADY_ORDERS = 3_000;
const STEADY_AFTER: readonly [least: number, most: number] = [5, 40];
const LAPS: readonly [least: number, most: number] = [2, 3];
const TURNOVER_STEPS: readonly [least: number, most: number] = [4, 7];
/** A service that starts is ready within it, mostly. */
const MAX_TURNOVER_PAUSE_MS = 2_500;

export function kindOf(seed: number): Kind {
	return KINDS[seed % KINDS.length] ?? "sqlite-kill";
}

/** In turn, not drawn: a short run, too, has one of each kind. */
function isSure(seed: number): boolean {
	return Math.floor(seed / KINDS.length) % SURE_EVERY === 0;
}

/** In turn, too, and in a short run both. On SQLite one process has all slots: a second would wait its turn. */
function processesOf(seed: number): 2 | 3 {
	return (seed + Math.floor(seed / KINDS.length)) % 2 === 0 ? 2 : 3;
}

/** In turn, too: a short run has all ways. */
function diskChoiceOf(seed: number): number {
	return Math.floor(seed / KINDS.length);
}

export function drawRound(seed: number, kind: Kind): RoundPlan {
	const random = createSeededRandom(seed);
	const roles = drawRoles(random, kind, processesOf(seed));
	if (kind === "postgres-rolling" || kind === "postgres-turnover") return drawSteadyRound(random, seed, kind);
	if (isSure(seed)) return drawSureRound(random, seed, kind, roles);
	const crashes = drawCrashes(random, kind, roles);
	return {
		seed,
		kind,
		roles,
		shops: 1,
		cap: null,
		phases: crashes.map((crash, index) => drawPhase(random, crash, `${index + 1}`)),
		lastPassesMs: random.chance(0.15) ? random.pick(PASSING_MS) : null,
		diskChoice: diskChoiceOf(seed),
	};
}

/**
 * A crash that cannot miss: everybody is killed while a shop has a request that it has not answered yet, or the
 * database goes away while reports still come in. What was hit comes again; so does a callback that was refused.
 */
function drawSureRound(
	random: SeededRandom,
	seed: number,
	kind: BriefKind,
	roles: readonly Role[],
): RoundPlan {
	const crash = sureCrash(kind, roles, random.between(...SURE_AFTER));
	const [first, ...others] = slowed(random, drawOrders(random, "1", random.between(...ORDERS_A_PHASE)));
	if (first === undefined) throw new RangeError("a phase has orders");
	const isDownAfter = crash.crash.kind === "kill";
	const orders = [inTrouble(first), ...others];
	const passesMs = isDownAfter ? RETRY_MS : null;
	return {
		seed,
		kind,
		roles,
		shops: 1,
		cap: null,
		phases: [
			{ ...crash, orders, everyMs: null, passesMs },
			...(isDownAfter ? [drawPhase(random, drawStop(random), "2")] : []),
		],
		lastPassesMs: isDownAfter ? null : RETRY_MS,
		diskChoice: diskChoiceOf(seed),
	};
}

function sureCrash(kind: BriefKind, roles: readonly Role[], count: number): Pick<Phase, "moment" | "crash"> {
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

/** Two or three processes under a load that goes on while they stop, die and start. */
function drawSteadyRound(random: SeededRandom, seed: number, kind: Exclude<Kind, BriefKind>): RoundPlan {
	const roles = Array.from({ length: processesOf(seed) }, (): Role => "all");
	const victim = random.between(0, roles.length - 1);
	const crash: Crash =
		kind === "postgres-rolling"
			? { kind: "roll", laps: isSure(seed) ? 1 : random.between(...LAPS), victim }
			: { kind: "turnover", steps: drawTurnover(random, roles.length, isSure(seed)) };
	const orders = slowed(random, drawOrders(random, "1", STEADY_ORDERS, STEADY_SHOPS));
	return {
		seed,
		kind,
		roles,
		shops: STEADY_SHOPS,
		cap: STEADY_CAP,
		phases: [
			{ moment: drawMoment(random, STEADY_AFTER), crash, orders, everyMs: STEADY_EVERY_MS, passesMs: null },
		],
		lastPassesMs: !isSure(seed) && random.chance(0.5) ? RETRY_MS : null,
		diskChoice: 0,
	};
}

/** Of the sure ones there are few, and nothing is left for the end: a short run has one. Each has both ways. */
function drawTurnover(random: SeededRandom, members: number, isSure: boolean): TurnoverStep[] {
	const ways: readonly TurnoverStep["way"][] = isSure
		? ["kill and lapse", "stop"]
		: ["kill and lapse", "kill and lapse", "kill", "stop", "stop"];
	const drawn = Array.from({ length: isSure ? 0 : random.between(...TURNOVER_STEPS) - 2 }, () =>
		random.pick(ways),
	);
	return ["kill and lapse" as const, ...drawn, "stop" as const].map((way) => ({
		victim: random.between(0, members - 1),
		pauseMs: random.between(0, MAX_TURNOVER_PAUSE_MS),
		way,
	}));
}

function drawRoles(random: SeededRandom, kind: Kind, processes: 2 | 3): readonly Role[] {
	if (kind === "sqlite-kill" || kind === "disk-full") return ["all"];
	const first: Role = random.chance(0.5) ? "all" : "web";
	return [first, ...Array.from({ length: processes - 1 }, (): Role => (first === "web" ? "worker" : "all"))];
}

function drawPhase(random: SeededRandom, crash: Pick<Phase, "moment" | "crash">, name: string): Phase {
	return {
		...crash,
		orders: drawOrders(random, name, random.between(...ORDERS_A_PHASE)),
		everyMs: null,
		passesMs: random.chance(0.8) ? random.pick(PASSING_MS) : null,
	};
}

/** Where processes are killed, they are restarted in good order, too, before it or behind it. */
function drawCrashes(
	random: SeededRandom,
	kind: BriefKind,
	roles: readonly Role[],
): Pick<Phase, "moment" | "crash">[] {
	const crashes = [drawCrash(random, kind, roles)];
	if (random.chance(SECOND_CRASH_SHARE)) crashes.push(drawCrash(random, kind, roles));
	if (kind === "sqlite-kill" || kind === "postgres-kill")
		crashes.splice(random.between(0, crashes.length), 0, drawStop(random));
	return crashes;
}

function drawStop(random: SeededRandom): Pick<Phase, "moment" | "crash"> {
	return { moment: drawMoment(random, KILL_AFTER), crash: { kind: "stop" } };
}

function drawCrash(
	random: SeededRandom,
	kind: BriefKind,
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
