// State of a running round, and everything that it has observed so far.

import { ok } from "node:assert/strict";
import { SILENT_MS } from "#core/store/queries/queue.ts";
import type { StatementCopies } from "../support/money-auditor.ts";
import { checkArrivals, type Kill } from "./arrivals.ts";
import { checkBalance, type Witnessed } from "./balance.ts";
import type { Intake } from "./intake.ts";
import type { Ledger } from "./ledger.ts";
import { lookUntil } from "./look-until.ts";
import { STATEMENTS } from "./money.ts";
import type { RoundPlan } from "./plan.ts";
import type { ReceivingShop } from "./receiving-shop.ts";
import type { QueueRow, Setup } from "./setup.ts";
import type { Waits } from "./waits.ts";

export interface RoundState {
	plan: RoundPlan;
	setup: Setup;
	waits: Waits;
	/** Number of slots that engines released when they were stopped cleanly. */
	movedSlots: number;
	/** Number of engines that became silent under load and were taken over by others. */
	takenOver: number;
	/** Engine of each service, from its start on. */
	engineOf: Map<number, number>;
	/** Ids of all engines that were ever seen. */
	knownEngines: Set<number>;
	killedEngines: Set<number>;
	/** Killed engines that do not count as silent yet. Other engines may not send their deliveries. */
	silentEngines: Set<number>;
	shop: ReceivingShop;
	intake: Intake;
	kills: Kill[];
	earlier: Ledger | null;
	/** The statements at earlier checks. */
	copies: StatementCopies;
	/** Number of kills after which statements were still to be issued. */
	interruptions: number;
	/** Time of the last check at which nothing was due or in flight. */
	quietAtMs: number;
	/** True when the round has failed, so that everything that still runs ends. */
	isAbandoned: boolean;
}

export function witnessedIn({ intake, earlier, copies }: RoundState): Witnessed {
	return { answered: intake.answered, earlier, copies };
}

/**
 * Records a kill immediately, before another process can take over. Returns the engines that are silent from
 * now on.
 */
export async function noteKill(round: RoundState, victims: readonly number[]): Promise<readonly number[]> {
	const ledger = await round.setup.readLedger();
	const dead = new Set(victims.flatMap((victim) => round.engineOf.get(victim) ?? []));
	// Services start one after the other. An engine that is not yet assigned to a service therefore belongs to
	// the one that was killed while it started.
	if (victims.some((victim) => !round.engineOf.has(victim))) {
		for (const id of ledger.engines) if (!round.knownEngines.has(id)) dead.add(id);
	}
	for (const victim of victims) round.engineOf.delete(victim);
	for (const id of dead) {
		round.knownEngines.add(id);
		round.killedEngines.add(id);
		round.silentEngines.add(id);
	}
	if (ledger.money.statements.length < STATEMENTS) round.interruptions++;
	const nowMs = Date.now();
	const keys = ledger.deliveries
		.filter(({ queued }) => queued !== null && queued.due_at_ms <= nowMs && dead.has(queued.owner ?? -1))
		.map(({ key }) => key);
	round.kills.push({ atMs: performance.now(), keys: new Set(keys) });
	return [...dead];
}

/** Reads and checks the ledger at a time when nothing is reported. */
export async function look(round: RoundState): Promise<Ledger> {
	const { setup, shop } = round;
	await shop.checked();
	const ledger = await setup.readLedger();
	checkBalance(ledger, witnessedIn(round));
	// Arrivals are compared only if no service runs. Otherwise a request may arrive between the two reads.
	if (setup.processes.isDown) checkArrivals(ledger, shop.arrivals, round.kills);
	round.earlier = ledger;
	return ledger;
}

/** Throws unless only the engines that were killed before still have rows and slots after a clean stop. */
export function checkReleased({ killedEngines }: RoundState, { engines }: Ledger): void {
	for (const id of engines) ok(killedEngines.has(id), `a clean stop left engine ${id} behind`);
}

/** Lets time pass by moving the times in the database of stopped services, instead of waiting. */
export async function passTime(round: RoundState, ms: number): Promise<void> {
	if (ms < SILENT_MS) throw new Error("an engine has fallen silent before anything else falls due");
	round.silentEngines.clear();
	await round.setup.passTime(ms);
}

/**
 * Tolerance for the clocks. A process knows the database's time to within half a round trip, which is long on
 * a busy machine.
 */
const CLOCK_SLACK_MS = 1_000;

/**
 * Waits until the services have done everything that is due, except in slots of killed engines that do not
 * count as silent yet.
 */
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
