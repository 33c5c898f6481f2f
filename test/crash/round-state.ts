// What is there while a round runs, and what it has witnessed so far.

import { ok } from "node:assert/strict";
import { LEASE_MS } from "../../src/store/queue.ts";
import { checkArrivals } from "./arrivals.ts";
import { checkBalance, type Witnessed } from "./balance.ts";
import type { Intake } from "./intake.ts";
import type { Ledger } from "./ledger.ts";
import { lookUntil } from "./look-until.ts";
import type { ReceivingShop } from "./receiving-shop.ts";
import type { QueueRow, Setup } from "./setup.ts";
import type { Waits } from "./waits.ts";

export interface RoundState {
	setup: Setup;
	waits: Waits;
	/** Lanes that an engine had when it was stopped in good order. */
	movedLanes: number;
	/** Engines whose lease lapsed while others worked, and who were taken over by them. */
	takenOver: number;
	/** By service, where it is known: the engine it runs. */
	engineOf: Map<number, number>;
	/** Those that it has been, too. */
	knownEngines: Set<number>;
	shop: ReceivingShop;
	intake: Intake;
	/** By delivery, the engines that had it in hand when a crash fell. */
	hits: Map<string, Set<number>>;
	/** Those of the hits that were kills: only a process that died can have forgotten what it sent. */
	kills: Map<string, Set<number>>;
	lapsed: Map<string, Set<number>>;
	earlier: Ledger | null;
	/** When nothing was due or under way, the last time somebody looked. */
	quietAtMs: number;
	/** The round has failed: whatever still runs must end. */
	isAbandoned: boolean;
}

/** An engine renews its lease every five seconds; on a busy machine a little later. */
const SILENT_MS = 8_000;

export function witnessedIn({ intake, earlier, hits, lapsed }: RoundState): Witnessed {
	return { answered: intake.answered, earlier, hits, lapsed };
}

/** Right after a crash: what is in hand now may be so for ever. */
export async function noteHits(round: RoundState, isKill: boolean): Promise<void> {
	const ledger = await round.setup.readLedger();
	noteInHand(ledger, round.hits);
	if (isKill) noteInHand(ledger, round.kills);
}

/** What this engine alone had in hand when it was killed. */
export async function noteKilled(round: RoundState, engineId: number, lapses: boolean): Promise<void> {
	const ledger = await round.setup.readLedger();
	for (const holders of [round.hits, round.kills, ...(lapses ? [round.lapsed] : [])]) {
		noteInHand(ledger, holders, engineId);
	}
}

function noteInHand(ledger: Ledger, holders: Map<string, Set<number>>, engineId?: number): void {
	for (const { key, queued } of ledger.deliveries) {
		if (queued === null || queued.holder === null) continue;
		if (engineId !== undefined && queued.holder !== engineId) continue;
		const known = holders.get(key) ?? new Set();
		holders.set(key, known.add(queued.holder));
	}
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

/** After a clean stop: in hand is only what an earlier crash left so. */
export function checkReleased({ hits }: RoundState, ledger: Ledger): void {
	for (const { key, queued } of ledger.deliveries) {
		if (queued === null || queued.holder === null) continue;
		ok(hits.get(key)?.has(queued.holder), `${key}: a clean stop left it in hand`);
	}
}

/** Time goes by in a stopped database instead of here. */
export async function passTime(round: RoundState, ledger: Ledger, ms: number): Promise<void> {
	if (ms < LEASE_MS) throw new Error("a lease lapses before anything else does");
	noteInHand(ledger, round.lapsed);
	await round.setup.passTime(ms);
}

/** Its engine has been silent for a while, and nobody may take over yet. */
function isLost(leasedUntilMs: number | null, nowMs: number): boolean {
	return leasedUntilMs !== null && leasedUntilMs > nowMs && leasedUntilMs <= nowMs + LEASE_MS - SILENT_MS;
}

/** Until the services have done all that is due, but for the lanes of engines that are not there any more. */
export async function untilQuiet(round: RoundState): Promise<void> {
	let restless: readonly QueueRow[] = [];
	await lookUntil(
		async () => {
			round.setup.processes.checkAlive();
			const nowMs = Date.now();
			const rows = await round.setup.readQueue();
			round.quietAtMs = nowMs;
			restless = rows.filter(
				({ dueAtMs, leasedUntilMs }) => dueAtMs <= nowMs && !isLost(leasedUntilMs, nowMs),
			);
			return restless.length === 0;
		},
		() => `due or under way are still ${JSON.stringify(restless)}; now it is ${round.quietAtMs}`,
	);
}
