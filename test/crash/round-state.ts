// What is there while a round runs, and what it has witnessed so far.

import { ok } from "node:assert/strict";
import { SILENT_MS } from "../../src/store/queries/queue.ts";
import { checkArrivals, type Kill } from "./arrivals.ts";
import { checkBalance, type Witnessed } from "./balance.ts";
import type { Intake } from "./intake.ts";
import type { Ledger } from "./ledger.ts";
import { lookUntil } from "./look-until.ts";
import type { RoundPlan } from "./plan.ts";
import type { ReceivingShop } from "./receiving-shop.ts";
import type { QueueRow, Setup } from "./setup.ts";
import type { Waits } from "./waits.ts";

export interface RoundState {
	plan: RoundPlan;
	setup: Setup;
	waits: Waits;
	/** Slots that an engine had when it was stopped in good order. */
	movedSlots: number;
	/** Engines that fell silent while others worked, and that were taken over by them. */
	takenOver: number;
	/** By service, from when it has started: the engine it runs. */
	engineOf: Map<number, number>;
	/** All that were ever seen. */
	knownEngines: Set<number>;
	killedEngines: Set<number>;
	/** Those of the killed whose time is not over yet: nobody may send for them. */
	silentEngines: Set<number>;
	shop: ReceivingShop;
	intake: Intake;
	kills: Kill[];
	earlier: Ledger | null;
	/** When nothing was due or under way, the last time somebody looked. */
	quietAtMs: number;
	/** The round has failed: whatever still runs must end. */
	isAbandoned: boolean;
}

export function witnessedIn({ intake, earlier }: RoundState): Witnessed {
	return { answered: intake.answered, earlier };
}

/** Right after a kill, when nobody can have taken over yet. Returns the engines that are silent from now on. */
export async function noteKill(round: RoundState, victims: readonly number[]): Promise<readonly number[]> {
	const ledger = await round.setup.readLedger();
	const dead = new Set(victims.flatMap((victim) => round.engineOf.get(victim) ?? []));
	// They start one after the other: an engine that is not known yet is of the one that was killed on its way.
	if (victims.some((victim) => !round.engineOf.has(victim))) {
		for (const id of ledger.engines) if (!round.knownEngines.has(id)) dead.add(id);
	}
	for (const victim of victims) round.engineOf.delete(victim);
	for (const id of dead) {
		round.knownEngines.add(id);
		round.killedEngines.add(id);
		round.silentEngines.add(id);
	}
	const nowMs = Date.now();
	const keys = ledger.deliveries
		.filter(({ queued }) => queued !== null && queued.due_at_ms <= nowMs && dead.has(queued.owner ?? -1))
		.map(({ key }) => key);
	round.kills.push({ atMs: performance.now(), keys: new Set(keys) });
	return [...dead];
}

/** While nobody reports anything: does the ledger balance? */
export async function look(round: RoundState): Promise<Ledger> {
	const { setup, shop } = round;
	await shop.checked();
	const ledger = await setup.readLedger();
	checkBalance(ledger, witnessedIn(round));
	// While services run, something may arrive between reading the one and the other.
	if (setup.processes.isDown) checkArrivals(ledger, shop.arrivals, round.kills);
	round.earlier = ledger;
	return ledger;
}

/** After a clean stop: engines are only there, with their slots, that were killed before. */
export function checkReleased({ killedEngines }: RoundState, { engines }: Ledger): void {
	for (const id of engines) ok(killedEngines.has(id), `a clean stop left engine ${id} behind`);
}

/** Time goes by in a stopped database instead of here. */
export async function passTime(round: RoundState, ms: number): Promise<void> {
	if (ms < SILENT_MS) throw new Error("an engine has fallen silent before anything else falls due");
	round.silentEngines.clear();
	await round.setup.passTime(ms);
}

/** A process knows the database's time to within half a round trip, which is long on a busy machine. */
const CLOCK_SLACK_MS = 1_000;

/** Until the services have done all that is due, but for the slots of engines that have not been silent for long enough. */
export async function untilQuiet(round: RoundState): Promise<void> {
	let restless: readonly QueueRow[] = [];
	await lookUntil(
		async () => {
			round.setup.processes.checkAlive();
			const nowMs = Date.now() + CLOCK_SLACK_MS;
			const rows = await round.setup.readQueue();
			round.quietAtMs = nowMs;
			restless = rows.filter(
				({ dueAtMs, owner }) => dueAtMs <= nowMs && (owner === null || !round.silentEngines.has(owner)),
			);
			return restless.length === 0;
		},
		() => `due or under way are still ${JSON.stringify(restless)}; now it is ${round.quietAtMs}`,
	);
}
