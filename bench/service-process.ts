// Starts the real service in a process of its own, as an operator would.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { NODE_OPTIONS } from "../release/executable.ts";
import { endChild, endWithUs } from "./child-process.ts";
import { BENCH_SEALING_KEY } from "./seed-shops.ts";

export interface ServiceProcess {
	pid: number;
	url: string;
	/** Returns the samples of /metrics by name, including labels. */
	metrics(): Promise<ReadonlyMap<string, number>>;
	stop(): Promise<void>;
	/** Kills the process as a failing machine would, so that it cannot store or release anything. */
	kill(): Promise<void>;
}

export interface ServiceSettings {
	databaseUrl: string;
	caFile: string;
	role: "all" | "web" | "worker";
	/** Environment variables for the service, in addition to those of every benchmark. */
	more?: Readonly<Record<string, string>>;
}

/** Folder of this checkout. */
export const OWN_FOLDER = join(import.meta.dirname, "..");
/** Environment variables of every command that a benchmark starts. */
const COMMON_ENVIRONMENT = {
	PATH: process.env["PATH"],
	LOG_LEVEL: "error",
	RINGBACK_SECRET_KEY: Buffer.from(BENCH_SEALING_KEY).toString("hex"),
};
const START_TIMEOUT_MS = 60_000;

/** Starts the service whose sources are in the folder. It may be another checkout, with dependencies of its own. */
export async function startService(
	folder: string,
	{ databaseUrl, caFile, role, more = {} }: ServiceSettings,
): Promise<ServiceProcess> {
	const env = {
		...COMMON_ENVIRONMENT,
		PORT: "0",
		DATABASE_URL: databaseUrl,
		RINGBACK_ROLE: role,
		RINGBACK_METRICS_ADDRESS: "127.0.0.1:0",
		RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8",
		RINGBACK_TRUSTED_CA: caFile,
		...more,
	};
	const child = spawn(process.execPath, [...NODE_OPTIONS, programOf(folder), "serve", "--json"], {
		env,
		stdio: ["ignore", "pipe", "inherit"],
	});
	endWithUs(child);
	try {
		const lines = createInterface({ input: child.stdout });
		const signal = AbortSignal.timeout(START_TIMEOUT_MS);
		const ended = once(child, "exit", { signal }).then(() => {
			throw new Error("the service ended before it listened");
		});
		const [line] = await Promise.race([once(lines, "line", { signal }), ended]);
		const { url, metricsUrl }: { url: string; metricsUrl: string } = JSON.parse(line);
		return {
			pid: child.pid ?? 0,
			url,
			metrics: () => readMetrics(`${metricsUrl}/metrics`),
			stop: () => endChild(child),
			kill: () => endChild(child, "SIGKILL"),
		};
	} catch (error) {
		await endChild(child, "SIGKILL");
		throw error;
	}
}

/** Migrates an empty database to the schema of the checkout in the folder. */
export async function migrateDatabase(folder: string, databaseUrl: string): Promise<void> {
	const env = { ...COMMON_ENVIRONMENT, DATABASE_URL: databaseUrl };
	await promisify(execFile)(process.execPath, [programOf(folder), "migrate"], { env });
}

function programOf(folder: string): string {
	return join(folder, "src/ringback.js");
}

async function readMetrics(url: string): Promise<ReadonlyMap<string, number>> {
	const text = await (await fetch(url)).text();
	const samples = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
	return new Map(
		samples.map((line) => {
			const at = line.lastIndexOf(" ");
			return [line.slice(0, at), Number(line.slice(at + 1))] as const;
		}),
	);
}

/** Returns the sum of a metric over all labels, or NaN if the service does not have the metric. */
export function sumOf(metrics: ReadonlyMap<string, number>, name: string): number {
	const samples = [...metrics].filter(([sample]) => sample === name || sample.startsWith(`${name}{`));
	return samples.length === 0 ? Number.NaN : samples.reduce((sum, [, value]) => sum + value, 0);
}
