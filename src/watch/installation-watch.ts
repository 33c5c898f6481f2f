// The installation as this process knows it: what it last read of the others, and what requests show. Every few seconds
// the checks go over it; what they find goes into the log when it begins and when it is over.
//
// Of requests only staff's own count: a shop's people may have a proxy of their own, or make things up.

import { HOUR_MS, SECOND_MS } from "../domain/time.ts";
import {
	type Arrival,
	judgeArrival,
	type Sighting,
	type Warning,
	type WarningSettings,
} from "../domain/warning.ts";
import type { Clock, DiskSpace, Log } from "../ports.ts";
import { NOTHING_READ, type SystemReading } from "../store/queries/system.ts";
import { findWarnings, isLasting, type WatchedState } from "./checks.ts";

export interface InstallationWatch {
	/** How a request of staff's came. */
	note(arrival: Arrival): void;
	/** As last read. */
	state(): WatchedState;
	/** For a page that staff opened by this request. */
	warningsFor(request: Pick<Arrival, "host">): Warning[];
	/** Since when no callback is sent, because the operator holds them; null while any process sends. */
	pausedSinceMs(): number | null;
	/** Reads it anew. When that fails, what is known stays: it grows old, and the checks notice. */
	read(): Promise<void>;
	/** Reads it anew, and tells the log what has changed. */
	look(): Promise<void>;
}

export interface InstallationWatchDeps {
	clock: Pick<Clock, "nowMs">;
	log: Log;
	settings: WarningSettings;
	/** Where the service listens. */
	host: string;
	clockOffsetMs: () => number | null;
	readSystem: () => Promise<SystemReading>;
	readDisk: () => Promise<DiskSpace | null>;
}

/** A few rows; while callbacks are held, the queue is counted. */
export const WATCH_INTERVAL_MS = 15 * SECOND_MS;
/** What requests showed is over when nothing of its kind was seen for this long. */
const FADES_AFTER_MS = HOUR_MS;
/** A service has a few names and proxies; of more than that, those not seen for longest are forgotten. */
const MAX_REMEMBERED = 16;

export function createInstallationWatch(deps: InstallationWatchDeps): InstallationWatch {
	const { clock, log, settings, clockOffsetMs } = deps;
	/** In the order of the last sighting. */
	const remembered = new Map<string, { sighting: Sighting; seenAtMs: number }>();
	let known: SystemReading & { disk: DiskSpace | null } = { ...NOTHING_READ, disk: null };
	const tell = createTeller(log);

	function forgetFaded(): void {
		for (const [key, { seenAtMs }] of remembered) {
			if (clock.nowMs() - seenAtMs >= FADES_AFTER_MS) remembered.delete(key);
		}
	}

	function state(): WatchedState {
		forgetFaded();
		return {
			...known,
			nowMs: clock.nowMs(),
			settings,
			host: deps.host,
			sightings: [...remembered.values()].map(({ sighting }) => sighting),
			clockOffsetMs: clockOffsetMs(),
		};
	}

	async function read(): Promise<void> {
		try {
			known = { ...(await deps.readSystem()), disk: await deps.readDisk() };
		} catch (error) {
			log.warn({ err: error }, "how the other processes do could not be read");
		}
	}

	return {
		note(arrival) {
			const sighting = judgeArrival(arrival, settings);
			if (sighting === null) return;
			forgetFaded();
			const key = `${sighting.kind} ${sighting.where}`;
			remembered.delete(key);
			remembered.set(key, { sighting, seenAtMs: clock.nowMs() });
			const [oldest] = remembered.keys();
			if (remembered.size > MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
		},
		state,
		warningsFor: ({ host }) =>
			// Private ranges are said on every page already.
			findWarnings({ ...state(), host }).filter(({ kind }) => kind !== "private_ranges"),
		pausedSinceMs: () => known.pause?.sinceMs ?? null,
		read,
		async look() {
			await read();
			tell(findWarnings(state()));
		},
	};
}

/** Says of each warning once that it has begun, and once that it is over. */
function createTeller(log: Log): (warnings: readonly Warning[]) => void {
	const told = new Map<string, Warning>();
	let foundBefore: ReadonlySet<string> = new Set();
	return (warnings) => {
		// Of several hosts or proxies one is told: whoever makes them up must not fill the log.
		const found = new Map(warnings.map((warning) => [`${warning.kind} ${warning.about ?? ""}`, warning]));
		for (const [key, warning] of found) {
			const { kind, about, title, text } = warning;
			if (told.has(key) || (!isLasting(warning) && !foundBefore.has(key))) continue;
			told.set(key, warning);
			log.warn({ kind, ...(about === undefined ? {} : { about }) }, `${title}. ${text}`);
		}
		for (const [key, { kind, title }] of told) {
			if (found.has(key)) continue;
			told.delete(key);
			log.info({ kind }, `over: ${title}`);
		}
		foundBefore = new Set(found.keys());
	};
}
