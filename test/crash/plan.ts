// All random choices of a round, drawn from its seed before the round starts. The same seed and kind give the
// same plan on every machine, but the timing of real processes still differs.

import { SILENT_MS } from "#core/store/queries/queue.ts";
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

/** Kinds of rounds that take seconds, with one or two crashes. */
type BriefKind = Exclude<Kind, "postgres-rolling" | "postgres-turnover">;

export type Role = "all" | "web" | "worker";

export type Happening = "answer" | "arrival";

/**
 * Moment of a crash. It comes after a number of events of the kinds in `counted`, or some time after a
 * process was started.
 */
export type Moment =
	| { kind: "happenings"; counted: readonly Happening[]; count: number }
	| { kind: "start"; delayMs: number };

export type Crash =
	/**
	 * Processes are killed. If `politeMs` is given, they are asked to stop that much earlier, so that they die
	 * while they stop.
	 */
	| { kind: "kill"; victims: readonly number[]; politeMs: number | null }
	/** All services are stopped cleanly under load. */
	| { kind: "stop" }
	| { kind: "restart"; way: "fast" | "immediate" }
	| { kind: "fill"; ending: "room" | "killed" | "killed and started" }
	/**
	 * The services are stopped cleanly and started again one after the other, `laps` times. Then one is killed.
	 */
	| { kind: "roll"; laps: number; victim: number }
	/** Services are stopped or killed one after the other while the previous one starts again. */
	| { kind: "turnover"; steps: readonly TurnoverStep[] };

export interface TurnoverStep {
	victim: number;
	/** Pause after the start of the previous service. */
	pauseMs: number;
	/**
	 * How the service ends. After "kill and lapse" its engine counts as silent at once, and the other engines
	 * take over under load. After "kill" the other engines wait until it counts as silent.
	 */
	way: "stop" | "kill" | "kill and lapse";
}

export interface Phase {
	moment: Moment;
	crash: Crash;
	orders: readonly PlannedOrder[];
	/**
	 * Interval between orders, which are reported until the crash is over. Null if all orders are reported at
	 * once.
	 */
	everyMs: number | null;
	/** Time that passes after a crash if no service runs then, or null if no time passes. */
	passesMs: number | null;
}

export interface RoundPlan {
	seed: number;
	kind: Kind;
	/** Role of each service process. */
	roles: readonly Role[];
	shops: number;
	/** Maximum number of concurrent requests to a shop, or null for the default. */
	cap: number | null;
	phases: readonly Phase[];
	/**
	 * Time that passes after everything has ended. If it is null, only as much time passes as the killed
	 * engines need to count as silent.
	 */
	lastPassesMs: number | null;
	/** Random number that selects one of the ways in which this machine can fill a disk. */
	diskChoice: number;
}

/**
 * Range of the number of orders in a phase. The orders are few enough for a round to take seconds, and enough
 * for a crash to hit some of them.
 */
const ORDERS_A_PHASE: readonly [least: number, most: number] = [16, 24];
/**
 * Range of the number of events before a kill. Most orders of a phase cause at least one answer and one
 * request to the shop.
 */
const KILL_AFTER: readonly [least: number, most: number] = [1, 30];
/**
 * Range of the number of events before the disk is filled. The disk is filled early, so that orders are left
 * to be refused while it is full.
 */
const FILL_AFTER: readonly [least: number, most: number] = [1, 12];
/** Maximum delay of a crash after a start. A process needs half a second to start on an idle machine. */
const MAX_START_DELAY_MS = 700;
const MAX_POLITE_MS = 60;
/**
 * Range of the number of events before the crash of a sure round, in which the crash always hits something.
 * The crash comes early, so that most reports are still to come and the first callbacks are in flight.
 */
const SURE_AFTER: readonly [least: number, most: number] = [1, 5];
/** Interval between sure rounds of one kind. In a sure round the crash always hits something. */
const SURE_EVERY = 5;
/** Distance between the seeds at which a series of sure rounds begins, one round of each kind. */
export const SURE_SEEDS_APART: number = SURE_EVERY * KINDS.length;
/**
 * Share of rounds with a second crash. It is low, because starting processes is half of a round's cost, and a
 * second phase starts them all again.
 */
const SECOND_CRASH_SHARE = 0.15;
const RETRY_MS = 61_000;
/**
 * Times that may pass after a crash. An engine counts as silent after 15 s, and retries come after one minute
 * and after five.
 */
const PASSING_MS = [SILENT_MS, RETRY_MS, 301_000] as const;
/**
 * Number of shops under steady load. There are more shops than processes, so that each process serves some,
 * and shops move between processes.
 */
const STEADY_SHOPS = 5;
/**
 * Limit of concurrent requests to a shop under steady load. It is so low that a shop would notice if two
 * processes exceeded it together.
 */
const STEADY_CAP = 2;
/**
 * Interval between orders under steady load. Ten orders a second cause about sixteen callbacks a second. The
 * callbacks come in bursts, so that a shop sometimes reaches its limit of concurrent requests.
 */
const STEADY_EVERY_MS = 100;
/**
 * Number of orders under steady load. It is larger than the number of orders that are reported in the longest
 * phase.
 */
const STEADY_ORDERS = 3_000;
const STEADY_AFTER: readonly [least: number, most: number] = [5, 40];
const LAPS: readonly [least: number, most: number] = [2, 3];
const TURNOVER_STEPS: readonly [least: number, most: number] = [4, 7];
/** Maximum pause between two steps of a turnover. A starting service is usually ready within this time. */
const MAX_TURNOVER_PAUSE_MS = 2_500;

export function kindOf(seed: number): Kind {
	return KINDS[seed % KINDS.length] ?? "sqlite-kill";
}

/**
 * Returns whether the round of this seed is a sure round. Sure rounds come at fixed intervals and not at
 * random, so that a short run also has one of each kind.
 */
function isSure(seed: number): boolean {
	return Math.floor(seed / KINDS.length) % SURE_EVERY === 0;
}

/**
 * Returns the number of processes. Two and three processes take turns, so that a short run has both. It is
 * not used on SQLite, because one process owns all slots there and a second process would only wait.
 */
function processesOf(seed: number): 2 | 3 {
	return (seed + Math.floor(seed / KINDS.length)) % 2 === 0 ? 2 : 3;
}

/**
 * Returns a number that selects the way to fill a disk. The ways take turns from round to round, so that a
 * short run has all of them.
 */
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
 * Draws a round whose crash always hits something. All processes are killed while a shop has an unanswered
 * request, or the database stops working while reports still arrive. Callbacks that were hit are sent again,
 * and so is a callback that the shop refused.
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

/** Draws a round with two or three processes under a load that continues while they stop, die and start. */
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

/**
 * Draws the steps of a turnover. A short run has only one sure round of this kind, so each sure round has
 * both a clean stop and a kill.
 */
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

/**
 * Draws the crashes of a round. A round in which processes are killed also has a clean stop of all services,
 * which comes before, between or after the kills.
 */
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
				// In half of the rounds no process is killed, because the service must recover by itself.
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

/** Describes the plan for a failure's message. */
export function describeRound({ kind, seed, roles, phases }: RoundPlan): string {
	const crashes = phases.map(({ crash, moment }) => `${JSON.stringify(crash)} at ${JSON.stringify(moment)}`);
	return `${kind}, seed ${seed}, roles ${roles.join(" + ")}: ${crashes.join("; ")}`;
}
