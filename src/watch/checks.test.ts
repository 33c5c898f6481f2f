import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { describe, test } from "node:test";
import type { CertificateReading } from "#core/domain/certificate.ts";
import type { ChoreRecord } from "#core/domain/chore.ts";
import type { ProcessRecord } from "#core/domain/process.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "#core/domain/time.ts";
import { SOUND_STATE } from "../../test/support/metrics-deps.ts";
import {
	CHECKS,
	findLateChores,
	findWarnings,
	isLasting,
	lastMailFailure,
	type WatchedState,
} from "./checks.ts";

const NOW_MS = Date.UTC(2026, 0, 2, 12);
const ago = (minutes: number): number => NOW_MS - minutes * MINUTE_MS;
const backupOf = (atMs: number) => ({ atMs, bytes: null, note: null });
const backedUpAt = (atMs: number) => ({ backups: { last: backupOf(atMs), failed: null } });
const WORKER: ProcessRecord = {
	instance: "0a1b2c3d",
	host: "one",
	role: "all",
	version: "1.0.0",
	started_at_ms: ago(60),
	seen_at_ms: NOW_MS - 5_000,
	in_hand: 2,
	programmes_due: 1,
	oldest_due_at_ms: NOW_MS - 2_000,
	most_in_flight: 512,
	mail_failed_at_ms: null,
	mail_error: null,
};
const WEB: ProcessRecord = { ...WORKER, instance: "1a1b2c3d", role: "web", in_hand: null };
const STARTED_ANEW: ProcessRecord = { ...WORKER, started_at_ms: ago(29) };
const SOUND: WatchedState = {
	...SOUND_STATE,
	nowMs: NOW_MS,
	processesAtMs: NOW_MS,
	schema: { version: 1, known: 1 },
	processes: [WORKER, WEB],
	disk: { freeBytes: 50, sizeBytes: 100 },
	createdAtMs: NOW_MS - 90 * DAY_MS,
	backups: { last: backupOf(NOW_MS - DAY_MS), failed: null },
};
const find = (change: Partial<WatchedState>) => findWarnings({ ...SOUND, ...change });
const settings = (change: Partial<WatchedState["settings"]>) => ({
	settings: { ...SOUND.settings, ...change },
});
const certificate = (
	leftDays: number,
	{ lifeDays = 90, isForHost = true }: { lifeDays?: number; isForHost?: boolean } = {},
): CertificateReading => ({
	setting: "PUBLIC_URL",
	name: "ringback.example",
	beginsAtMs: NOW_MS - (lifeDays - leftDays) * DAY_MS,
	endsAtMs: NOW_MS + leftDays * DAY_MS,
	isForHost,
});
const UNREACHED = { setting: "PUBLIC_URL", name: "ringback.example", failure: "ECONNREFUSED" } as const;
const NO_BACKUPS = { last: null, failed: null };
const HELD = { sinceMs: ago(60), heldBy: null, waiting: 12, due: 3 };

describe("what staff are warned of", () => {
	const cases: readonly [title: string, change: Partial<WatchedState>, kinds: readonly string[]][] = [
		["a sound installation", {}, []],
		["no process has reported yet", { processes: [] }, []],
		["no worker", { processes: [WEB] }, ["no_worker"]],
		["a worker that holds callbacks on purpose", { processes: [{ ...WORKER, in_hand: null }, WEB] }, []],
		["a worker silent for just a minute", { processes: [{ ...WORKER, seen_at_ms: ago(1) }] }, []],
		[
			"a worker that has been silent for longer",
			{ processes: [{ ...WORKER, seen_at_ms: ago(1) - 1 }, WEB] },
			["no_worker", "process_silent"],
		],
		["two versions", { processes: [WORKER, { ...WEB, version: "1.1.0" }] }, ["mixed_versions"]],
		["two processes on one SQLite file", settings({ isOnFile: true }), ["shared_file"]],
		[
			"one process on a SQLite file, and one that has gone",
			{ ...settings({ isOnFile: true }), processes: [WORKER, { ...WEB, seen_at_ms: 0 }] },
			["process_silent"],
		],
		[
			"two versions, one of them silent",
			{ processes: [WORKER, { ...WEB, version: "1.1.0", seen_at_ms: 0 }] },
			["process_silent"],
		],
		[
			"a silent process that its supervisor has started again",
			{
				processes: [{ ...WORKER, instance: "9f", seen_at_ms: ago(30), started_at_ms: ago(90) }, STARTED_ANEW],
			},
			[],
		],
		[
			"a silent process and a new one on another machine",
			{ processes: [{ ...WORKER, host: "two", seen_at_ms: ago(30) }, STARTED_ANEW] },
			["process_silent"],
		],
		[
			"a silent process and a new one of another role",
			{ processes: [{ ...WEB, seen_at_ms: ago(30) }, STARTED_ANEW] },
			["process_silent"],
		],
		[
			"a process on a SQLite file that was killed and started again ten seconds later",
			{
				...settings({ isOnFile: true }),
				processes: [
					{ ...WORKER, seen_at_ms: NOW_MS - 30_000 },
					{ ...WORKER, instance: "9f", started_at_ms: NOW_MS - 20_000 },
				],
			},
			[],
		],
		[
			"a second process on a SQLite file, and the first has reported since it started",
			{
				...settings({ isOnFile: true }),
				processes: [WORKER, { ...WORKER, instance: "9f", started_at_ms: NOW_MS - 20_000 }],
			},
			["shared_file"],
		],
		[
			"an outage of the database during which no process could report",
			{
				processes: [WORKER, WEB].map((record) => ({ ...record, seen_at_ms: ago(7) })),
				processesAtMs: ago(7),
			},
			[],
		],
		[
			"a callback that has been due for five minutes",
			{
				processes: [
					{
						...WORKER,
						in_hand: 0,
						programmes_due: 1,
						oldest_due_at_ms: ago(5),
						most_in_flight: 512,
					},
				],
			},
			["queue_overdue"],
		],
		[
			"a mail server that refuses",
			{ processes: [{ ...WORKER, mail_failed_at_ms: NOW_MS - 1, mail_error: "550 no" }] },
			["mail_failing"],
		],
		[
			"a restore after which nobody has compared payments",
			{ uncompared: { asOfMs: NOW_MS - 2, restoredAtMs: NOW_MS - 1, lastId: 1 } },
			["payments_unknown"],
		],
		[
			"a replacement of the sealing key that is not finished",
			{ rekeyingSinceMs: NOW_MS - 1 },
			["rekey_unfinished"],
		],
		["an old schema", { schema: { version: 1, known: 2 } }, ["schema_differs"]],
		["a new schema", { schema: { version: 3, known: 2 } }, ["schema_differs"]],
		["a backup that is almost three days old", backedUpAt(NOW_MS - 3 * DAY_MS + 1), []],
		["a backup that is three days old", backedUpAt(NOW_MS - 3 * DAY_MS), ["backup_old"]],
		[
			"a backup that is as old as the operator allows",
			{ ...settings({ backupDays: 10 }), ...backedUpAt(NOW_MS - 10 * DAY_MS) },
			["backup_old"],
		],
		[
			"an old backup of which the operator is not to be warned",
			{ ...settings({ backupDays: null }), ...backedUpAt(0) },
			[],
		],
		["a new database without a backup", { backups: NO_BACKUPS, createdAtMs: NOW_MS - 3 * DAY_MS + 1 }, []],
		[
			"a database of three days without a backup",
			{ backups: NO_BACKUPS, createdAtMs: NOW_MS - 3 * DAY_MS },
			["backup_missing"],
		],
		[
			"a database without a backup of which the operator is not to be warned",
			{ ...settings({ backupDays: null }), backups: NO_BACKUPS },
			[],
		],
		[
			"a backup that failed after one that succeeded",
			{ backups: { last: backupOf(NOW_MS - DAY_MS), failed: { atMs: ago(1), note: "the disk is full" } } },
			["backup_failed"],
		],
		[
			"a backup that failed before one ever succeeded",
			{ backups: { last: null, failed: { atMs: ago(1), note: null } } },
			["backup_failed", "backup_missing"],
		],
		["a certificate with two weeks left", { certificates: [certificate(14)] }, []],
		["a certificate with less", { certificates: [certificate(13.9)] }, ["certificate_ending"]],
		["a certificate of six days with two left", { certificates: [certificate(2, { lifeDays: 6 })] }, []],
		[
			"a certificate of six days with one left",
			{ certificates: [certificate(1, { lifeDays: 6 })] },
			["certificate_ending"],
		],
		["a certificate that has ended", { certificates: [certificate(0)] }, ["certificate_ending"]],
		[
			"a certificate for other hosts",
			{ certificates: [certificate(80, { isForHost: false })] },
			["certificate_ending"],
		],
		["an address that this machine does not reach", { certificates: [UNREACHED] }, []],
		["a disk with a tenth left", { disk: { freeBytes: 10, sizeBytes: 100 } }, []],
		["a disk with less", { disk: { freeBytes: 9, sizeBytes: 100 } }, ["disk_filling"]],
		["a disk that cannot be read", { disk: null }, []],
		["callbacks that are held", { pause: HELD }, ["delivery_paused"]],
		["a clock five seconds ahead", { clockOffsetMs: 5_000 }, []],
		["a clock further ahead", { clockOffsetMs: 5_001 }, ["clock_off"]],
		["no PUBLIC_URL", settings({ publicUrl: null }), ["no_public_url"]],
		[
			"no PUBLIC_URL on a person's own machine",
			{ ...settings({ publicUrl: null }), host: "localhost:80" },
			[],
		],
		["a plain PUBLIC_URL", settings({ publicUrl: "http://rb.example" }), ["plain_http"]],
		["a plain PUBLIC_URL on this machine", settings({ publicUrl: "http://localhost:8080" }), []],
		[
			"a plain PUBLIC_URL that requests use, too",
			{
				...settings({ publicUrl: "http://rb.example" }),
				sightings: [{ kind: "plain_http", where: "rb.example" }],
			},
			["plain_http"],
		],
		[
			"an identity provider",
			{ sightings: [{ kind: "provider_unavailable", where: "https://id.example", atMs: 0 }] },
			["provider_unavailable"],
		],
		["a proxy", { sightings: [{ kind: "untrusted_proxy", where: "10.0.0.2" }] }, ["untrusted_proxy"]],
		[
			"the settings of a first try",
			settings({ publicUrl: null, hasMail: false, allowsPrivateRanges: true }),
			["private_ranges", "no_public_url", "mail_off"],
		],
	];
	for (const [title, change, kinds] of cases) {
		test(title, () => {
			const warnings = find(change);
			deepEqual(
				warnings.map(({ kind }) => kind),
				kinds,
			);
			for (const { title: heading, text } of warnings) {
				match(text, /^[A-Z`].*\.$/);
				doesNotMatch(`${heading}${text}`, /undefined|null|NaN/);
			}
		});
	}
	test("every check has a case, except chores, which have their own below", () => {
		const seen = new Set(cases.flatMap(([, , kinds]) => kinds));
		deepEqual(
			CHECKS.map(({ kind }) => kind).filter((kind) => !seen.has(kind)),
			["chore_late"],
		);
	});
});

test("the warning about a silent process says how many callbacks may be sent again, and by which process", () => {
	const silent = { ...WORKER, instance: "2a1b2c3d", host: "two", seen_at_ms: 0 };
	const text = (gone: ProcessRecord, ...others: ProcessRecord[]) =>
		find({ processes: [gone, ...others] }).at(-1)?.text ?? "";
	match(
		text(silent, WORKER),
		/Another process has taken over its programmes, and sends the callbacks again that were in flight \(at most 512\)/,
	);
	match(text(silent, WEB), /Its programmes wait until .* which sends the callbacks again .* \(at most 512\)/);
	match(
		text(silent, { ...WORKER, in_hand: null }),
		/Its programmes wait/,
		"one that holds callbacks sends none",
	);
	doesNotMatch(text({ ...silent, role: "web", in_hand: null }, WORKER), /callbacks/);
});

test("the last mail failure is the newest of all processes", () => {
	const failed = (atMs: number) => ({ ...WORKER, mail_failed_at_ms: atMs, mail_error: `at ${atMs}` });
	deepEqual(lastMailFailure([failed(1), failed(3), failed(2), WEB]), { atMs: 3, reason: "at 3" });
	deepEqual(lastMailFailure([WEB]), null);
});

test("the warning about a clock says what it means, and beyond a minute that the process sends nothing", () => {
	const [warning] = find({ clockOffsetMs: -29_000 });
	equal(warning?.title, "This machine's clock is 29.0 s behind the database server's");
	match(warning?.text ?? "", /decisions and sign-in use the database server's clock, .* by NTP/);
	doesNotMatch(warning?.text ?? "", /not ready|wrong|authenticator/);
	for (const offsetMs of [60_000, -60_000])
		deepEqual(find({ clockOffsetMs: offsetMs })[0]?.text, warning?.text);
	for (const offsetMs of [60_001, -60_001]) {
		const { title = "", text = "" } = find({ clockOffsetMs: offsetMs })[0] ?? {};
		match(title, /^This machine's clock is 60\.0 s (?:ahead of|behind) the database server's$/);
		match(text, /cannot know which\. Until they agree again it is not ready, sends no callbacks/);
	}
});

function chore(name: ChoreRecord["name"], change: Partial<ChoreRecord> = {}): ChoreRecord {
	return {
		name,
		since_ms: NOW_MS - 30 * HOUR_MS,
		last_success_ms: ago(1),
		working_at_ms: null,
		last_failure_ms: null,
		failures: 0,
		error: null,
		...change,
	};
}

describe("warnings about chores", () => {
	test("there is none while all chores are on time", () => {
		const chores = [chore("approvals"), chore("nonces", { failures: 2, error: "Not yet late." })];
		deepEqual(find({ chores }), []);
	});

	test("a failing chore is named, with its last success, its last error and what to do", () => {
		const failing = { last_success_ms: ago(11 * 60), last_failure_ms: ago(10), failures: 11 };
		const chores = [chore("approvals"), chore("retention", { ...failing, error: "No space left." })];
		deepEqual(find({ chores }), [
			{
				kind: "chore_late",
				about: "retention",
				title: "Records past the retention time are not being removed",
				text: "The chore retention has been late since 2026-01-02T11:00:00.000Z. It last succeeded at 2026-01-02T01:00:00.000Z and failed 11 times since. The last failure says: No space left. See the log of the process.",
			},
		]);
	});

	test("a chore that no process does is reported with advice", () => {
		const [found] = find({ chores: [chore("approvals", { last_success_ms: ago(3) }), chore("nonces")] });
		match(
			found?.text ?? "",
			/^The chore approvals has been late since 2026-01-02T11:59:00.000Z\..* Either no worker runs, or the chore hangs\. /,
		);
	});

	test("without a worker only failing chores are reported, next to the missing worker", () => {
		const chores = [
			chore("approvals", { last_success_ms: ago(3) }),
			chore("expiries", { last_success_ms: ago(40), last_failure_ms: ago(5), failures: 3, error: "No." }),
		];
		deepEqual(
			find({ chores, processes: [WEB] }).map(({ kind, about }) => [kind, about]),
			[
				["chore_late", "expiries"],
				["no_worker", undefined],
			],
		);
	});

	test("a chore that the settings switch off is not late", () => {
		const old = { last_success_ms: ago(90) };
		const chores = [chore("change_mails", old), chore("notice_mails", old), chore("early_notices", old)];
		const late = (change: Partial<WatchedState>) =>
			findLateChores({ ...SOUND, chores, ...change }).map(({ name }) => name);
		deepEqual(late({}), ["change_mails", "notice_mails", "early_notices"]);
		deepEqual(late(settings({ hasMail: false })), ["early_notices"]);
	});

	test("a late chore may disappear by itself, and a setting does not", () => {
		const [late] = find({ chores: [chore("approvals", { last_success_ms: null })] });
		const [off] = find(settings({ hasMail: false }));
		deepEqual([late && isLasting(late), off && isLasting(off)], [false, true]);
	});
});
