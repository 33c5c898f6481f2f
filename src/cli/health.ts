// `ringback health` asks the service that runs with these settings whether it is ready. Containers use it,
// because their images contain no HTTP client.

import { SECOND_MS } from "#core/domain/time.ts";
import type { Config } from "../config.ts";
import { type Command, CommandError, EXIT, JSON_OPTION, withSettings } from "./command.ts";

/** Timeout of the request. It is longer than the two seconds that the service waits for its database. */
const TIMEOUT_MS = 5 * SECOND_MS;

export const healthCommand: Command = {
	name: "health",
	summary:
		"Asks the service that runs on this machine with these settings whether it is ready. Exits with 1 if it is not ready or does not answer within five seconds.",
	options: {
		alive: {
			type: "boolean",
			help: "asks only whether the process runs and answers, whatever the state of its database; for supervisors that restart what is unhealthy",
		},
		json: JSON_OPTION,
	},
	run: withSettings(async (options, screen, config) => {
		if (config.port === 0) {
			throw new CommandError(
				"PORT is 0, which takes any free port, so it is not known which. Set it to a number.",
			);
		}
		const { askReadiness } = await import("../service/readiness.ts");
		const question = options.flag("alive") ? "alive" : "ready";
		const found = await askReadiness(config, TIMEOUT_MS, question);
		if (options.flag("json")) screen.out(JSON.stringify(found));
		else if (found.isReady) screen.out(`${question === "alive" ? "Alive" : "Ready"}: ${found.url}`);
		else screen.error(`Not ${question}: ${found.url}: ${found.why}. ${sayWhere(config)}`);
		return found.isReady ? EXIT.ok : EXIT.failed;
	}),
};

function sayWhere({ metricsAddress }: Config): string {
	const log = "The service's log says why";
	if (metricsAddress === null) return `${log}.`;
	return `${log}; so does /health on RINGBACK_METRICS_ADDRESS while it runs.`;
}
