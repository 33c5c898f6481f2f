// Wires a Config into a running service, starts and stops it in order. The only place that knows the real
// outside/: everything else sees ports.

import packageJson from "../package.json" with { type: "json" };
import { createInstallationWatch } from "./accounts/installation-watch.ts";
import { makeFirstStaffPath } from "./accounts/links.ts";
import { createMailDispatcher, type MailDispatcher } from "./accounts/mail-dispatcher.ts";
import { createLimitedCalls } from "./api/limited-calls.ts";
import { createMetrics } from "./api/metrics.ts";
import { createApp, createMetricsApp, createWorkerApp } from "./app.ts";
import { Engine } from "./callbacks/engine.ts";
import { logForbiddenAddresses } from "./callbacks/forbidden-addresses.ts";
import { createPass } from "./callbacks/pass.ts";
import { startBulkChore, startChores, startTelling } from "./chores.ts";
import { type Config, publicUrlAt, warningSettings } from "./config.ts";
import { openSecret, SEALING_KEY_BYTES } from "./domain/sealing.ts";
import { findSettingWarnings } from "./domain/warning.ts";
import { realClock } from "./outside/clock.ts";
import { type EarlyListener, listenEarly, METRICS_LIMITS, PUBLIC_LIMITS } from "./outside/http-server.ts";
import { createHttpsTransport } from "./outside/https-transport.ts";
import { KeyFileError, readKeyFile, readOrMakeKeyFile } from "./outside/key-file.ts";
import { createBusyShare } from "./outside/load.ts";
import { createLog } from "./outside/log.ts";
import { createSmtpMailer, type SmtpMailer } from "./outside/mailer.ts";
import { createRandom } from "./outside/random.ts";
import { temporaryFilesBeside, temporaryFilesOfSystem } from "./outside/temporary-files.ts";
import type { AddressPolicy, Clock, Log, Random, Transport } from "./ports.ts";
import type { MigrationReport } from "./store/migrate.ts";
import { openStore, prepareSchema } from "./store/open.ts";
import { newestSecret, type SigningSecret } from "./store/signing-secrets.ts";
import type { Store } from "./store/store.ts";
import { isDatabaseUnavailable } from "./store/unavailable.ts";

/** What use cases, commands and pages work with. */
export interface Workplace {
	config: Config;
	store: Store;
	clock: Clock;
	random: Random;
	log: Log;
	transport: Transport;
	mailer: SmtpMailer | null;
	/** Mail about accounts, written first and sent by the way. */
	mails: MailDispatcher;
	/** What links and mails begin with. */
	publicUrl: string;
	sealingKey: Uint8Array;
	addressPolicy: AddressPolicy;
	migration: MigrationReport;
	close(): Promise<void>;
}

export interface Service extends Workplace {
	url: string;
	/** Where /metrics and the detailed health are; null where they are off. */
	metricsUrl: string | null;
	/** Makes the first staff account; null once there is one that can sign in, and in a worker. */
	welcomeLink: string | null;
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

/** What is there before it is known where the service listens. */
type Ground = Omit<Workplace, "mails" | "publicUrl">;

export async function openWorkplace(config: Config, options: OpenOptions = {}): Promise<Workplace> {
	return furnish(await openGround(config, options), publicUrlAt(config, config.port));
}

function furnish(ground: Ground, publicUrl: string): Workplace {
	const mails = createMailDispatcher({ ...ground, network: { brand: ground.config.brand, publicUrl } });
	return {
		...ground,
		mails,
		publicUrl,
		async close() {
			await mails.stop();
			await ground.close();
		},
	};
}

async function openGround(config: Config, options: OpenOptions): Promise<Ground> {
	const clock = options.clock ?? realClock;
	const log = options.log ?? createLog(config.logLevel);
	const random = createRandom();
	const store = openStore(config.database, { clock, log });
	try {
		const schema = options.schema ?? "migrate";
		const migration = await prepareSchema(store, schema, clock.nowMs());
		const sealed = migration.version > 0 ? await newestSecret(store.db) : undefined;
		// Never a new key for secrets that were sealed with another: it would only hide what is missing.
		const sealingKey = findSealingKey(config, log, schema === "migrate" && sealed === undefined);
		checkSealingKey(sealingKey, sealed);
		const transport = createHttpsTransport({
			allowedPrivateRanges: config.allowedPrivateRanges,
			...(config.trustedCa === null ? {} : { trustedCa: config.trustedCa }),
			...(config.dnsServers === null ? {} : { dnsServers: config.dnsServers }),
		});
		const { smtpUrl, mailFrom } = config;
		const mailer = smtpUrl === null || mailFrom === null ? null : createSmtpMailer(smtpUrl, mailFrom);
		return {
			config,
			store,
			clock,
			random,
			log,
			sealingKey,
			mailer,
			transport,
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
	const ground = await openGround(config, options);
	warnAtStart(ground);
	const { clock, log } = ground;
	const startedAtMs = clock.nowMs();
	const listeners: EarlyListener[] = [];
	try {
		const welcomePath = config.role === "worker" ? null : await offerFirstStaff(ground);
		const { host, port, trustedProxies } = config;
		// Before the rest, because only now the port is known.
		const site = await listenEarly({ host, port, trustedProxies, limits: PUBLIC_LIMITS, log });
		listeners.push(site);
		const numbers = await listenForMetrics(config, log);
		if (numbers !== null) listeners.push(numbers);
		const workplace = furnish(ground, publicUrlAt(config, site.port));
		const { publicUrl } = workplace;
		const worker = config.role === "web" ? null : startWorker(workplace);
		const bulk = startBulkChore(workplace);
		const telling = startTelling(workplace);
		let isStopping = false;
		const stopping = new AbortController();
		const engineCounters = worker === null ? null : () => worker.engine.counters;
		const { database } = config;
		const limitedCalls = createLimitedCalls(workplace);
		const appDeps = {
			...workplace,
			bulk: { wake: bulk.runSoon },
			brand: config.brand,
			allowsPrivateRanges: config.allowedPrivateRanges.length > 0,
			staffAuthenticator: config.staffAuthenticator,
			trustedProxies: config.trustedProxies,
			metrics: createMetrics({ clock, engineCounters }),
			limitedCalls,
			installation: createInstallationWatch({ clock, log }, warningSettings(config)),
			temporaryFiles:
				database.kind === "sqlite" ? temporaryFilesBeside(database.path) : temporaryFilesOfSystem(),
			isReady: async () => !isStopping,
			stopSignal: stopping.signal,
		};
		site.serve(config.role === "worker" ? createWorkerApp(appDeps) : createApp(appDeps));
		const { version } = packageJson;
		const schemaVersion = workplace.migration.version;
		const about = { version, schemaVersion, role: config.role, startedAtMs, engineCounters };
		numbers?.serve(createMetricsApp(appDeps, about));
		return {
			...workplace,
			url: site.url,
			metricsUrl: numbers?.url ?? null,
			welcomeLink: welcomePath === null ? null : `${publicUrl}${welcomePath}`,
			async stop() {
				isStopping = true;
				stopping.abort();
				const closing = listeners.map((listener) => listener.close());
				// Together: nothing more is claimed while somebody is still being answered.
				await Promise.all([...closing, worker?.stop(), bulk.stop(), telling?.stop()]);
				// After the last call was answered, and while there is a database to write it to.
				await limitedCalls.stop();
				await workplace.close();
			},
		};
	} catch (error) {
		await Promise.all(listeners.map((listener) => listener.close()));
		await ground.close();
		throw error;
	}
}

/** Several processes on one machine: the address that nobody chose is the first one's, the others do without. */
async function listenForMetrics(config: Config, log: Log): Promise<EarlyListener | null> {
	if (config.metricsAddress === null) return null;
	const { host, port, isDefault } = config.metricsAddress;
	try {
		return await listenEarly({ host, port, trustedProxies: [], limits: METRICS_LIMITS, log });
	} catch (error) {
		const reason = error instanceof Error ? error.message : String(error);
		if (!isDefault) {
			throw new StartError(
				`RINGBACK_METRICS_ADDRESS cannot be listened on (${reason}). Choose another address or port, or off.`,
			);
		}
		log.warn(
			{ host, port, reason },
			"this process has no /metrics: the default address cannot be used. Set RINGBACK_METRICS_ADDRESS to an address of its own, or to off",
		);
		return null;
	}
}

/** A database that takes nothing just now must not keep callbacks from going out: the next start offers it again. */
async function offerFirstStaff(workplace: Ground): Promise<string | null> {
	try {
		return await makeFirstStaffPath(workplace);
	} catch (error) {
		if (!isDatabaseUnavailable(error)) throw error;
		workplace.log.error(
			{ err: error },
			"the link for the first staff account could not be made; start again",
		);
		return null;
	}
}

/** What delivers callbacks and does the periodic work. */
function startWorker(workplace: Workplace): { engine: Engine; stop(): Promise<void> } {
	const { config } = workplace;
	const engine = new Engine({
		...workplace,
		transport: logForbiddenAddresses(workplace.transport, workplace.log),
		runPass: createPass(workplace.store, workplace.random),
		brand: config.brand,
		caps: { perProgramme: config.maxInFlightPerProgramme, overall: config.maxInFlight },
		busyShare: createBusyShare(),
		onNotice: () => chores.mailNow(),
	});
	const chores = startChores({
		...workplace,
		brand: config.brand,
		retentionDays: config.retentionDays,
	});
	return {
		engine,
		async stop() {
			await Promise.all([engine.stop(), chores.stop()]);
		},
	};
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
function checkSealingKey(key: Uint8Array, sealed: SigningSecret | undefined): void {
	if (sealed === undefined || openSecret(key, sealed.programme_id, sealed.sealed) !== null) return;
	throw new StartError(
		"RINGBACK_SECRET_KEY is not the key that the signing secrets in this database were sealed with. Set the right one, or restore the key file beside the SQLite file.",
	);
}

function warnAtStart({ config, log }: Ground): void {
	for (const { kind, title, text } of findSettingWarnings(warningSettings(config))) {
		const ranges = config.allowedPrivateRanges.map((range) => range.text);
		log.warn({ kind, ...(kind === "private_ranges" ? { ranges } : {}) }, `${title}. ${text}`);
	}
}
