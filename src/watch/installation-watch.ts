// State of the installation as this process knows it: the facts that it last read about the other processes, and the
// problems that requests reveal. The checks examine this state every few seconds. A problem is logged when it begins
// and when it is over.
//
// Only requests of staff are examined, because a shop's users may have their own proxy or send false headers.

import type { CertificateReading } from "#core/domain/certificate.ts";
import { SILENT_AFTER_MS } from "#core/domain/process.ts";
import { HOUR_MS, SECOND_MS } from "#core/domain/time.ts";
import {
	type Arrival,
	judgeArrival,
	type Sighting,
	type Warning,
	type WarningSettings,
} from "#core/domain/warning.ts";
import type { Clock, DiskSpace, Log } from "#core/ports.ts";
import { NOTHING_READ, type SystemReading } from "#core/store/queries/system.ts";
import { findWarnings, isLasting, type WatchedState } from "./checks.ts";

export interface InstallationWatch {
	note(arrival: Arrival): void;
	/** Records whether the identity provider could be used in a sign-in with the company's account. */
	reportProvider(issuer: string, isAvailable: boolean): void;
	state(): WatchedState;
	/** Returns the warnings to show on a page that staff opened with this request. */
	warningsFor(request: Pick<Arrival, "host">): Warning[];
	/** Returns the time at which staff held all callbacks, or null if callbacks are sent. */
	pausedSinceMs(): number | null;
	/** Reads the facts again. If that fails, the old facts remain, and a check warns that they are old. */
	read(): Promise<void>;
	/** Reads the facts again, and logs which problems have begun or ended. */
	look(): Promise<void>;
}

export interface InstallationWatchDeps {
	clock: Pick<Clock, "nowMs">;
	log: Log;
	settings: WarningSettings;
	host: string;
	clockOffsetMs: () => number | null;
	readSystem: () => Promise<SystemReading>;
	readDisk: () => Promise<DiskSpace | null>;
	readCertificates: () => readonly CertificateReading[];
}

/**
 * Time between two runs of the checks. A run reads a few rows. While callbacks are held, it also counts the
 * queue.
 */
export const WATCH_INTERVAL_MS = 15 * SECOND_MS;
/** Time after which a problem that a request revealed counts as over, if no further request reveals it. */
const FORGOTTEN_AFTER_MS = HOUR_MS;
/**
 * Maximum number of remembered problems. If there are more, the oldest is dropped. An honest installation has only a
 * few host names and proxies.
 */
const MAX_REMEMBERED = 16;

export function createInstallationWatch(deps: InstallationWatchDeps): InstallationWatch {
	const { clock, log, settings, clockOffsetMs } = deps;
	/** Problems that requests revealed, in the order in which they were last seen. */
	const remembered = new Map<string, { sighting: Sighting; seenAtMs: number }>();
	let reading: SystemReading & { disk: DiskSpace | null } = { ...NOTHING_READ, disk: null };
	const processesAt = createProcessesTime();
	const logChanges = createWarningLog(log);

	function forgetOld(): void {
		for (const [key, { seenAtMs }] of remembered) {
			if (clock.nowMs() - seenAtMs >= FORGOTTEN_AFTER_MS) remembered.delete(key);
		}
	}

	function state(): WatchedState {
		forgetOld();
		return {
			...reading,
			nowMs: clock.nowMs(),
			processesAtMs: processesAt.ms ?? clock.nowMs(),
			settings,
			host: deps.host,
			sightings: [...remembered.values()].map(({ sighting }) => sighting),
			clockOffsetMs: clockOffsetMs(),
			certificates: deps.readCertificates(),
		};
	}

	async function read(): Promise<void> {
		try {
			reading = { ...(await deps.readSystem()), disk: await deps.readDisk() };
			processesAt.readingSucceeded(clock.nowMs());
		} catch (error) {
			processesAt.readingFailed();
			log.warn({ err: error }, "the state of the other processes could not be read");
		}
	}

	function remember(sighting: Sighting): void {
		forgetOld();
		const key = keyOf(sighting);
		remembered.delete(key);
		remembered.set(key, { sighting, seenAtMs: clock.nowMs() });
		const [oldest] = remembered.keys();
		if (remembered.size > MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
	}

	return {
		note(arrival) {
			const sighting = judgeArrival(arrival, settings);
			if (sighting !== null) remember(sighting);
		},
		reportProvider(issuer, isAvailable) {
			const sighting = { kind: "provider_unavailable", where: issuer, atMs: clock.nowMs() } as const;
			if (isAvailable) remembered.delete(keyOf(sighting));
			else remember(sighting);
		},
		state,
		warningsFor: ({ host }) =>
			// The warning about private ranges is left out, because a banner on every page already shows it.
			findWarnings({ ...state(), host }).filter(({ kind }) => kind !== "private_ranges"),
		pausedSinceMs: () => reading.pause?.sinceMs ?? null,
		read,
		async look() {
			await read();
			logChanges(findWarnings(state()));
		},
	};
}

function keyOf({ kind, where }: Sighting): string {
	return `${kind} ${where}`;
}

/**
 * Creates a function that returns the time for judging which processes are silent. This is the time of the last
 * reading that was made while the database had been reachable for long enough for every process to report. With the
 * current time, all processes would seem silent after an outage.
 */
function createProcessesTime() {
	let ms: number | null = null;
	let reachableSinceMs: number | null = null;
	return {
		get ms(): number | null {
			return ms;
		},
		readingSucceeded(nowMs: number): void {
			// At the first reading, no outage is known, so the database counts as having been reachable for long enough.
			reachableSinceMs ??= ms === null ? nowMs - SILENT_AFTER_MS : nowMs;
			if (nowMs - reachableSinceMs >= SILENT_AFTER_MS) ms = nowMs;
		},
		readingFailed(): void {
			reachableSinceMs = null;
		},
	};
}

/** Returns a function that logs each warning when it begins and again when it is over. */
function createWarningLog(log: Log): (warnings: readonly Warning[]) => void {
	const logged = new Map<string, Warning>();
	let foundBefore: ReadonlySet<string> = new Set();
	return (warnings) => {
		// If several hosts or proxies cause the same warning, only one of them is logged. Otherwise invented host names
		// could fill the log.
		const found = new Map(warnings.map((warning) => [`${warning.kind} ${warning.about ?? ""}`, warning]));
		for (const [key, warning] of found) {
			const { kind, about, title, text } = warning;
			if (logged.has(key) || (!isLasting(warning) && !foundBefore.has(key))) continue;
			logged.set(key, warning);
			log.warn({ kind, ...(about === undefined ? {} : { about }) }, `${title}. ${text}`);
		}
		for (const [key, { kind, title }] of logged) {
			if (found.has(key)) continue;
			logged.delete(key);
			log.info({ kind }, `over: ${title}`);
		}
		foundBefore = new Set(found.keys());
	};
}
