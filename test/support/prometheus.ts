// Starts a real Prometheus server for tests, and finds its tool that checks rules, from Debian's package or the PATH.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findProgram } from "./find-program.ts";
import { freePort } from "./postgres.ts";
import { until } from "./until.ts";

export const PROMETHEUS_MISSING =
	"the alert rules and the dashboard: no prometheus and promtool (Debian: apt-get install prometheus).";

export interface PrometheusAnswer {
	/** Number of series in the result, which is one if the result is a number. */
	count: number;
	/** Reason why the query failed, or null. */
	error: string | null;
}

export interface Prometheus {
	query(text: string): Promise<PrometheusAnswer>;
	stop(): Promise<void>;
}

/**
 * Shell script that runs the server. The script reads a pipe that closes when our process ends in any way, and then
 * stops the server.
 */
const KEPT = `"$@" & pid=$!; cat > /dev/null; kill -TERM $pid; wait $pid`;

/** Returns the paths of both programs, or undefined if they are not installed. */
export function findPrometheus(): { server: string; tool: string } | undefined {
	const server = findProgram("prometheus");
	const tool = findProgram("promtool");
	return server === undefined || tool === undefined ? undefined : { server, tool };
}

export async function runPromtool(args: readonly string[]): Promise<{ output: string; exitCode: number }> {
	const { tool } = expectPrograms();
	return new Promise((resolve) => {
		execFile(tool, args, (error, stdout, stderr) => {
			const exitCode = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
			resolve({ output: stdout + stderr, exitCode });
		});
	});
}

/** Starts a Prometheus that scrapes the given address every second. */
export async function startPrometheus(metricsUrl: string): Promise<Prometheus> {
	const { server } = expectPrograms();
	const folder = mkdtempSync(join(tmpdir(), "ringback-prometheus-"));
	const settings = join(folder, "prometheus.yml");
	const job = { job_name: "ringback", static_configs: [{ targets: [new URL(metricsUrl).host] }] };
	// The configuration is written as JSON, which is valid YAML.
	writeFileSync(
		settings,
		JSON.stringify({ global: { scrape_interval: "1s", scrape_timeout: "1s" }, scrape_configs: [job] }),
	);
	const url = `http://127.0.0.1:${await freePort()}`;
	const child = spawn(
		"/bin/sh",
		[
			"-c",
			KEPT,
			"prometheus",
			server,
			`--config.file=${settings}`,
			`--storage.tsdb.path=${join(folder, "data")}`,
			`--web.listen-address=${new URL(url).host}`,
		],
		{ stdio: ["pipe", "ignore", "ignore"] },
	);
	const exited = once(child, "exit");
	await until(async () => {
		const answer = await fetch(`${url}/-/ready`).catch(() => null);
		await answer?.arrayBuffer();
		return answer?.ok === true;
	});
	return {
		async query(text) {
			const answer = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query: text })}`);
			const read = (await answer.json()) as { error?: string; data?: { result: readonly unknown[] } };
			return { count: read.data?.result.length ?? 0, error: read.error ?? null };
		},
		async stop() {
			child.stdin?.end();
			await exited;
			rmSync(folder, { recursive: true });
		},
	};
}

function expectPrograms(): { server: string; tool: string } {
	const programs = findPrometheus();
	if (programs === undefined) throw new Error(PROMETHEUS_MISSING);
	return programs;
}
