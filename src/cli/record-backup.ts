// `ringback record-backup` records the result of a backup that another program made, such as pg_dump or a snapshot of a
// disk. The service then knows when the last one succeeded, and warns if they fail or stop.

import { sayBytes } from "#core/domain/bytes.ts";
import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import { DAY_MS, isoTime, MINUTE_MS } from "#core/domain/time.ts";
import { recordBackup, recordFailedBackup } from "#core/store/queries/system.ts";
import { readWrittenTime } from "#modules/jobs/use-cases/written-time.ts";
import { type Answer, type Options, workplaceCommand } from "./command.ts";

/** Tolerance for the clock of the machine that made the backup. */
const MAX_FUTURE_MS = 5 * MINUTE_MS;
/** Maximum age of a recorded backup. An older time, such as one in 1970, comes from a script that went wrong. */
const MAX_AGE_MS = 366 * DAY_MS;
/** Maximum length of a note, so that it fits on one line of a page. */
const MAX_NOTE_LENGTH = 200;

export const recordBackupCommand = workplaceCommand({
	name: "record-backup",
	summary:
		"Records that another program, such as pg_dump, has made a backup or failed to make one. System, doctor and the alerts warn if the last backup is old, missing or failed.",
	argument: { value: "RESULT", help: "succeeded or failed" },
	options: {
		at: {
			type: "string",
			value: "TIME",
			help: 'when the backup was begun, such as "2026-03-01 02:30", UTC; now, if left out',
		},
		size: { type: "string", value: "BYTES", help: "size of the backup" },
		note: {
			type: "string",
			value: "TEXT",
			help: "where the backup is, or why it failed, for the System page; no passwords",
		},
	},
	notes: ["From cron: pg_dump … && ringback record-backup succeeded || ringback record-backup failed"],
	async work({ store, clock }, options) {
		const isSuccess = options.argument === "succeeded";
		if (!isSuccess && options.argument !== "failed") {
			return refuse("invalid_field", "RESULT is `succeeded` or `failed`.");
		}
		const read = readFacts(options, clock.nowMs());
		if (!read.ok) return read;
		const { atMs, bytes, note } = read.value;
		const newestMs = await store.transact((trx) =>
			isSuccess ? recordBackup(trx, { atMs, bytes, note }) : recordFailedBackup(trx, { atMs, note }),
		);
		return succeed(describeRecorded(options.argument, read.value, newestMs));
	},
});

interface Facts {
	atMs: number;
	bytes: number | null;
	note: string | null;
}

function readFacts(options: Options, nowMs: number): Result<Facts> {
	const at = options.text("at");
	const atMs = at === "" ? nowMs : readWrittenTime(at);
	if (atMs === null) return refuse("invalid_field", '--at takes a time such as "2026-03-01 02:30".');
	if (atMs > nowMs + MAX_FUTURE_MS) {
		return refuse("invalid_field", `--at is in the future, because it is ${isoTime(nowMs)} now. Enter UTC.`);
	}
	if (atMs < nowMs - MAX_AGE_MS) {
		return refuse("invalid_field", "--at is more than a year ago. Enter the time at which the backup began.");
	}
	const size = options.text("size");
	if (size !== "" && !/^\d{1,15}$/.test(size)) return refuse("invalid_field", "--size is a number of bytes.");
	if (size !== "" && Number(size) === 0 && options.argument === "succeeded") {
		return refuse("invalid_field", "A backup of 0 bytes has nothing in it. Record it as failed.");
	}
	const note = options.text("note").trim();
	if (note.length > MAX_NOTE_LENGTH) {
		return refuse("invalid_field", `--note has at most ${MAX_NOTE_LENGTH} characters.`);
	}
	return succeed({
		atMs: Math.min(atMs, nowMs),
		bytes: size === "" ? null : Number(size),
		note: note === "" ? null : note,
	});
}

function describeRecorded(result: string, { atMs, bytes, note }: Facts, newestMs: number | null): Answer {
	const size = bytes === null ? "" : `, ${sayBytes(bytes)}`;
	const text =
		result === "failed"
			? `Recorded: a backup failed at ${isoTime(atMs)}. The service warns of it until one succeeds.`
			: newestMs !== null && newestMs > atMs
				? `A newer backup is recorded already, of ${isoTime(newestMs)}. It stays the last one.`
				: `Recorded: a backup with everything that was stored by ${isoTime(atMs)}${size}.`;
	return { json: { result, at: isoTime(atMs), bytes, note }, text };
}
