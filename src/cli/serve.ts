// `ringback serve` runs the service until it is asked to stop.

import { resolve } from "node:path";
import { headerNames } from "#core/domain/signature.ts";
import { messageOf } from "#core/domain/visible-text.ts";
import { hostsOf } from "#core/store/postgres/setting.ts";
import { ALL_SETTINGS, type Config } from "../config.ts";
import { listenForStop, type StopSignal } from "../service/stop-signals.ts";
import type { Service } from "../service.ts";
import { isExecutable } from "../shipped-files.ts";
import { type Command, EXIT, JSON_OPTION, type Screen, withSettings } from "./command.ts";
import { boundHeap } from "./heap-bounds.ts";

export const serveCommand: Command = {
	name: "serve",
	summary:
		"Starts the service. It migrates the database (unless RINGBACK_MIGRATE is check), answers requests and delivers callbacks. On SIGTERM it reports that it is not ready, still answers requests for RINGBACK_DRAIN_SECONDS, and then stops. On Ctrl-C it stops at once.",
	options: { json: JSON_OPTION },
	notes: [
		`Settings, from the environment (\`ringback guide settings\` says what each is for):\n${listSettings()}`,
	],
	run: withSettings(async (options, screen, config) => {
		// Signals are handled before the service has started, because a person may stop it as soon as it prints
		// that it listens.
		const asked = listenForStop((signal) => {
			if (signal === "SIGINT") screen.error("\nStopping… (Ctrl-C again to stop at once)");
		});
		return serveUntilAsked(config, asked, screen, options.flag("json"));
	}),
};

function listSettings(): string {
	const width = Math.max(...ALL_SETTINGS.map(({ name }) => name.length));
	return ALL_SETTINGS.map(({ name, takes }) => `  ${name.padEnd(width)}  ${takes.replaceAll("`", "")}`).join(
		"\n",
	);
}

/**
 * Returns a sentence with a command that starts the service on another port. The port is part of Node's
 * error.
 */
export function describeTakenPort(error: unknown): string {
	const port = error instanceof Error && "port" in error ? Number(error.port) : Number.NaN;
	const other = port === 8_090 ? 8_091 : 8_090;
	const start = `PORT=${other} ${isExecutable ? "ringback serve" : "npm start"}`;
	const which = Number.isNaN(port) ? "The port" : `Port ${port}`;
	return `${which} is taken, perhaps by another Ringback. Stop that one, or choose another port: ${start}`;
}

/** Returns a sentence about the port, file or folder that the system refused to open. */
export function describeNotAllowed(error: unknown): string {
	const { syscall, port, path } = error as { syscall?: unknown; port?: unknown; path?: unknown };
	if (syscall === "listen" || syscall === "bind") {
		return `This account may not listen on port ${String(port)}. Ports below 1024 need the capability CAP_NET_BIND_SERVICE; or choose another one: PORT=8090`;
	}
	const where = typeof path === "string" ? path : messageOf(error);
	return `This account may not use ${where}. Give it the file or folder (chown), run as an account that may, or choose another path: of the database, by DATABASE_URL.`;
}

async function serveUntilAsked(
	config: Config,
	asked: Promise<StopSignal>,
	screen: Screen,
	asJson: boolean,
): Promise<number> {
	const { startService } = await import("../service.ts");
	const service = await startService(config);
	boundHeap();
	if (asJson) sayStartedAsJson(service, screen);
	else sayStarted(service, screen);
	const cause = await Promise.race([asked, service.outdated]);
	if (cause instanceof Error) {
		// The readiness check has already failed for some seconds, so load balancers need no further time.
		await service.stop({ cause: "outdated" });
		screen.error(cause.message);
	} else {
		await service.stop({ cause, drainMs: cause === "SIGINT" ? 0 : config.drainMs });
	}
	if (!asJson) screen.out("Stopped.");
	return cause instanceof Error ? EXIT.failed : EXIT.ok;
}

function sayStarted(service: Service, screen: Screen): void {
	const { url, metricsUrl, config, migration, network, welcomeLink, warnings } = service;
	const { database } = config;
	const storedIn =
		database.kind === "sqlite"
			? `SQLite file ${resolve(database.path)}`
			: `PostgreSQL at ${hostsOf(database.url)
					.map((url) => new URL(url).host)
					.join(" or ")}`;
	screen.out(`Ringback listens on ${url}`);
	screen.out(`  store    ${storedIn}, schema version ${migration.version}`);
	if (config.role !== "all") screen.out(`  role     ${config.role}`);
	screen.out(`  metrics  ${metricsUrl === null ? "off" : `${metricsUrl}/metrics`}`);
	screen.out(`  mail     ${config.smtpUrl === null ? "off (set SMTP_URL)" : "on"}`);
	if (config.clickUrl !== null) screen.out(`  links    ${config.clickUrl}/c/…`);
	const { face } = network;
	if (face.isBrandChosen) screen.out(`  brand    ${face.brand} (${headerNames(face.brand).signature})`);
	for (const { kind, title, text } of warnings) {
		// Switched-off mail is reported in a line of its own.
		if (kind !== "mail_off") screen.out(`  WARNING  ${title}. ${text}`);
	}
	if (welcomeLink !== null) {
		screen.out("");
		screen.out("Open this link to make the first staff account (once, within 24 hours):");
		screen.out(welcomeLink);
		if (!isExecutable) screen.out("Or see it work first: npm run demo");
	}
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
