// The checks of an installation. Each entry of the list finds one kind of problem and contains the sentences
// that describe it. The log, `ringback doctor`, /health, the pages for staff and the metrics all show the
// problems that this list finds.

import { type CertificateReading, judgeCertificate } from "#core/domain/certificate.ts";
import { CHORES, type ChoreName, type ChoreRecord, isLate, lateSinceMs } from "#core/domain/chore.ts";
import {
	isReplaced,
	isSilent,
	type MailFailure,
	type ProcessEngine,
	type ProcessRecord,
	sumEngines,
} from "#core/domain/process.ts";
import { DAY_MS, isoTime, MINUTE_MS, SECOND_MS } from "#core/domain/time.ts";
import {
	isLoopbackHost,
	isPublicHost,
	judgeClockOffset,
	type Sighting,
	type Warning,
	type WarningSettings,
} from "#core/domain/warning.ts";
import { minuteIn } from "#core/domain/zone-day.ts";
import type { DiskSpace } from "#core/ports.ts";
import type { SystemReading } from "#core/store/queries/system.ts";

export interface WatchedState extends SystemReading {
	nowMs: number;
	/**
	 * Time that is used to judge which processes are silent. It is the current time, except during an outage of the
	 * database and for a minute after it. No process can report during an outage, so all of them would seem silent.
	 */
	processesAtMs: number;
	settings: WarningSettings;
	/** Host under which people open the service, or undefined if it is unknown. */
	host: string | undefined;
	sightings: readonly Sighting[];
	/**
	 * Milliseconds by which this machine's clock is ahead of the database server's clock. Null if there is only
	 * one clock.
	 */
	clockOffsetMs: number | null;
	/**
	 * Space of the disk that holds the SQLite file. Null if the database is on a server, or the disk cannot be
	 * read.
	 */
	disk: DiskSpace | null;
	certificates: readonly CertificateReading[];
}

export interface Check {
	kind: string;
	/** Name of the check's line in `ringback doctor`. Several checks may share one line. */
	area: string;
	/**
	 * True if the problem can disappear by itself within moments, for example while a process starts. Such a
	 * problem is logged only if two runs in a row have found it.
	 */
	mendsItself?: true;
	find(state: WatchedState): Found;
}

type Sentence = Omit<Warning, "kind">;
type Found = Sentence | readonly Sentence[] | null;

/**
 * Time after which due work counts as overdue. The alert rules use the same limit
 * (ops/prometheus/ringback.rules.yml).
 */
const OVERDUE_MS = 5 * MINUTE_MS;
const LEAST_FREE_SHARE = 0.1;

/** All checks, in the order in which staff see their warnings. */
export const CHECKS: readonly Check[] = [
	{ kind: "delivery_paused", area: "delivery", find: findPause },
	{ kind: "clock_off", area: "clock", find: findClock },
	{ kind: "chore_late", area: "chores", mendsItself: true, find: findChores },
	{ kind: "no_worker", area: "processes", mendsItself: true, find: findNoWorker },
	{ kind: "process_silent", area: "processes", mendsItself: true, find: findSilent },
	{ kind: "mixed_versions", area: "processes", mendsItself: true, find: findVersions },
	{ kind: "shared_file", area: "processes", mendsItself: true, find: findSharedFile },
	{ kind: "queue_overdue", area: "queue", mendsItself: true, find: findOverdue },
	{ kind: "mail_failing", area: "mail", mendsItself: true, find: findMailFailure },
	{ kind: "provider_unavailable", area: "sign-in", find: findProvider },
	{ kind: "schema_differs", area: "schema", find: findSchema },
	{ kind: "disk_filling", area: "disk", find: findDisk },
	{ kind: "payments_unknown", area: "payments", find: findUnknownPayments },
	{ kind: "rekey_unfinished", area: "key", mendsItself: true, find: findUnfinishedRekey },
	{ kind: "backup_failed", area: "backup", find: findFailedBackup },
	{ kind: "backup_old", area: "backup", find: findOldBackup },
	{ kind: "backup_missing", area: "backup", find: findMissingBackup },
	{ kind: "certificate_ending", area: "certificates", find: findCertificates },
	{ kind: "untrusted_proxy", area: "proxy", find: findProxies },
	{ kind: "plain_http", area: "public-url", find: findPlainHttp },
	{
		kind: "private_ranges",
		area: "addresses",
		find: ({ settings }) =>
			settings.allowsPrivateRanges
				? {
						title: "RINGBACK_ALLOWED_PRIVATE_RANGES is on: callbacks may go to private addresses",
						text: "This is for development only. Remove the setting in production.",
					}
				: null,
	},
	{
		kind: "no_public_url",
		area: "public-url",
		// A person who tries the service on their own machine needs no public address.
		find: ({ settings, host }) =>
			settings.publicUrl === null && (host === undefined || !isLoopbackHost(host))
				? {
						title: "PUBLIC_URL is not set",
						text: "Links in mails and one-time links point to the address this process listens on, and cookies are not limited to HTTPS. Set PUBLIC_URL to the address people open, such as https://ringback.example.",
					}
				: null,
	},
	{
		kind: "mail_off",
		area: "mail",
		find: ({ settings }) =>
			settings.hasMail
				? null
				: {
						title: "Mail is off",
						text: "No mail is sent about failed callbacks, invitations or forgotten passwords. Set SMTP_URL and MAIL_FROM.",
					},
	},
];

export function findWarnings(state: WatchedState): Warning[] {
	return CHECKS.flatMap(({ kind, find }) => [find(state) ?? []].flat().map((found) => ({ kind, ...found })));
}

/** Returns whether the problem does not disappear by itself, so that its warning is logged at once. */
export function isLasting({ kind }: Warning): boolean {
	return CHECKS.some((check) => check.kind === kind && check.mendsItself !== true);
}

/** Warns while callbacks are held on purpose, so that staff do not forget it. */
function findPause({ pause, timeZone }: WatchedState): Found {
	if (pause === null) return null;
	const waiting = pause.waiting === 1 ? "1 waits" : `${pause.waiting} wait`;
	const heldBy = pause.heldBy ?? "`ringback hold`";
	return {
		title: `All callbacks have been held since ${minuteIn(pause.sinceMs, timeZone)} by ${heldBy}, and ${waiting}`,
		text: "Conversions and decisions are accepted, but no callback is sent. `ringback owed` lists the callbacks that wait. Release them on System or with `ringback release`.",
	};
}

const CLOCK_MEANING = {
	warning:
		"Callbacks, decisions and sign-in use the database server's clock, so they are on time. If the two clocks are more than a minute apart, this process stops sending and deciding.",
	problem:
		"One of the two clocks is wrong, and this process cannot know which. Until they agree again it is not ready, sends no callbacks, decides nothing by time and answers signed requests with 503. It then continues by itself, and nothing is lost.",
} as const;

function findClock({ clockOffsetMs: offsetMs }: WatchedState): Found {
	if (offsetMs === null) return null;
	const state = judgeClockOffset(offsetMs);
	if (state === "ok") return null;
	const seconds = (Math.abs(offsetMs) / SECOND_MS).toFixed(1);
	return {
		about: state,
		title: `This machine's clock is ${seconds} s ${offsetMs > 0 ? "ahead of" : "behind"} the database server's`,
		text: `${CLOCK_MEANING[state]} Keep the clocks of this machine and of the database server synchronized by NTP (chrony or systemd-timesyncd). A container has the clock of its host.`,
	};
}

/** Chores that do not run without a mail server, and are not reported as late in that case. */
const NEED_MAIL: readonly ChoreName[] = ["change_mails", "notice_mails", "sale_mails"];

export function findLateChores({ chores, settings, nowMs }: WatchedState): readonly ChoreRecord[] {
	return chores.filter(
		(record) => isLate(record, nowMs) && (settings.hasMail || !NEED_MAIL.includes(record.name)),
	);
}

/**
 * Finds late and failing chores. If no worker runs, only failing chores are reported, because there is a separate
 * warning about the missing worker.
 */
function findChores(state: WatchedState): Found {
	const hasWorker = alive(state).some(({ role }) => role !== "web");
	return findLateChores(state)
		.filter(({ failures }) => hasWorker || failures > 0)
		.map(describeLate);
}

function describeLate(record: ChoreRecord): Sentence {
	const { name, last_success_ms: lastSuccessMs, failures, error } = record;
	const since = `The chore ${name} has been late since ${isoTime(lateSinceMs(record))}.`;
	const last =
		lastSuccessMs === null ? "It has never succeeded" : `It last succeeded at ${isoTime(lastSuccessMs)}`;
	const times = failures === 1 ? "once" : `${failures} times`;
	const cause =
		failures === 0 || error === null
			? `${last}. Either no worker runs, or the chore hangs. Check that a process with the role worker or all runs, and read its log.`
			: `${last} and failed ${times} since. The last failure says: ${error} See the log of the process.`;
	return { about: name, title: CHORES[name].undone, text: `${since} ${cause}` };
}

function alive({ processes, processesAtMs }: WatchedState): ProcessRecord[] {
	return processes.filter((record) => !isSilent(record, processesAtMs) && !isReplaced(record, processes));
}

function findNoWorker(state: WatchedState): Found {
	const running = alive(state);
	if (running.length === 0 || running.some(({ role }) => role !== "web")) return null;
	return {
		title: "No process delivers callbacks",
		text: "Sale reports are stored, but no callback is sent. Start a process with RINGBACK_ROLE=worker or all. It then sends all callbacks that wait.",
	};
}

function findSilent(state: WatchedState): Found {
	const isDelivering = alive(state).some(({ in_hand }) => in_hand !== null);
	const { processes, processesAtMs } = state;
	const silent = processes.filter(
		(record) => isSilent(record, processesAtMs) && !isReplaced(record, processes),
	);
	return silent.map((record) => {
		const { instance, host, role, seen_at_ms: seenAtMs } = record;
		const callbacks = record.in_hand === null ? "" : ` ${sayInFlight(record, isDelivering)}`;
		return {
			about: instance,
			title: `A process stopped reporting: ${role} ${instance} on ${host}`,
			text: `Its last report was at ${isoTime(seenAtMs)}, and it was not stopped cleanly. If it was killed or its machine failed, start it again.${callbacks} If it still runs, check whether it reaches the database. It is listed for an hour after its last report, or until another process of its role starts on that machine.`,
		};
	});
}

/**
 * Returns a sentence about callbacks that were in flight when their process ended. Nobody knows which of them
 * reached their shops, so the sentence gives their maximum number.
 */
function sayInFlight({ most_in_flight: mostInFlight }: ProcessEngine, isDelivering: boolean): string {
	const again = `sends the callbacks again that were in flight (at most ${mostInFlight}), so shops may get an event twice.`;
	return isDelivering
		? `Another process has taken over its programmes, and ${again}`
		: `Its programmes wait until a process sends callbacks, which ${again}`;
}

function findVersions(state: WatchedState): Found {
	const versions = new Set(alive(state).map(({ version }) => version));
	if (versions.size < 2) return null;
	return {
		title: `Several versions run side by side: ${[...versions].toSorted().join(", ")}`,
		text: "This is normal during an upgrade. Upgrade the other processes, too.",
	};
}

/** Finds several processes that use one SQLite file. That is normal for a moment during a restart. */
function findSharedFile(state: WatchedState): Found {
	const running = alive(state);
	if (!state.settings.isOnFile || running.length < 2) return null;
	return {
		title: `${running.length} processes share one SQLite file`,
		text: "Only one of them sends callbacks. It notices sales of the other processes up to five seconds late, and only one process can write at a time. Run one process, or move to PostgreSQL with `ringback move`.",
	};
}

function findOverdue({ processes, nowMs }: WatchedState): Found {
	const oldestDueAtMs = sumEngines(processes, nowMs)?.oldestDueAtMs ?? null;
	if (oldestDueAtMs === null || nowMs - oldestDueAtMs < OVERDUE_MS) return null;
	return {
		title: `Callbacks are late: one has been due for ${Math.floor((nowMs - oldestDueAtMs) / MINUTE_MS)} minutes`,
		text: "More callbacks are due than the workers send, or the workers fail. Read the logs of the workers. If they are busy, start another one.",
	};
}

function findMailFailure(state: WatchedState): Found {
	const failure = lastMailFailure(alive(state));
	if (failure === null) return null;
	return {
		title: "The mail server did not accept the last mail",
		text: `At ${isoTime(failure.atMs)} it said: ${failure.reason}. Mails are retried automatically. Check SMTP_URL, and send yourself a test mail from the Network page.`,
	};
}

/** Returns the newest mail failure of all processes, or null if the last mail of each process was accepted. */
export function lastMailFailure(processes: readonly ProcessRecord[]): MailFailure | null {
	const [last = null] = processes
		.flatMap(({ mail_failed_at_ms: atMs, mail_error: reason }) =>
			atMs === null ? [] : [{ atMs, reason: reason ?? "no reason was given" }],
		)
		.toSorted((a, b) => b.atMs - a.atMs);
	return last;
}

function findSchema({ schema: { version, known } }: WatchedState): Found {
	if (version === known) return null;
	return {
		title: `The database has schema version ${version}, but this program needs version ${known}`,
		text:
			version > known
				? "The database has already been upgraded. Upgrade this process, too."
				: "Run `ringback migrate`, or start with RINGBACK_MIGRATE=auto.",
	};
}

function findDisk({ disk }: WatchedState): Found {
	if (disk === null || disk.freeBytes >= disk.sizeBytes * LEAST_FREE_SHARE) return null;
	return {
		title: `The disk of the database has ${Math.floor((disk.freeBytes / disk.sizeBytes) * 100)} % left`,
		text: "A full disk stops everything that writes. Make room, move the file to a larger disk, or shorten RINGBACK_RETENTION_DAYS.",
	};
}

function findUnknownPayments({ uncompared, timeZone }: WatchedState): Found {
	if (uncompared === null) return null;
	return {
		title: `Payments since ${minuteIn(uncompared.asOfMs, timeZone)} are not known, because the database was restored`,
		text: "Statements that are to be paid here may have been paid already, so there is no payout file. Compare the payments with the bank, and confirm that on the page Statements, which has the steps.",
	};
}

function findUnfinishedRekey({ rekeyingSinceMs, timeZone }: WatchedState): Found {
	if (rekeyingSinceMs === null) return null;
	return {
		title: `The replacement of the sealing key began at ${minuteIn(rekeyingSinceMs, timeZone)} and is not finished`,
		text: "Everything works, but the former key is still needed. If `ringback rekey` does not run any more, run it again. It continues where it was.",
	};
}

/** Returns the age at which a backup counts as old, or null if the operator does not want to be warned. */
function oldBackupMs({ settings: { backupDays } }: WatchedState): number | null {
	return backupDays === null ? null : backupDays * DAY_MS;
}

function findOldBackup(state: WatchedState): Found {
	const { backups, nowMs } = state;
	const limitMs = oldBackupMs(state);
	if (backups.last === null || limitMs === null) return null;
	const ageMs = nowMs - backups.last.atMs;
	if (ageMs < limitMs) return null;
	return {
		title: `The last backup is ${sayDays(ageMs)} old`,
		text: state.settings.isOnFile
			? "The job that makes backups has stopped or fails. Read its log (with the Debian package: journalctl -u ringback-backup), and run `ringback backup` once by hand."
			: "The job that makes backups has stopped, fails, or no longer runs `ringback record-backup`. Read its log.",
	};
}

/** Finds an installation that was never backed up. A new installation is not reported. */
function findMissingBackup(state: WatchedState): Found {
	const { backups, createdAtMs, nowMs } = state;
	const limitMs = oldBackupMs(state);
	if (backups.last !== null || createdAtMs === null || limitMs === null) return null;
	const ageMs = nowMs - createdAtMs;
	if (ageMs < limitMs) return null;
	return {
		title: `The database is ${sayDays(ageMs)} old, and no backup of it is known`,
		text: state.settings.isOnFile
			? "A broken disk would lose everything. Run `ringback backup` every night, as `ringback guide backups` shows. If another program makes backups, let it run `ringback record-backup`."
			: "Let the job that runs pg_dump or pgBackRest run `ringback record-backup` after each backup, as `ringback guide backups` shows.",
	};
}

function findFailedBackup(state: WatchedState): Found {
	const { failed, last } = state.backups;
	if (failed === null) return null;
	const why = failed.note === null ? "" : ` It was recorded with these words: ${endSentence(failed.note)}`;
	const good =
		last === null
			? "None has succeeded yet."
			: `The last good one is of ${minuteIn(last.atMs, state.timeZone)}.`;
	return {
		title: `The backup of ${minuteIn(failed.atMs, state.timeZone)} failed`,
		text: `${good}${why} Read the log of the job that makes backups. This warning ends with the next backup that succeeds.`,
	};
}

function sayDays(ageMs: number): string {
	const days = Math.floor(ageMs / DAY_MS);
	return days === 1 ? "1 day" : `${days} days`;
}

function endSentence(text: string): string {
	return /[.!?]$/.test(text) ? text : `${text}.`;
}

const CERTIFICATE_CURES = {
	PUBLIC_URL:
		"Browsers and shops refuse the address without a valid certificate, so sales are not reported. Renew it where HTTPS ends, such as in the reverse proxy, and check why it was not renewed automatically. This warning ends within ten minutes after that.",
	RINGBACK_TRUSTED_CA:
		"Callbacks to shops whose certificates are issued by this authority fail without it, and so does sign-in at an identity provider that uses it. Put the authority's new certificate into the file and restart every process.",
} as const;

function findCertificates({ certificates, nowMs, timeZone }: WatchedState): Found {
	return certificates.flatMap((reading) => {
		const state = judgeCertificate(reading, nowMs);
		if ("failure" in reading || state === "good" || state === "unread") return [];
		const { setting, name, endsAtMs } = reading;
		const end = minuteIn(endsAtMs, timeZone);
		const what = `The certificate of ${name} (${setting})`;
		const title = {
			ended: `${what} ended at ${end}`,
			ending: `${what} ends at ${end}`,
			other_host: `${what} is for other hosts`,
		}[state];
		return { about: setting, title, text: CERTIFICATE_CURES[setting] };
	});
}

function findProxies({ sightings }: WatchedState): Found {
	return sightings
		.filter(({ kind }) => kind === "untrusted_proxy")
		.map(({ where }) => ({
			title: `Requests are forwarded by ${where}, which is not a trusted proxy`,
			text: `The addresses it forwards are ignored, so everybody behind it shares the limits of one address. If it is your reverse proxy, add ${where} to RINGBACK_TRUSTED_PROXIES and restart. If you do not know this address, leave it out.`,
		}));
}

/** Finds an identity provider that failed at the last sign-in with the company's account. */
function findProvider({ sightings, timeZone }: WatchedState): Found {
	return sightings.flatMap((sighting) =>
		sighting.kind === "provider_unavailable"
			? {
					title: `The identity provider ${sighting.where} cannot be used`,
					text: `The last sign-in with the company's account failed because of it, at ${minuteIn(sighting.atMs, timeZone)}. Check that this machine reaches it, and the settings of the sign-in. The log has the reason. This warning ends with the next sign-in that works, or after an hour.`,
				}
			: [],
	);
}

function findPlainHttp({ settings: { publicUrl }, sightings }: WatchedState): Found {
	const configured = publicUrl === null ? null : new URL(publicUrl);
	const isPlain = configured !== null && configured.protocol !== "https:" && isPublicHost(configured.host);
	const seen = sightings.flatMap(({ kind, where }) => (kind === "plain_http" ? [where] : []));
	return [...new Set([...seen, ...(isPlain ? [configured.hostname] : [])])].map((where) => ({
		title: `Ringback is used over plain HTTP at ${where}`,
		text: "Passwords, sessions and API keys can be read on the way. Put a reverse proxy with HTTPS in front of it and set PUBLIC_URL to its https:// address.",
	}));
}
