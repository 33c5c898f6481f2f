// What staff are warned of about the whole installation: its processes, its queue, its mail and its room. Each with what
// to do about it.

import { isSilent, type ProcessEngine, type ProcessRecord, sumEngines } from "../domain/process.ts";
import { DAY_MS, isoTime, MINUTE_MS } from "../domain/time.ts";
import type { Warning } from "../domain/warning.ts";

export interface SystemState {
	schema: { version: number; known: number };
	processes: readonly ProcessRecord[];
	/** Of the SQLite file; null where it is on a server, or not known. */
	disk: { freeBytes: number; sizeBytes: number } | null;
	/** Null when it never was, by our own command: others have ways of their own. */
	backedUpAtMs: number | null;
}

/** As the alerts: see ops/prometheus/ringback.rules.yml. */
const OVERDUE_MS = 5 * MINUTE_MS;
const LEAST_FREE_SHARE = 0.1;
/** Every night, and two that may fail. */
const BACKUP_OLD_MS = 3 * DAY_MS;

export function findSystemWarnings(state: SystemState, nowMs: number): Warning[] {
	return [
		...ofProcesses(state.processes, nowMs),
		...ofQueue(state.processes, nowMs),
		...ofMail(state.processes, nowMs),
		...ofSchema(state.schema),
		...ofDisk(state.disk),
		...ofBackup(state.backedUpAtMs, nowMs),
	];
}

function ofProcesses(processes: readonly ProcessRecord[], nowMs: number): Warning[] {
	const warnings: Warning[] = [];
	const silent = processes.filter((record) => isSilent(record, nowMs));
	const alive = processes.filter((record) => !isSilent(record, nowMs));
	const isDelivering = alive.some(({ engine }) => engine !== null);
	if (alive.length > 0 && alive.every(({ role }) => role === "web")) {
		warnings.push({
			kind: "no_worker",
			title: "No process delivers callbacks",
			text: "Calls are stored, and nothing is sent to shops. Start a process with RINGBACK_ROLE=worker or all; everything that waits is then sent.",
		});
	}
	for (const { instance, host, role, seenAtMs, engine } of silent) {
		const callbacks = engine === null ? "" : ` ${sayInFlight(engine, isDelivering)}`;
		warnings.push({
			kind: "process_silent",
			title: `A process stopped reporting: ${role} ${instance} on ${host}`,
			text: `Last report at ${isoTime(seenAtMs)}; it was not stopped cleanly. If it was killed or its machine went away, start it again.${callbacks} If it still runs, see whether it reaches the database. It is listed for an hour after that report.`,
		});
	}
	const versions = new Set(alive.map(({ version }) => version));
	if (versions.size > 1) {
		warnings.push({
			kind: "mixed_versions",
			title: `Several versions run side by side: ${[...versions].toSorted().join(", ")}`,
			text: "During an upgrade that is as it should be. Upgrade the other processes, too.",
		});
	}
	return warnings;
}

/** Nobody knows which of them reached their shops, so no more is said than how many there can be. */
function sayInFlight({ mostInFlight }: ProcessEngine, isDelivering: boolean): string {
	const most = mostInFlight === null ? "" : ` (at most ${mostInFlight})`;
	const again = `sends again the callbacks that were in flight${most}: their shops may get an event twice.`;
	return isDelivering
		? `Another process has taken over its programmes, and ${again}`
		: `Its programmes wait until a process sends callbacks, which ${again}`;
}

function ofQueue(processes: readonly ProcessRecord[], nowMs: number): Warning[] {
	const oldestDueAtMs = sumEngines(processes, nowMs)?.oldestDueAtMs ?? null;
	if (oldestDueAtMs === null || nowMs - oldestDueAtMs < OVERDUE_MS) return [];
	return [
		{
			kind: "queue_overdue",
			title: `Callbacks are late: one has been due for ${Math.floor((nowMs - oldestDueAtMs) / MINUTE_MS)} minutes`,
			text: "More is due than the workers send, or they do not get on. See the log of the workers for failures; if they are busy, start another one.",
		},
	];
}

function ofMail(processes: readonly ProcessRecord[], nowMs: number): Warning[] {
	const failure = lastMailFailure(processes.filter((record) => !isSilent(record, nowMs)));
	if (failure === null) return [];
	return [
		{
			kind: "mail_failing",
			title: "The mail server did not take the last mail",
			text: `At ${isoTime(failure.atMs)} it said: ${failure.reason}. Mails are tried again by themselves. Check SMTP_URL, and send yourself a test mail from the Network page.`,
		},
	];
}

/** Of all processes; null when the last mail of each was taken. */
export function lastMailFailure(
	processes: readonly ProcessRecord[],
): { atMs: number; reason: string } | null {
	const [last = null] = processes
		.flatMap(({ mailFailure }) => (mailFailure === null ? [] : [mailFailure]))
		.toSorted((a, b) => b.atMs - a.atMs);
	return last;
}

function ofSchema({ version, known }: SystemState["schema"]): Warning[] {
	if (version === known) return [];
	return [
		{
			kind: "schema_differs",
			title: `The database's schema has version ${version}, this program knows ${known}`,
			text:
				version > known
					? "Somebody has upgraded already: upgrade this process, too."
					: "Run `ringback migrate`, or restart with RINGBACK_MIGRATE=auto.",
		},
	];
}

function ofDisk(disk: SystemState["disk"]): Warning[] {
	if (disk === null || disk.freeBytes >= disk.sizeBytes * LEAST_FREE_SHARE) return [];
	return [
		{
			kind: "disk_filling",
			title: `The disk of the database has ${Math.floor((disk.freeBytes / disk.sizeBytes) * 100)} % left`,
			text: "A full disk stops everything that writes. Make room, move the file to a larger disk, or shorten RINGBACK_RETENTION_DAYS.",
		},
	];
}

function ofBackup(backedUpAtMs: number | null, nowMs: number): Warning[] {
	if (backedUpAtMs === null || nowMs - backedUpAtMs < BACKUP_OLD_MS) return [];
	return [
		{
			kind: "backup_old",
			title: `The last backup is ${Math.floor((nowMs - backedUpAtMs) / DAY_MS)} days old`,
			text: "Whatever makes it has stopped or fails. Look at what it says (with the Debian package: journalctl -u ringback-backup), and run `ringback backup` once by hand.",
		},
	];
}
