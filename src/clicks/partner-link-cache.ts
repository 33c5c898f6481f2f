// Partner links by their codes, cached in memory, so that a click usually needs no query. A link that is in use is read
// again before it is ten seconds old. Reads are batched, and one runs at a time however many clicks come. While the
// database is out of reach, cached links stay in use for ten minutes.
//
//   age of a link    0 s ──────── 5 s ───────────── 10 s ──────────────────── 10 min
//   a click on it     cached link  cached link,      waits for a read, but     waits for a read
//                                  read in the       a second at most, then
//                                  background        the cached link
//
// concurrency/cached-value.ts is simpler. It never answers with an old value, and a click must not fail for that.

import { CODE_PATTERN } from "../domain/click.ts";
import { MINUTE_MS, SECOND_MS } from "../domain/time.ts";
import type { Clock, Log } from "../ports.ts";
import { findLinks, type KnownLink } from "../store/queries/clicks.ts";
import type { Store } from "../store/store.ts";

/** The link is not cached, and the database is out of reach or has too many reads to do. */
export class PartnerLinksUnavailableError extends Error {}

export interface PartnerLinkCache {
	/** Returns null if no link has this code. Rejects with a PartnerLinksUnavailableError. */
	find(code: string): Promise<KnownLink | null> | KnownLink | null;
	/** Returns whether `find` needs no read for a code that was not used lately. */
	isKnown(code: string): boolean;
}

export interface PartnerLinkCacheDeps {
	store: Pick<Store, "db">;
	clock: Clock;
	log: Log;
}

/** Age up to which a link is used without waiting. */
const FRESH_MS = 10 * SECOND_MS;
/** Age from which a link is read again in the background. Other links in use are read with it. */
const AGEING_MS = FRESH_MS / 2;
/** Age up to which a link is used while the database is out of reach. */
const MAX_AGE_MS = 10 * MINUTE_MS;
/** Maximum time that a click waits for a read if its link is cached, and the pause after a read that failed. */
const PATIENCE_MS = SECOND_MS;
/** Maximum number of cached links, and of cached codes without a link. */
const MAX_ENTRIES = 20_000;
/** Maximum number of codes in one read. */
const MAX_CODES_IN_READ = 1_000;

interface Entry {
	link: KnownLink;
	/** Monotonic time at which the read started. */
	readAtMs: number;
	/** True if somebody clicked on it since it was read. */
	isUsed: boolean;
	/** True if a background read was requested. */
	isRequested: boolean;
}

/** A read that has not started yet. */
interface PlannedRead {
	codes: Set<string>;
	done: Promise<void>;
}

export function createPartnerLinkCache({ store, clock, log }: PartnerLinkCacheDeps): PartnerLinkCache {
	const entries = new Map<string, Entry>();
	/** Codes without a link, with the time of the read. They are separate, so that guessed codes push no link out. */
	const unknownCodes = new Map<string, number>();
	let reading: Promise<void> = Promise.resolve();
	/** Monotonic time at which the read in progress started, or null if there is none. */
	let readingSinceMs: number | null = null;
	/** Monotonic time of the last failure, or null if the last read succeeded. */
	let failedAtMs: number | null = null;
	/** The next read, shared by all clicks that come while a read is in progress. */
	let plannedRead: PlannedRead | null = null;

	const ageOf = (readAtMs: number): number => clock.monotonicMs() - readAtMs;

	function hasJustFailed(): boolean {
		return failedAtMs !== null && ageOf(failedAtMs) < PATIENCE_MS;
	}

	function isReadSlow(): boolean {
		return readingSinceMs !== null && ageOf(readingSinceMs) >= PATIENCE_MS;
	}

	async function read(codes: Set<string>): Promise<void> {
		plannedRead = null;
		for (const [code, entry] of entries) {
			if (codes.size >= MAX_CODES_IN_READ) break;
			if (entry.isUsed && ageOf(entry.readAtMs) > AGEING_MS) codes.add(code);
		}
		const readAtMs = clock.monotonicMs();
		readingSinceMs = readAtMs;
		try {
			const links = new Map((await findLinks(store.db, [...codes])).map((link) => [link.code, link]));
			failedAtMs = null;
			for (const code of codes) cache(code, links.get(code), readAtMs);
			removeOldest(entries);
			removeOldest(unknownCodes);
		} catch (error) {
			failedAtMs = clock.monotonicMs();
			log.warn({ err: error }, "partner links could not be read; cached ones stay in use");
			throw new PartnerLinksUnavailableError("partner links could not be read", { cause: error });
		} finally {
			readingSinceMs = null;
		}
	}

	function cache(code: string, link: KnownLink | undefined, readAtMs: number): void {
		entries.delete(code);
		unknownCodes.delete(code);
		if (link === undefined) unknownCodes.set(code, readAtMs);
		else entries.set(code, { link, readAtMs, isUsed: false, isRequested: false });
	}

	function planRead(): PlannedRead {
		const codes = new Set<string>();
		const done = reading.then(() => read(codes));
		reading = done.catch(() => undefined);
		return { codes, done };
	}

	/** Resolves when the code has been read. */
	function requestRead(code: string): Promise<void> {
		if (hasJustFailed()) {
			return Promise.reject(new PartnerLinksUnavailableError("partner links could not be read a moment ago"));
		}
		plannedRead ??= planRead();
		if (plannedRead.codes.size >= MAX_CODES_IN_READ && !plannedRead.codes.has(code)) {
			return Promise.reject(new PartnerLinksUnavailableError("too many unknown links are requested at once"));
		}
		plannedRead.codes.add(code);
		return plannedRead.done;
	}

	const findAfterRead = async (code: string): Promise<KnownLink | null> => {
		await requestRead(code);
		return entries.get(code)?.link ?? null;
	};

	/** Waits for a read, and returns the cached link if it fails or takes too long. */
	function findInTime(code: string, { link }: Entry): Promise<KnownLink | null> {
		return new Promise((resolve) => {
			const cancel = clock.after(PATIENCE_MS, () => resolve(link));
			const settle = (found: KnownLink | null) => {
				cancel();
				resolve(found);
			};
			findAfterRead(code).then(settle, () => settle(link));
		});
	}

	/** Returns whether there is certainly no link with this code. */
	function isUnknown(code: string): boolean {
		if (!CODE_PATTERN.test(code)) return true;
		const unknownSinceMs = unknownCodes.get(code);
		return unknownSinceMs !== undefined && ageOf(unknownSinceMs) < FRESH_MS;
	}

	function findUncached(code: string): Promise<KnownLink | null> | null {
		return isUnknown(code) ? null : findAfterRead(code);
	}

	return {
		isKnown: (code) => entries.has(code) || isUnknown(code),
		find(code) {
			const entry = entries.get(code);
			if (entry === undefined) return findUncached(code);
			const ageMs = ageOf(entry.readAtMs);
			entry.isUsed = true;
			if (ageMs < AGEING_MS || (ageMs < FRESH_MS && entry.isRequested)) return entry.link;
			if (ageMs >= MAX_AGE_MS) return findAfterRead(code);
			if (ageMs >= FRESH_MS && !hasJustFailed() && !isReadSlow()) return findInTime(code, entry);
			entry.isRequested = true;
			// The read logs its failure, and the cached link can be used meanwhile.
			requestRead(code).catch(() => undefined);
			return entry.link;
		},
	};
}

function removeOldest(entries: Map<string, unknown>): void {
	for (const code of entries.keys()) {
		if (entries.size <= MAX_ENTRIES) return;
		entries.delete(code);
	}
}
