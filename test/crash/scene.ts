// What is there while a round runs, and what it has witnessed so far.

import { ok } from "node:assert/strict";
import { CLAIM_LAPSE_MS } from "../../src/store/queue.ts";
import { until } from "../support/until.ts";
import { checkArrivals } from "./arrivals.ts";
import { checkBalance, type Witnessed } from "./balance.ts";
import type { Books } from "./books.ts";
import type { Intake } from "./intake.ts";
import type { ReceivingShop } from "./receiving-shop.ts";
import type { QueueRow, Site } from "./site.ts";

export interface Scene {
	site: Site;
	shop: ReceivingShop;
	intake: Intake;
	hits: Map<string, Set<number>>;
	/** Those of the hits that were kills: only a process that died can have forgotten what it sent. */
	kills: Map<string, Set<number>>;
	lapsed: Map<string, Set<number>>;
	earlier: Books | null;
	/** When nothing was due or under way, the last time somebody looked. */
	quietAtMs: number;
	/** The round has failed: whatever still runs must end. */
	isAbandoned: boolean;
}

/** Reading the queue costs the services something, too. */
const LOOK_INTERVAL_MS = 80;

export function witnessedIn({ intake, earlier, hits, lapsed }: Scene): Witnessed {
	return { answered: intake.answered, earlier, hits, lapsed };
}

/** Right after a stroke: what is claimed now may be nobody's. */
export async function noteHits(scene: Scene, isKill: boolean): Promise<void> {
	const books = await scene.site.readBooks();
	noteClaims(books, scene.hits);
	if (isKill) noteClaims(books, scene.kills);
}

function noteClaims(books: Books, claims: Map<string, Set<number>>): void {
	for (const { key, queued } of books.deliveries) {
		if (queued === null || queued.claim === null) continue;
		const known = claims.get(key) ?? new Set();
		claims.set(key, known.add(queued.claim));
	}
}

/** While nobody reports anything: do the books balance? */
export async function look(scene: Scene): Promise<Books> {
	const { site, shop } = scene;
	await shop.checked();
	const books = await site.readBooks();
	checkBalance(books, witnessedIn(scene));
	// While services run, something may arrive between reading the one and the other.
	if (site.crew.isDown) checkArrivals(books, shop.arrivals, scene.kills);
	scene.earlier = books;
	return books;
}

/** After a clean stop: claimed is only what an earlier stroke left so. */
export function checkReleased({ hits }: Scene, books: Books): void {
	for (const { key, queued } of books.deliveries) {
		if (queued === null || queued.claim === null) continue;
		ok(hits.get(key)?.has(queued.claim), `${key}: a clean stop left its claim behind`);
	}
}

/** Time goes by in a stopped database instead of here. */
export async function passTime(scene: Scene, books: Books, ms: number): Promise<void> {
	if (ms < CLAIM_LAPSE_MS) throw new Error("a claim lapses before anything else does");
	noteClaims(books, scene.lapsed);
	await scene.site.passTime(ms);
}

/** Until the services have done all that is due, but for what a stroke left claimed. */
export async function untilQuiet(scene: Scene): Promise<void> {
	const caught = new Set([...scene.hits.values()].flatMap((claims) => [...claims]));
	let restless: readonly QueueRow[] = [];
	await until(
		async () => {
			await new Promise((resolve) => setTimeout(resolve, LOOK_INTERVAL_MS));
			scene.site.crew.checkAlive();
			const nowMs = Date.now();
			const rows = await scene.site.readQueue();
			scene.quietAtMs = nowMs;
			restless = rows.filter(
				({ dueAtMs, claim }) => dueAtMs <= nowMs || (claim !== null && !caught.has(claim)),
			);
			return restless.length === 0;
		},
		() => `due or under way are still ${JSON.stringify(restless)}; now it is ${scene.quietAtMs}`,
	);
}
