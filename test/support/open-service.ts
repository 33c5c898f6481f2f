// Runs the real service inside this process. Every suite that needs the whole service uses this file, and adds shops,
// a mail server or checks. `startService` gets an operator's settings and a new database.

import { deepEqual } from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { Clock } from "#core/ports.ts";
import { readConfig } from "../../src/config.ts";
import { openWorkplace } from "../../src/service/workplace.ts";
import { type Service, startService } from "../../src/service.ts";
import { createLog, type KeptLog } from "./log.ts";
import { createMigratedDatabase, type DatabaseKind } from "./test-database.ts";

/** Environment variables. */
export type Settings = Readonly<Record<string, string>>;

export interface ServiceOptions {
	/** Kind of database, SQLite by default. */
	database?: DatabaseKind;
	/**
	 * Clock of the machine and of the database. The default is the machine's real clock. A test may pass a
	 * clock that it moves.
	 */
	clock?: Clock;
	/** Clock of the machine. By default it is the same as the database's clock. */
	machineClock?: Clock;
	/** PEM certificates of the test's shops, which the service trusts for callbacks. */
	trustedCa?: string;
	/** Settings in addition to the default ones of these tests. */
	settings?: Settings;
}

export type OpenedService = Awaited<ReturnType<typeof prepareService>>;

export async function openService(options: ServiceOptions = {}): Promise<OpenedService> {
	const opened = await prepareService(options);
	try {
		await opened.start();
		return opened;
	} catch (error) {
		await opened.close();
		throw error;
	}
}

/** Creates the database and the settings of a service without starting it. */
export async function prepareService(options: ServiceOptions = {}) {
	const { database: kind = "SQLite", clock, machineClock, trustedCa = null, settings: first = {} } = options;
	const database = await createMigratedDatabase(kind);
	const log = createLog();
	const outside = {
		log,
		...(machineClock === undefined ? {} : { clock: machineClock }),
		...(clock === undefined ? {} : { clock, readTime: async () => clock.nowMs() }),
	};
	const secretKey = randomBytes(32).toString("hex");
	let service: Service | null = null;
	let stopping: Promise<void> = Promise.resolve();
	let port = "0";

	const configOf = (settings: Settings) => {
		const read = readConfig({
			DATABASE_URL: database.url,
			PORT: port,
			RINGBACK_METRICS_ADDRESS: "off",
			RINGBACK_SECRET_KEY: secretKey,
			RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8",
			...settings,
		});
		if (!read.ok) throw new Error(read.problems.join(" "));
		return { ...read.config, trustedCa };
	};
	const stop = () => {
		if (service !== null) stopping = service.stop();
		service = null;
		return stopping;
	};
	return {
		/** Returns the running service. Throws while it is stopped. */
		get service() {
			if (service === null) throw new Error("the service is not running");
			return service;
		},
		database,
		/** Log lines of all services that ran over this database. */
		log,
		/** Starts the service again after a stop, on the same port, by default with the same settings. */
		async start(settings: Settings = first) {
			service = await startService(configOf(settings), outside);
			({ port } = new URL(service.url));
			// A test may open its own connection only after the engine's first transaction has ended. SQLite would otherwise
			// block this process while it waits for a lock.
			await setImmediate();
			return service;
		},
		/** Stops the service once. Concurrent callers wait for the same stop. */
		stop,
		/** Opens the resources of a command, which delivers nothing and opens no port. */
		openWorkplace: () => openWorkplace(configOf(first), outside),
		/** Stops the service and removes the database. Fails if a connection to it is still open. */
		async close() {
			await stop();
			await database.remove();
		},
	};
}

export function assertNoErrors({ lines }: KeptLog): void {
	deepEqual(
		lines.filter(({ level }) => level === "error"),
		[],
		"the service logged an error",
	);
}
