// What requests tell about the installation, remembered for a while and told to staff. Only callers who proved who
// they are count, and what one shop sends is not enough: its people may have a proxy of their own, or make things up.

import type { ChoreRecord } from "../domain/chore.ts";
import type { DeliveryPause } from "../domain/delivery-pause.ts";
import { HOUR_MS } from "../domain/time.ts";
import {
	type Arrival,
	describeSighting,
	findChoreWarnings,
	findClockWarnings,
	findPauseWarnings,
	findSettingWarnings,
	judgeArrival,
	type Sighting,
	type Warning,
	type WarningSettings,
} from "../domain/warning.ts";
import type { Clock, Log } from "../ports.ts";

export interface InstallationWatch {
	note(arrival: Arrival, caller: ProvenCaller): void;
	/** For a page that staff opened by this request. */
	warningsFor(arrival: Arrival): Warning[];
	/** Since when no callback is sent, because the operator holds them; null while any process sends. */
	pausedSinceMs(): number | null;
}

/** A signed-in person, or a programme whose signature was right. */
export interface ProvenCaller {
	isStaff: boolean;
	/** One for each person and each programme. */
	name: string;
}

export interface InstallationWatchDeps {
	clock: Pick<Clock, "nowMs">;
	log: Log;
	/** As all processes together know them. */
	knownChores: () => readonly ChoreRecord[];
	/** Of this process against the database server; null where there is only one clock. */
	clockOffsetMs: () => number | null;
	/** Null while callbacks go out. */
	deliveryPause: () => DeliveryPause | null;
}

/** So many different callers, where none of them is staff: one shop alone cannot raise a warning. */
const CALLERS_NEEDED = 3;
/** A warning ends when nothing of its kind was seen for this long. */
const FADES_AFTER_MS = HOUR_MS;
/** For each kind of warning. */
const LOG_INTERVAL_MS = HOUR_MS;
/** A service has a few names and proxies; of more than that, those not seen for longest are forgotten. */
const MAX_REMEMBERED = 16;

interface Remembered {
	sighting: Sighting;
	callers: Set<string>;
	isSeenByStaff: boolean;
	seenAtMs: number;
}

export function createInstallationWatch(
	{ clock, log, knownChores, clockOffsetMs, deliveryPause }: InstallationWatchDeps,
	settings: WarningSettings,
): InstallationWatch {
	/** In the order of the last sighting. */
	const remembered = new Map<string, Remembered>();
	const loggedAtMs = new Map<Sighting["kind"], number>();

	function tell(sighting: Sighting, nowMs: number): void {
		const last = loggedAtMs.get(sighting.kind) ?? Number.NEGATIVE_INFINITY;
		if (nowMs - last < LOG_INTERVAL_MS) return;
		loggedAtMs.set(sighting.kind, nowMs);
		const { kind, title, text } = describeSighting(sighting);
		log.warn({ kind, where: sighting.where }, `${title}. ${text}`);
	}

	return {
		note(arrival, { isStaff, name }) {
			const sighting = judgeArrival(arrival, settings);
			if (sighting === null) return;
			const nowMs = clock.nowMs();
			forgetFaded(remembered, nowMs);
			const key = `${sighting.kind} ${sighting.where}`;
			const entry = remembered.get(key) ?? {
				sighting,
				callers: new Set<string>(),
				isSeenByStaff: false,
				seenAtMs: nowMs,
			};
			entry.seenAtMs = nowMs;
			entry.isSeenByStaff ||= isStaff;
			if (entry.callers.size < CALLERS_NEEDED) entry.callers.add(name);
			remembered.delete(key);
			remembered.set(key, entry);
			const [oldest] = remembered.keys();
			if (remembered.size > MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
			if (isRaised(entry)) tell(sighting, nowMs);
		},
		warningsFor({ host }) {
			forgetFaded(remembered, clock.nowMs());
			// Private ranges are said on every page already.
			const ofSettings = findSettingWarnings(settings, host).filter(({ kind }) => kind !== "private_ranges");
			const seen = [...remembered.values()]
				.filter(isRaised)
				.map(({ sighting }) => describeSighting(sighting));
			const known = new Set(ofSettings.map(({ title }) => title));
			const ofChores = findChoreWarnings(knownChores(), clock.nowMs());
			const ofClock = findClockWarnings(clockOffsetMs());
			const ofPause = findPauseWarnings(deliveryPause());
			return [
				...ofPause,
				...ofClock,
				...ofChores,
				...seen.filter(({ title }) => !known.has(title)),
				...ofSettings,
			];
		},
		pausedSinceMs() {
			const pause = deliveryPause();
			return pause === null || pause.isSentElsewhere ? null : pause.sinceMs;
		},
	};
}

function isRaised({ callers, isSeenByStaff }: Remembered): boolean {
	return isSeenByStaff || callers.size >= CALLERS_NEEDED;
}

function forgetFaded(remembered: Map<string, Remembered>, nowMs: number): void {
	for (const [key, { seenAtMs }] of remembered) {
		if (nowMs - seenAtMs >= FADES_AFTER_MS) remembered.delete(key);
	}
}
