// Resources that use cases, commands and pages share: the database, the sealing key, the HTTPS transport and mail. A
// command opens them, does its work and closes them. The service opens them and listens for requests.

import { hostname } from "node:os";
import { dirname, resolve } from "node:path";
import type { ChangeModules } from "#core/conversions/change-module.ts";
import type { KeyRing } from "#core/domain/key-ring.ts";
import { sayOtherBrand } from "#core/domain/network.ts";
import { createMailDispatcher, type MailDispatcher } from "#core/mail/dispatcher.ts";
import { createNetworkMailer, type NetworkMailer } from "#core/mail/network-mailer.ts";
import type { CompanySignIn } from "#core/people/deps.ts";
import type { AddressPolicy, Clock, DiskSpace, Log, Random, Transport } from "#core/ports.ts";
import { createNetworkCache, type NetworkCache } from "#core/store/network-cache.ts";
import { type DatabaseSetting, isPoolerRefusal, openStore, prepareSchema } from "#core/store/open.ts";
import { findDifferentEnds } from "#core/store/postgres/doctor.ts";
import { keepGivenBrand } from "#core/store/queries/network.ts";
import { readNewestSealed } from "#core/store/queries/sealed-values.ts";
import { findSchema, MIGRATIONS, type MigrationReport } from "#core/store/schema/migrations.ts";
import { stateOfFile } from "#core/store/sqlite/file.ts";
import type { Store } from "#core/store/store.ts";
import packageJson from "../../package.json" with { type: "json" };
import { type Config, publicUrlAt, type RoleSetting } from "../config.ts";
import { CHANGES } from "../modules.ts";
import { type CertificateReader, createCertificateReader } from "../outside/certificates.ts";
import { realClock } from "../outside/clock.ts";
import { readDiskSpace } from "../outside/disk-space.ts";
import { createHttpsTransport } from "../outside/https-transport.ts";
import { createLog, type LogIdentity, type ProcessLog } from "../outside/log.ts";
import type { SmtpMailer } from "../outside/mailer.ts";
import { createRandom } from "../outside/random.ts";
import { openKeyRing, useKeyRing } from "./sealing-keys.ts";
import { openSharedClock, type SharedClock } from "./shared-clock.ts";
import { StartError } from "./start-error.ts";

export interface Workplace {
	config: Config;
	store: Store;
	clock: SharedClock;
	random: Random;
	changes: ChangeModules;
	log: Log;
	/** Name of this process in its log and its metrics. */
	identity: ProcessName;
	accessLog: Log;
	droppedLogLines(): number;
	/**
	 * Returns the space of the disk that holds the SQLite file. Returns null on PostgreSQL, because the
	 * server's disk is not visible from this process.
	 */
	readDisk(): Promise<DiskSpace | null>;
	certificates: CertificateReader;
	transport: Transport;
	mailer: (NetworkMailer & Pick<SmtpMailer, "verify">) | null;
	/** Sign-in with the company's account, or null if no identity provider is configured. */
	companySignIn: CompanySignIn | null;
	/** Queue of outgoing mails. A mail is stored first and sent in the background. */
	mails: MailDispatcher;
	/** Base URL of all links, including those in mails. */
	publicUrl: string;
	keyRing: KeyRing;
	network: NetworkCache;
	addressPolicy: AddressPolicy;
	migration: MigrationReport;
	close(): Promise<void>;
}

export interface OpenOptions {
	/** Clock of the machine. Only tests replace the clock, `readTime` and the log. */
	clock?: Clock;
	readTime?: () => Promise<number>;
	log?: Log;
	/**
	 * Treatment of an old schema. The default is RINGBACK_MIGRATE. "inspect" changes nothing, so it neither
	 * migrates the schema nor creates a missing key file.
	 */
	schema?: "migrate" | "inspect";
	/**
	 * True to refuse a database that is missing or has no tables yet, instead of creating it. If DATABASE_URL is
	 * missing or wrong, a command that works on stored data would otherwise report success on an empty database.
	 */
	mustExist?: boolean;
	/** Called with the progress of a migration. By default the progress is logged. */
	tellMigration?: (progress: string) => void;
}

/**
 * Identity of the process. Log lines do not contain the name of the machine, because log collectors add it.
 */
export interface ProcessName extends LogIdentity {
	host: string;
}

/** Number of random bytes in an instance id. Eight hex digits are enough to keep processes apart. */
const INSTANCE_BYTES = 4;

/** Parts that exist before the service's address is known. */
export type OpenedParts = Omit<Workplace, "mails" | "publicUrl" | "mailer"> & { mailer: SmtpMailer | null };

export async function openWorkplace(config: Config, options: OpenOptions = {}): Promise<Workplace> {
	const parts = await openParts(config, options, "command");
	return addMail(parts, publicUrlAt(config, config.port));
}

/** Adds the parts that need the base URL of links. */
export function addMail(parts: OpenedParts, publicUrl: string): Workplace {
	const { mailer: smtp } = parts;
	const mailer =
		smtp === null
			? null
			: Object.assign(createNetworkMailer(smtp, parts.network, publicUrl, parts.clock), {
					verify: smtp.verify,
				});
	const mails = createMailDispatcher({ ...parts, mailer });
	return {
		...parts,
		mailer,
		mails,
		publicUrl,
		async close() {
			await mails.stop();
			await parts.close();
		},
	};
}

/**
 * Opens store, clock, keys, transport and network. `role` is also the client name that the database server
 * shows for this process.
 */
export async function openParts(
	config: Config,
	options: OpenOptions,
	role: RoleSetting | "command",
): Promise<OpenedParts> {
	const machineClock = options.clock ?? realClock;
	const random = createRandom();
	const identity: ProcessName = {
		instance: random.hex(INSTANCE_BYTES),
		role,
		version: packageJson.version,
		host: hostname(),
	};
	const { log, access, droppedLines } = openLog(config, options, identity);
	const schema = options.schema ?? (config.migrate === "auto" ? "migrate" : "check");
	const { mustExist = false } = options;
	judgeFile(config.database, { mayCreate: schema === "migrate" && !mustExist, mustExist });
	const store = openStore(config.database, { clock: machineClock, log, name: `ringback-${role}` });
	const opened = new AsyncDisposableStack();
	opened.defer(() => store.close());
	try {
		await refuseDifferentEnds(config.database, store);
		if (mustExist && schema === "migrate") await refuseEmpty(store);
		// The database's clock is read before any time is stored or compared.
		const readTime = store.readTime && (options.readTime ?? store.readTime);
		const clock = await openSharedClock(machineClock, readTime);
		opened.defer(() => clock.stop());
		const tell = options.tellMigration ?? ((progress) => log.info({ progress }, "migrating the database"));
		const migration = await prepareSchema(store, schema, clock.nowMs(), { tell });
		// If the database has another schema version, this program cannot read its tables.
		const isReadable = schema !== "inspect" || migration.version === MIGRATIONS.length;
		const sealed = isReadable ? await readNewestSealed(store.db) : [];
		// A new key is created only if the database contains no sealed values. Otherwise a new key would hide that the
		// right key is missing.
		const keyRing = openKeyRing(config, log, schema !== "inspect" && sealed.length === 0);
		if (isReadable) await useKeyRing(store, keyRing, { sealed, log, mayWrite: schema !== "inspect" });
		if (schema !== "inspect") await keepBrand(store, config.brand, log);
		const transport = createHttpsTransport({
			allowedPrivateRanges: config.allowedPrivateRanges,
			...(config.trustedCa === null ? {} : { trustedCa: config.trustedCa }),
			...(config.dnsServers === null ? {} : { dnsServers: config.dnsServers }),
		});
		opened.defer(() => transport.close());
		const certificates = createCertificateReader({ ...config, clock });
		opened.defer(() => certificates.close());
		const { smtpUrl, mailFrom } = config;
		const mailer = smtpUrl === null || mailFrom === null ? null : await openMailer(smtpUrl, mailFrom);
		opened.defer(() => mailer?.close());
		const companySignIn = await openCompanySignIn(config);
		opened.defer(() => companySignIn?.provider.close());
		return {
			config,
			store,
			clock,
			random,
			changes: CHANGES,
			log,
			identity,
			accessLog: access,
			droppedLogLines: droppedLines,
			readDisk: () => readDiskOf(config.database),
			certificates,
			keyRing,
			mailer,
			companySignIn,
			transport,
			network: createNetworkCache({ store, clock }, config.brand),
			addressPolicy: { allowedPrivateRanges: config.allowedPrivateRanges },
			migration,
			close: () => opened.disposeAsync(),
		};
	} catch (error) {
		await opened.disposeAsync();
		throw isPoolerRefusal(error) ? new StartError(POOLER_REFUSED) : error;
	}
}

async function readDiskOf(database: DatabaseSetting): Promise<DiskSpace | null> {
	return database.kind === "sqlite" && database.path !== ":memory:"
		? readDiskSpace(dirname(database.path))
		: null;
}

function openLog(config: Config, { log }: OpenOptions, { instance, role, version }: LogIdentity): ProcessLog {
	return log === undefined
		? createLog(config.logLevel, { instance, role, version })
		: { log, access: log, droppedLines: () => 0 };
}

/**
 * Throws if a SQLite file is not in the required state. A missing file is accepted only if a database may be created.
 * An empty file is accepted, too, if nothing needs stored data. A file that SQLite did not write is always refused,
 * because it may contain precious data.
 */
function judgeFile(
	database: DatabaseSetting,
	{ mayCreate, mustExist }: { mayCreate: boolean; mustExist: boolean },
): void {
	if (database.kind !== "sqlite" || database.path === ":memory:") return;
	const [path, state] = [resolve(database.path), stateOfFile(database.path)];
	const advice = "Run `ringback migrate` to make it, or correct DATABASE_URL if it should be there.";
	if (state === "missing" && !mayCreate) throw new StartError(`There is no database file ${path}. ${advice}`);
	if (state === "empty" && mustExist)
		throw new StartError(`There is nothing in the database file ${path}. ${advice}`);
	if (state !== "something else") return;
	throw new StartError(
		`${path} is not a SQLite database. Correct DATABASE_URL, or restore a backup to this path.`,
	);
}

async function refuseEmpty({ db }: Store): Promise<void> {
	const { version } = await findSchema(db);
	if (version > 0) return;
	throw new StartError(
		"The database that DATABASE_URL names has no tables yet. Run `ringback migrate` to make them, or correct DATABASE_URL if they should be there.",
	);
}

/**
 * Throws if DATABASE_URL and RINGBACK_DATABASE_DIRECT_URL lead to different databases. This check must run before
 * anything is created or read, because otherwise that could happen in the wrong database.
 */
async function refuseDifferentEnds(database: DatabaseSetting, { db }: Store): Promise<void> {
	const difference = database.kind === "sqlite" ? null : await findDifferentEnds(database, db);
	if (difference !== null) throw new StartError(difference);
}

/**
 * Stores the brand of the setting, which takes precedence over the stored brand. If shops already use another brand,
 * a warning is logged.
 */
async function keepBrand(store: Store, brand: string | null, log: Log): Promise<void> {
	const fixedBrand = brand === null ? null : await keepGivenBrand(store, brand);
	if (fixedBrand !== null) log.warn({ brand, known: fixedBrand }, sayOtherBrand(fixedBrand));
}

const POOLER_REFUSED =
	"DATABASE_URL leads to a connection pooler such as PgBouncer, which does not take our settings for a session. " +
	"Set RINGBACK_DATABASE_DIRECT_URL to the PostgreSQL server itself, and leave DATABASE_URL as it is.";

/** Imports the mail library only if it is needed, because it takes 10 MB of memory. */
async function openMailer(smtpUrl: string, mailFrom: string): Promise<SmtpMailer> {
	const { createSmtpMailer } = await import("../outside/mailer.ts");
	return createSmtpMailer(smtpUrl, mailFrom);
}

/**
 * Prepares the sign-in with the company's account without any request, so that a provider that is down does not stop
 * the service. The library is imported only if a provider is configured.
 */
async function openCompanySignIn(config: Config): Promise<CompanySignIn | null> {
	const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret } = config;
	if (issuer === null || clientId === null || clientSecret === null) return null;
	const { createIdentityProvider } = await import("../outside/identity-provider.ts");
	const trustedCa = config.trustedCa ?? undefined;
	return {
		provider: createIdentityProvider({ issuer, clientId, clientSecret, trustedCa }),
		label: config.oidcLabel,
		isRequiredForStaff: config.oidcStaff === "required",
		isForEveryone: config.oidcFor === "everyone",
	};
}
