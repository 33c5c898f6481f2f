// Wires a Config into a running service, starts and stops it in order. The only place that knows the real
// outside/: everything else sees ports.

import { createApp, createOpsApp } from "./app.ts";
import { Engine } from "./callbacks/engine.ts";
import { createPass } from "./callbacks/pass.ts";
import { startChores } from "./chores.ts";
import type { Config } from "./config.ts";
import { openSecret, SEALING_KEY_BYTES } from "./domain/sealing.ts";
import { realClock } from "./outside/clock.ts";
import { listen } from "./outside/http-server.ts";
import { createHttpsTransport } from "./outside/https-transport.ts";
import { KeyFileError, readKeyFile, readOrMakeKeyFile } from "./outside/key-file.ts";
import { createBusyShare } from "./outside/load.ts";
import { createLog } from "./outside/log.ts";
import { createSmtpMailer, type SmtpMailer } from "./outside/mailer.ts";
import { createRandom } from "./outside/random.ts";
import type { AddressPolicy, Clock, Log, Random, Transport } from "./ports.ts";
import { newestSecret } from "./store/keys.ts";
import { type MigrationReport, schemaVersion } from "./store/migrate.ts";
import { openStore } from "./store/open.ts";
import type { Store } from "./store/store.ts";

/** What use cases, commands and pages work with. */
export interface Workplace {
	config: Config;
	store: Store;
	clock: Clock;
	random: Random;
	log: Log;
	transport: Transport;
	mailer: SmtpMailer | null;
	sealingKey: Uint8Array;
	addressPolicy: AddressPolicy;
	migration: MigrationReport;
	close(): Promise<void>;
}

export interface Service extends Workplace {
	url: string;
	/** Finishes what is in flight, takes no more, gives back the rest. */
	stop(): Promise<void>;
}

/** A setting that only turns out to be wrong once the database is open. */
export class StartError extends Error {}

export interface OpenOptions {
	/** Tests bring their own clock and log; nothing else is ever replaced here. */
	clock?: Clock;
	log?: Log;
	/** "inspect" leaves everything as it is: the schema, and a key file that is not there. */
	schema?: "migrate" | "inspect";
}

export async function openWorkplace(config: Config, options: OpenOptions = {}): Promise<Workplace> {
	const clock = options.clock ?? realClock;
	const log = options.log ?? createLog(config.logLevel);
	const random = createRandom();
	const store = openStore(config.database, { clock, log });
	try {
		const schema = options.schema ?? "migrate";
		const migration = await prepareSchema(store, schema, clock);
		const sealingKey = findSealingKey(config, log, schema === "migrate");
		if (migration.version > 0) await checkSealingKey(store, sealingKey);
		const transport = createHttpsTransport({
			allowedPrivateRanges: config.allowedPrivateRanges,
			...(config.trustedCa === null ? {} : { trustedCa: config.trustedCa }),
			...(config.dnsServers === null ? {} : { dnsServers: config.dnsServers }),
		});
		const mailer = config.smtpUrl === null ? null : createSmtpMailer(config.smtpUrl, config.mailFrom);
		return {
			config,
			store,
			clock,
			random,
			log,
			transport,
			mailer,
			sealingKey,
			addressPolicy: { allowedPrivateRanges: config.allowedPrivateRanges },
			migration,
			async close() {
				await transport.close();
				mailer?.close();
				await store.close();
			},
		};
	} catch (error) {
		await store.close();
		throw error;
	}
}

export async function startService(config: Config, options: OpenOptions = {}): Promise<Service> {
	const workplace = await openWorkplace(config, options);
	warnAtStart(workplace);
	const worker = config.role === "web" ? null : startWorker(workplace);
	const appDeps = {
		...workplace,
		brand: config.brand,
		publicUrl: config.publicUrl,
		allowsPrivateRanges: config.allowedPrivateRanges.length > 0,
		engineCounters: worker === null ? null : () => worker.engine.counters,
	};
	const app = config.role === "worker" ? createOpsApp(appDeps) : createApp(appDeps);
	const stopAll = async (): Promise<void> => {
		await worker?.stop();
		await workplace.close();
	};
	try {
		const server = await listen(app.fetch, config.host, config.port);
		return {
			...workplace,
			url: server.url,
			async stop() {
				// Together: nothing more is claimed while somebody is still being answered.
				await Promise.all([server.close(), worker?.stop()]);
				await workplace.close();
			},
		};
	} catch (error) {
		await stopAll();
		throw error;
	}
}

/** What delivers callbacks and does the periodic work. */
function startWorker(workplace: Workplace): { engine: Engine; stop(): Promise<void> } {
	const { config } = workplace;
	const engine = new Engine({
		...workplace,
		runPass: createPass(workplace.store, workplace.random),
		brand: config.brand,
		caps: { perProgramme: config.maxInFlightPerProgramme, overall: config.maxInFlight },
		busyShare: createBusyShare(),
		onNotice: () => chores.mailNow(),
	});
	const chores = startChores({
		...workplace,
		publicUrl: config.publicUrl,
		retentionDays: config.retentionDays,
	});
	return {
		engine,
		async stop() {
			await Promise.all([engine.stop(), chores.stop()]);
		},
	};
}

async function prepareSchema(
	store: Store,
	schema: "migrate" | "inspect",
	clock: Clock,
): Promise<MigrationReport> {
	if (schema === "migrate") return store.migrate(clock.nowMs());
	return { version: await schemaVersion(store.db), applied: [] };
}

function findSealingKey({ secretKey, database }: Config, log: Log, mayMake: boolean): Uint8Array {
	if (secretKey !== null) return secretKey;
	if (database.kind !== "sqlite") throw new StartError("RINGBACK_SECRET_KEY is required with PostgreSQL.");
	const path = `${database.path}.key`;
	try {
		// Where none may be made, a key that opens nothing stands in: the check behind this one then says so.
		if (!mayMake) return readKeyFile(path) ?? new Uint8Array(SEALING_KEY_BYTES);
		const { key, isNew } = readOrMakeKeyFile(path);
		if (isNew)
			log.info({ path }, "made the key that seals signing secrets; back it up together with the database");
		return key;
	} catch (error) {
		throw error instanceof KeyFileError ? new StartError(error.message) : error;
	}
}

/** With the wrong key nothing could be signed or checked: better not to start than to refuse every shop. */
async function checkSealingKey(store: Store, key: Uint8Array): Promise<void> {
	const secret = await newestSecret(store.db);
	if (secret === undefined || openSecret(key, secret.programme_id, secret.sealed) !== null) return;
	throw new StartError(
		"RINGBACK_SECRET_KEY is not the key that the signing secrets in this database were sealed with. Set the right one, or restore the key file beside the SQLite file.",
	);
}

function warnAtStart({ config, mailer, log }: Workplace): void {
	if (config.allowedPrivateRanges.length > 0) {
		const ranges = config.allowedPrivateRanges.map((range) => range.text);
		log.warn(
			{ ranges },
			"RINGBACK_ALLOWED_PRIVATE_RANGES is on: callbacks may go to private addresses. Development only!",
		);
	}
	if (mailer === null)
		log.warn({}, "mail is off: SMTP_URL is not set, so notices of failed callbacks stay on the page");
}
