// What `ringback doctor` says about the installation as a whole: the same that the System page shows.

import { sayBytes } from "../domain/bytes.ts";
import { isSilent, sumEngines } from "../domain/process.ts";
import { findSystemWarnings, type SystemState } from "../domain/system-warning.ts";
import { isoTime } from "../domain/time.ts";
import type { Warning } from "../domain/warning.ts";
import type { SystemReading } from "../store/system.ts";
import { type Finding, ok, warning } from "./finding.ts";

type State = SystemReading & SystemState;

/** The schema has a check of its own. */
const CHECKS: Partial<Record<Warning["kind"], "processes" | "queue" | "disk" | "backup" | "mail">> = {
	no_worker: "processes",
	process_silent: "processes",
	mixed_versions: "processes",
	queue_overdue: "queue",
	disk_filling: "disk",
	backup_old: "backup",
	mail_failing: "mail",
};

export function examineInstallation(state: State, nowMs: number): Finding[] {
	const warnings = findSystemWarnings(state, nowMs).flatMap(({ kind, title, text }) => {
		const check = CHECKS[kind];
		return check === undefined ? [] : [warning(check, `${title}. ${text}`)];
	});
	const sound = [
		describeProcesses(state, nowMs),
		ok("queue", describeQueue(state, nowMs)),
		ok("disk", describeDisk(state)),
		...describeBackup(state),
	];
	// What is well is not said beside a warning of the same check.
	const said = sound.filter(
		({ check, state: found }) => found !== "ok" || warnings.every((other) => other.check !== check),
	);
	return [...said, ...warnings];
}

function describeProcesses({ processes }: State, nowMs: number): Finding {
	const alive = processes.filter((record) => !isSilent(record, nowMs));
	if (alive.length === 0) {
		return warning(
			"processes",
			"No process is running: pages and API are down, and no callbacks are sent. Start the service: `ringback serve`.",
		);
	}
	const names = alive.map(
		({ role, instance, host, version }) => `${role} ${instance} on ${host} (${version})`,
	);
	return ok("processes", `running: ${names.join(", ")}`);
}

function describeQueue({ figures, processes }: State, nowMs: number): string {
	const oldestDueAtMs = sumEngines(processes, nowMs)?.oldestDueAtMs ?? null;
	const due = oldestDueAtMs === null ? "" : `, the oldest due since ${isoTime(oldestDueAtMs)}`;
	return `${figures.queued} callbacks wait${due}`;
}

function describeDisk({ figures, disk }: State): string {
	const size = `the database has ${sayBytes(figures.databaseBytes)}`;
	return disk === null ? size : `${size}; ${sayBytes(disk.freeBytes)} of its disk are free`;
}

/** Nothing is said of what we do not make: PostgreSQL's own programs do, and some copy disks. */
function describeBackup({ backedUpAtMs }: State): Finding[] {
	if (backedUpAtMs === null) return [];
	return [ok("backup", `the last has everything that was stored by ${isoTime(backedUpAtMs)}`)];
}
