// The real service inside this process: `startService` with the settings an operator would make, over a database of its
// own. Every suite that needs the whole service opens it here; a suite adds its shops, its mail server or its checks.

import { deepEqual } from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { readConfig } from "../../src/config.ts";
import type { Clock } from "../../src/ports.ts";
import { openWorkplace } from "../../src/service/workplace.ts";
import { type Service, startService } from "../../src/service.ts";
import { createLog, type KeptLog } from "./log.ts";
import { createMigratedDatabase, type DatabaseKind } from "./test-database.ts";

/** Environment variables. */
export type Settings = Readonly<Record<string, string>>;

export interface ServiceOptions {
	/** A SQLite file unless told otherwise. */
	database?: DatabaseKind;
	/** The machine's own unless a test moves time: the machine's and the database's. */
	clock?: Clock;
	/** A machine's clock that is not the database's. */
	machineClock?: Clock;
	/** Certificates (PEM) that callbacks trust: those of the test's shops. */
	trustedCa?: string;
	/** On top of those below. */
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

/** The same, not started yet. */
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
		/** Fails while it is not running. */
		get service() {
			if (service === null) throw new Error("the service is not running");
			return service;
		},
		database,
		/** Of all that ran over this database. */
		log,
		/** Again after a stop, on the port it had; with other settings than before, if any are given. */
		async start(settings: Settings = first) {
			service = await startService(configOf(settings), outside);
			({ port } = new URL(service.url));
			// The engine's first transaction ends before a test uses a connection of its own: SQLite waits for a lock without
			// letting anybody else of this process get on.
			await setImmediate();
			return service;
		},
		/** Once; whoever asks again waits for the same stop. */
		stop,
		/** What a command works with: nothing is delivered, and nobody listens. */
		openWorkplace: () => openWorkplace(configOf(first), outside),
		/** Stops the service, removes the database, and fails when something is still connected to it. */
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
