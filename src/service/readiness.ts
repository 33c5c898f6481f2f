// Asks over HTTP whether the process with these settings is ready, or at least alive.

import type { Config } from "../config.ts";
import { askHealth } from "../outside/health-call.ts";

export type Readiness = { isReady: true; url: string } | { isReady: false; url: string; why: string };

/** Question to the process: whether it is ready for requests, or only whether it runs and answers. */
export type HealthQuestion = "ready" | "alive";

const PATHS: Readonly<Record<HealthQuestion, string>> = { ready: "/readyz", alive: "/healthz" };
/** Address under which this machine reaches a service that listens on all interfaces. */
const EVERYWHERE: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

export async function askReadiness(
	config: Pick<Config, "host" | "port">,
	timeoutMs: number,
	question: HealthQuestion = "ready",
): Promise<Readiness> {
	const { port } = config;
	const host = EVERYWHERE[config.host] ?? config.host;
	const url = `http://${host.includes(":") ? `[${host}]` : host}:${port}${PATHS[question]}`;
	try {
		const status = await askHealth(url, timeoutMs);
		return status === 200 ? { isReady: true, url } : { isReady: false, url, why: `it answers ${status}` };
	} catch (error) {
		return { isReady: false, url, why: error instanceof Error ? error.message : String(error) };
	}
}
