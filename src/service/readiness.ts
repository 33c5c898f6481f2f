// Asks over HTTP whether the process with these settings is ready.

import type { Config } from "../config.ts";
import { askHealth } from "../outside/health-call.ts";

export type Readiness = { isReady: true; url: string } | { isReady: false; url: string; why: string };

const PATH = "/readyz";
/** Local address at which a service can be reached that listens on all interfaces. */
const EVERYWHERE: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

export async function askReadiness(
	config: Pick<Config, "host" | "port">,
	timeoutMs: number,
): Promise<Readiness> {
	const { port } = config;
	const host = EVERYWHERE[config.host] ?? config.host;
	const url = `http://${host.includes(":") ? `[${host}]` : host}:${port}${PATH}`;
	try {
		const status = await askHealth(url, timeoutMs);
		return status === 200 ? { isReady: true, url } : { isReady: false, url, why: `it answers ${status}` };
	} catch (error) {
		return { isReady: false, url, why: error instanceof Error ? error.message : String(error) };
	}
}
