// The links behind the codes, in memory: a click asks the database nothing while its link is known. What is used is read
// again before it is ten seconds old, many at once and one read at a time, however many ask. While the database is away,
// what is known goes on for ten minutes.

import { CODE_PATTERN } from "../domain/click.ts";
import { MINUTE_MS, SECOND_MS } from "../domain/time.ts";
import type { Clock, Log } from "../ports.ts";
import { findLinks, type KnownLink } from "../store/queries/clicks.ts";
import type { Store } from "../store/store.ts";

/** The database is away or far behind, and the link is not known. */
export class LinksAwayError extends Error {}

export interface Links {
	/** Null for a code of nobody. Rejects with a LinksAwayError. */
	find(code: string): Promise<KnownLink | null> | KnownLink | null;
}

export interface LinksDeps {
	store: Pick<Store, "db">;
	clock: Clock;
	log: Log;
}

const FRESH_MS = 10 * SECOND_MS;
/** From here on it is read again while it is still good, so that nobody waits; others in use come with it. */
const AGEING_MS = FRESH_MS / 2;
const KEPT_MS = 10 * MINUTE_MS;
/** For a read, where something is known already; and between two tries while the database is away. */
const PATIENCE_MS = SECOND_MS;
const MAX_KEPT = 20_000;
const MAX_READ = 1_000;

interface Entry {
	link: KnownLink;
	/** Monotonic. */
	readAtMs: number;
	/** Since it was read. */
	isUsed: boolean;
	/** To be read again. */
	isAsked: boolean;
}

interface Batch {
	codes: Set<string>;
	done: Promise<void>;
}

export function createLinks({ store, clock, log }: LinksDeps): Links {
	const entries = new Map<string, Entry>();
	/** Codes of nobody, and when that was read. Apart, so that somebody who tries codes pushes no link out. */
	const strangers = new Map<string, number>();
	let reading: Promise<void> = Promise.resolve();
	/** Monotonic; null while none is under way. */
	let readingSinceMs: number | null = null;
	let failedAtMs: number | null = null;
	/** Those who ask while a read is under way share the next one. */
	let next: Batch | null = null;

	const ageOf = (readAtMs: number): number => clock.monotonicMs() - readAtMs;

	function hasFailedJustNow(): boolean {
		return failedAtMs !== null && ageOf(failedAtMs) < PATIENCE_MS;
	}

	function isSlow(): boolean {
		return readingSinceMs !== null && ageOf(readingSinceMs) >= PATIENCE_MS;
	}

	async function readAll(codes: Set<string>): Promise<void> {
		next = null;
		for (const [code, entry] of entries) {
			if (codes.size >= MAX_READ) break;
			if (entry.isUsed && ageOf(entry.readAtMs) > AGEING_MS) codes.add(code);
		}
		const readAtMs = clock.monotonicMs();
		readingSinceMs = readAtMs;
		try {
			const found = new Map((await findLinks(store.db, [...codes])).map((link) => [link.code, link]));
			failedAtMs = null;
			for (const code of codes) {
				const link = found.get(code);
				entries.delete(code);
				strangers.delete(code);
				if (link === undefined) strangers.set(code, readAtMs);
				else entries.set(code, { link, readAtMs, isUsed: false, isAsked: false });
			}
			dropOldest(entries);
			dropOldest(strangers);
		} catch (error) {
			failedAtMs = clock.monotonicMs();
			log.warn({ err: error }, "links could not be read; those that are known go on");
			throw new LinksAwayError("links could not be read", { cause: error });
		} finally {
			readingSinceMs = null;
		}
	}

	function planRead(): Batch {
		const codes = new Set<string>();
		const done = reading.then(() => readAll(codes));
		reading = done.catch(() => undefined);
		return { codes, done };
	}

	/** Has read it when it resolves. */
	function read(code: string): Promise<void> {
		if (hasFailedJustNow()) return Promise.reject(new LinksAwayError("links could not be read a moment ago"));
		next ??= planRead();
		if (next.codes.size >= MAX_READ && !next.codes.has(code)) {
			return Promise.reject(new LinksAwayError("too many unknown links are asked for at once"));
		}
		next.codes.add(code);
		return next.done;
	}

	/** Rather what is known than a wait. */
	function readOrKeep(code: string, { link }: Entry): Promise<KnownLink | null> {
		return new Promise((resolve) => {
			const giveUp = clock.after(PATIENCE_MS, () => resolve(link));
			const settle = (found: KnownLink | null) => {
				giveUp();
				resolve(found);
			};
			read(code).then(
				() => settle(entries.get(code)?.link ?? null),
				() => settle(link),
			);
		});
	}

	return {
		find(code) {
			const known = entries.get(code);
			if (known === undefined) {
				if (!CODE_PATTERN.test(code)) return null;
				const strangeSinceMs = strangers.get(code);
				if (strangeSinceMs !== undefined && ageOf(strangeSinceMs) < FRESH_MS) return null;
				return read(code).then(() => entries.get(code)?.link ?? null);
			}
			const ageMs = ageOf(known.readAtMs);
			known.isUsed = true;
			if (ageMs < AGEING_MS || (ageMs < FRESH_MS && known.isAsked)) return known.link;
			if (ageMs >= KEPT_MS) return read(code).then(() => entries.get(code)?.link ?? null);
			if (ageMs >= FRESH_MS && !hasFailedJustNow() && !isSlow()) return readOrKeep(code, known);
			known.isAsked = true;
			// What goes wrong is logged there, and the link is good for a while.
			read(code).catch(() => undefined);
			return known.link;
		},
	};
}

function dropOldest(kept: Map<string, unknown>): void {
	for (const code of kept.keys()) {
		if (kept.size <= MAX_KEPT) return;
		kept.delete(code);
	}
}
