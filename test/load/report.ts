// What a load run found out, and the words for it.

import type { Growth } from "./growth.ts";
import type { Losses } from "./losses.ts";

export interface LoadOptions {
	seconds: number;
	seed: number;
	usesPostgres: boolean;
	/** How long to wait for the last delivery of a shop that answers. */
	drainSeconds: number;
}

export interface LoadReport {
	calls: number;
	callsASecond: number;
	latency: Latency;
	/** From the last report to the last delivery of a shop that answers. */
	drainSeconds: number;
	live: Growth;
	resident: Growth;
	losses: Losses;
}

export interface Latency {
	p50Ms: number;
	p99Ms: number;
	maxMs: number;
}

const MEGABYTE = 1_000_000;

export function judgeLatency(latenciesMs: readonly number[]): Latency {
	const sorted = latenciesMs.toSorted((one, other) => one - other);
	const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
	return { p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
}

export function describeReport(report: LoadReport, { seed, usesPostgres }: LoadOptions): string {
	const { latency, live, resident, losses } = report;
	return [
		`${report.calls} calls answered (${Math.round(report.callsASecond)}/s)`,
		`p50 ${latency.p50Ms.toFixed(1)} ms, p99 ${latency.p99Ms.toFixed(1)} ms, max ${Math.round(latency.maxMs)} ms`,
		`${losses.conversions} conversions stored`,
		`${losses.delivered} events delivered (${losses.repeats} repeats, the last after ${report.drainSeconds.toFixed(1)} s)`,
		`${losses.waiting} waiting for shops that hang`,
		...(losses.troubles.size === 0 ? [] : [describeTroubles(losses)]),
		`live heap ${describeGrowth(live)}`,
		`resident ${describeGrowth(resident)}`,
		`${usesPostgres ? "PostgreSQL" : "SQLite"}, seed ${seed}`,
	].join("; ");
}

function describeTroubles({ troubles, retrying }: Losses): string {
	const counted = [...troubles].map(([trouble, count]) => `${count} × ${trouble}`);
	return `attempts that failed at healthy shops: ${counted.join(", ")} (${retrying} wait for the next)`;
}

export function describeGrowth({ beforeBytes, lastBytes }: Growth): string {
	return `${describeBytes(beforeBytes)}, then ${describeBytes(lastBytes)}`;
}

export function describeReplay({ seconds, seed, usesPostgres }: LoadOptions): string {
	return `npm run load -- --seconds ${seconds} --seed ${seed}${usesPostgres ? " --postgres 1" : ""}`;
}

export function describeBytes(bytes: number): string {
	return `${(bytes / MEGABYTE).toFixed(1)} MB`;
}
