// `ringback serve`: runs until it is told to stop.

import { resolve } from "node:path";
import { readConfig, warningSettings } from "../config.ts";
import { findPauseWarnings, findSettingWarnings } from "../domain/warning.ts";
import type { Service } from "../service.ts";
import { isExecutable } from "../shipped-files.ts";
import type { NetworkFace } from "../store/known-network.ts";
import { type Command, EXIT, JSON_OPTION, type Screen } from "./command.ts";
import { boundHeap } from "./heap-bounds.ts";
import { sayProblems } from "./workplace-command.ts";

export const serveCommand: Command = {
	name: "serve",
	summary:
		"Starts the service: migrates the database (unless RINGBACK_MIGRATE is check), answers requests, delivers callbacks. Stops on SIGTERM or Ctrl-C.",
	options: { json: JSON_OPTION },
	async run(options, screen, environment) {
		const read = readConfig(environment);
		if (!read.ok) return sayProblems(screen, read.problems);
		// Listened for from now on: whoever reads "listens" may ask it to stop at once.
		const stopping = stopSignal(screen);
		const { startService } = await import("../service.ts");
		const service = await startService(read.config);
		boundHeap();
		if (options.flag("json")) sayStartedAsJson(service, screen);
		else sayStarted(service, screen);
		const cause = await Promise.race([stopping, service.outdated]);
		const signal = cause instanceof Error ? null : cause;
		service.log.info({ signal }, "stopping: finishing what is in flight");
		await service.stop();
		if (cause instanceof Error) screen.error(cause.message);
		if (!options.flag("json")) screen.out("Stopped.");
		return cause instanceof Error ? EXIT.failed : EXIT.ok;
	},
};

/** The second signal ends the process the hard way: what is in flight is then sent again after restart. */
function stopSignal(screen: Screen): Promise<NodeJS.Signals> {
	return new Promise((resolve) => {
		const onSignal = (signal: NodeJS.Signals): void => {
			process.off("SIGTERM", onSignal).off("SIGINT", onSignal);
			if (signal === "SIGINT") screen.error("\nStopping… (Ctrl-C again to stop at once)");
			resolve(signal);
		};
		process.on("SIGTERM", onSignal).on("SIGINT", onSignal);
	});
}

function sayStarted(service: Service, screen: Screen): void {
	const { url, metricsUrl, config, migration, network, welcomeLink, deliveryPause } = service;
	const { database } = config;
	const storedIn =
		database.kind === "sqlite"
			? `SQLite file ${resolve(database.path)}`
			: `PostgreSQL at ${new URL(database.url).host}`;
	screen.out(`Ringback listens on ${url}`);
	screen.out(`  store    ${storedIn}, schema version ${migration.version}`);
	screen.out(`  role     ${config.role}`);
	screen.out(`  metrics  ${metricsUrl === null ? "off" : `${metricsUrl}/metrics`}`);
	screen.out(
		`  mail     ${config.smtpUrl === null ? "off (set SMTP_URL to tell people about failed callbacks and changes to accounts and programmes)" : "on"}`,
	);
	screen.out(`  brand    ${sayBrand(network.face)}`);
	const warnings = [...findPauseWarnings(deliveryPause), ...findSettingWarnings(warningSettings(config))];
	for (const { kind, title, text } of warnings) {
		// Mail off has its own line.
		if (kind !== "mail_off") screen.out(`  WARNING  ${title}. ${text}`);
	}
	if (welcomeLink !== null) {
		screen.out("");
		screen.out(
			"Nobody can sign in yet. Open this link to make the first staff account and set up your network (once, within 24 hours):",
		);
		screen.out(welcomeLink);
		if (!isExecutable) screen.out("Or see it work first: npm run demo");
	}
}

function sayBrand({ brand, isBrandChosen }: NetworkFace): string {
	const headers = `X-${brand}-Signature`;
	if (isBrandChosen) return `${brand} (${headers})`;
	return `not chosen yet (${headers} until then): choose it in the set-up or set RINGBACK_BRAND. It stays once the first API key is issued`;
}

function sayStartedAsJson(
	{ url, metricsUrl, config, migration, network, welcomeLink }: Service,
	screen: Screen,
): void {
	screen.out(
		JSON.stringify({
			event: "listening",
			url,
			metricsUrl,
			role: config.role,
			schemaVersion: migration.version,
			brand: network.face.isBrandChosen ? network.face.brand : null,
			welcomeLink,
		}),
	);
}
