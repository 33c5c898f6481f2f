// Reads the processor time and the memory of a process from the kernel. This works only on Linux, like the
// other figures.

import { readdirSync, readFileSync } from "node:fs";

/** Length of a clock tick. USER_HZ is a hundredth of a second on every Linux. */
const TICK_MICROS = 10_000;
/**
 * Positions of the fields in /proc/PID/stat, counted after the process name, which may contain spaces. See
 * proc(5).
 */
const FIELDS = { parent: 1, user: 11, system: 12, childrenUser: 13, childrenSystem: 14 } as const;

export function cpuMicros(pid: number): number {
	const fields = readStat(pid);
	return TICK_MICROS * (numberAt(fields, FIELDS.user) + numberAt(fields, FIELDS.system));
}

/**
 * Returns the processor time including all children, even finished ones. PostgreSQL has a process for each
 * connection.
 */
export function familyCpuMicros(pid: number): number {
	const fields = readStat(pid);
	const ended =
		TICK_MICROS * (numberAt(fields, FIELDS.childrenUser) + numberAt(fields, FIELDS.childrenSystem));
	const present = childrenOf(pid).reduce((sum, child) => sum + cpuMicros(child), 0);
	return cpuMicros(pid) + ended + present;
}

export function parentOf(pid: number): number {
	return numberAt(readStat(pid), FIELDS.parent);
}

export function residentMb(pid: number): number {
	const status = readFileSync(`/proc/${pid}/status`, "utf8");
	const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? "0";
	return (Number(kilobytes) * 1_024) / 1e6;
}

function childrenOf(pid: number): number[] {
	const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
	return pids.map(Number).filter((child) => {
		try {
			return parentOf(child) === pid;
		} catch {
			// The process has ended in the meantime.
			return false;
		}
	});
}

function readStat(pid: number): string[] {
	const text = readFileSync(`/proc/${pid}/stat`, "utf8");
	return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

function numberAt(fields: readonly string[], at: number): number {
	return Number(fields[at]);
}
