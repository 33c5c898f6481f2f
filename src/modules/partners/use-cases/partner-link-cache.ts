// Caches partner links by their codes, so that a click usually needs no query. A link that is in use is read
// again before it is ten seconds old. Reads are batched, and only one runs at a time, however many clicks
// come. While the database is unreachable, cached links are used for up to ten minutes.
//
//   age of a link    0 s ──────── 5 s ───────────── 10 s ──────────────────── 10 min
//   a click on it     cached link  cached link,      waits for a read, but     waits for a read
//                                  read in the       a second at most, then
//                                  background        the cached link
//
// The simpler concurrency/cached-value.ts is not used, because it never returns an outdated value, and a
// click must not fail while a new value cannot be read.

import { MINUTE_MS, SECOND_MS } from "#core/domain/time.ts";
import type { Clock, Log } from "#core/ports.ts";
import type { Store } from "#core/store/store.ts";
import { ANY_CODE_PATTERN } from "../domain/click.ts";
import { findLinks, type KnownLink } from "../store/clicks.ts";

/** Thrown if a link is not cached, and the database is unreachable or already has too many reads to do. */
export class PartnerLinksUnavailableError extends Error {}

export interface PartnerLinkCache {
	/**
	 * Returns the link with this code, or null if there is none. Rejects with a PartnerLinksUnavailableError if
	 * it cannot be read.
	 */
	find(code: string): Promise<KnownLink | null> | KnownLink | null;
	/** Returns whether the cache contains a link with this code, or the fact that there is none. */
	isKnown(code: string): boolean;
}

export interface PartnerLinkCacheDeps {
	store: Pick<Store, "db">;
	clock: Clock;
	log: Log;
}

/** Maximum age at which a link is used without waiting for a new read. */
const FRESH_MS = 10 * SECOND_MS;
/** Age from which a link is read again in the background, together with other links in use. */
const AGEING_MS = FRESH_MS / 2;
/** Maximum age at which a link is used while the database is unreachable. */
const MAX_AGE_MS = 10 * MINUTE_MS;
/** Maximum time that a click on a cached link waits for a read. It is also the pause after a failed read. */
const PATIENCE_MS = SECOND_MS;
/** Maximum number of cached links. The same number of codes without a link can be cached, too. */
const MAX_ENTRIES = 20_000;
/** Maximum number of codes in one read. */
const MAX_CODES_IN_READ = 1_000;

interface Entry {
	link: KnownLink;
	/** Monotonic time at which the read of this link started. */
	readAtMs: number;
	/** True if somebody has clicked on the link since it was read. */
	isUsed: boolean;
	/** True if a background read of the link was requested. */
	isRequested: boolean;
}

/** The next read, which has not started yet. */
interface PlannedRead {
	codes: Set<string>;
	done: Promise<void>;
}

export function createPartnerLinkCache({ store, clock, log }: PartnerLinkCacheDeps): PartnerLinkCache {
	const entries = new Map<string, Entry>();
	/**
	 * Codes that belong to no link, with the time of the read. They are cached separately, so that guessed
	 * codes evict no link.
	 */
	const unknownCodes = new Map<string, number>();
	let reading: Promise<void> = Promise.resolve();
	/** Monotonic time at which the read in progress started, or null if there is none. */
	let readingSinceMs: number | null = null;
	/** Monotonic time at which the last read failed, or null if it succeeded. */
	let failedAtMs: number | null = null;
	/** The next read, which all clicks share that come while a read is in progress. */
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

	/** Requests a read of the code. Resolves when the code has been read. */
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

	/** Waits for a read of the link. Returns the cached link if the read fails or takes too long. */
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

	/** Returns whether the code certainly belongs to no link. */
	function isUnknown(code: string): boolean {
		if (!ANY_CODE_PATTERN.test(code)) return true;
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
			// The error is ignored, because the read itself logs it and the cached link can be used meanwhile.
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
