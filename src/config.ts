// The settings: the only reader of the environment. Gives a typed Config, or every problem at once.

import { readDatabase } from "./config-database.ts";
import { requireForProduction } from "./config-production.ts";
import { type Environment, ON_OR_OFF, SettingReader } from "./config-reader.ts";
import { readTracing } from "./config-tracing.ts";
import {
	type ArchivingSetting,
	type ListenAddress,
	MAX_PORT,
	readArchiving,
	readBrand,
	readDnsServers,
	readMailFrom,
	readMetricsAddress,
	readPublicUrl,
	readRanges,
	readSecretKey,
	readSmtpUrl,
	readTrustedCa,
} from "./config-values.ts";
import type { AddressRange } from "./domain/address.ts";
import { STAFF_AUTHENTICATOR, type StaffAuthenticator } from "./domain/authenticator.ts";
import { DELIVERY, type DeliverySetting } from "./domain/delivery-pause.ts";
import type { ServiceManager } from "./domain/process.ts";
import { SECOND_MS } from "./domain/time.ts";
import type { TracingSetting } from "./domain/trace.ts";
import type { WarningSettings } from "./domain/warning.ts";
import type { DatabaseSetting } from "./store/open.ts";

export type { Environment };

export type RoleSetting = "all" | "web" | "worker";
const ROLES: readonly RoleSetting[] = ["all", "web", "worker"];
const MIGRATE = ["auto", "check"] as const;
const ENVIRONMENTS = ["development", "production"] as const;
const LOG_LEVELS = ["info", "warn", "error", "silent"] as const;

/** Load balancers ask every second or two, and act on the second or third answer. */
const PRODUCTION_DRAIN_SECONDS = 5;
const MOST_DRAIN_SECONDS = 300;

export interface Config {
	/** In production what it takes to serve real shops is a condition of starting. */
	environment: (typeof ENVIRONMENTS)[number];
	host: string;
	port: number;
	/** Null: where the service turns out to listen. */
	publicUrl: string | null;
	/** Where /metrics and the detailed health are served; null for nowhere. */
	metricsAddress: ListenAddress | null;
	database: DatabaseSetting;
	/** Whether starting brings the schema up to date, or only looks whether it is. */
	migrate: (typeof MIGRATE)[number];
	/** Null: made and kept beside the SQLite file. */
	secretKey: Uint8Array | null;
	/** Null: the network chooses it on its pages. */
	brand: string | null;
	allowedPrivateRanges: readonly AddressRange[];
	/** Whose X-Forwarded-For is believed. */
	trustedProxies: readonly AddressRange[];
	/** Whether the network's staff must have an authenticator. */
	staffAuthenticator: StaffAuthenticator;
	/** PEM text, besides the certificates the system trusts. */
	trustedCa: string | null;
	dnsServers: readonly string[] | null;
	smtpUrl: string | null;
	/** Always there when `smtpUrl` is. */
	mailFrom: string | null;
	maxInFlightPerProgramme: number;
	maxInFlight: number;
	retentionDays: number;
	/** Retention of conversions and audit entries, which are otherwise kept for ever. */
	archiving: ArchivingSetting;
	role: RoleSetting;
	/** Whether each request is a line of the log. */
	accessLog: boolean;
	/** Null: nothing is traced. */
	tracing: TracingSetting | null;
	/** Paused: conversions and decisions are taken, and no callback is sent. */
	delivery: DeliverySetting;
	/** Asked to stop, so long it goes on answering, and says that it is not ready. */
	drainMs: number;
	logLevel: (typeof LOG_LEVELS)[number];
	/** Null unless systemd started us and wants to know. */
	serviceManager: ServiceManager | null;
}

/** What may have to be warned of. */
export function warningSettings(config: Config): WarningSettings {
	return {
		publicUrl: config.publicUrl,
		trustedProxies: config.trustedProxies,
		hasMail: config.smtpUrl !== null,
		allowsPrivateRanges: config.allowedPrivateRanges.length > 0,
	};
}

/** The address in links and mails: what was set, or where the service listens. `port` is the real one, once known. */
export function publicUrlAt({ publicUrl, host }: Pick<Config, "publicUrl" | "host">, port: number): string {
	if (publicUrl !== null) return publicUrl;
	const isAnywhere = host === "0.0.0.0" || host === "::";
	const name = host.includes(":") ? `[${host}]` : host;
	return `http://${isAnywhere ? "localhost" : name}:${port}`;
}

export type ConfigResult = { ok: true; config: Config } | { ok: false; problems: readonly string[] };

/** What the shop's commands read, besides the brand. The service has no use for them, and nothing against them. */
const OF_THE_SHOP = new Set([
	"RINGBACK_URL",
	"RINGBACK_API_KEY",
	"RINGBACK_API_KEY_FILE",
	"RINGBACK_SIGNING_SECRET",
	"RINGBACK_SIGNING_SECRET_FILE",
]);

export function readConfig(environment: Environment = process.env): ConfigResult {
	const reader = new SettingReader(environment);
	const kind = reader.choice("RINGBACK_ENV", ENVIRONMENTS, "development");
	const isProduction = kind === "production";
	const host = reader.text("HOST") ?? "127.0.0.1";
	const port = reader.integer("PORT", 8080, 0, MAX_PORT);
	const database = readDatabase(reader);
	const smtpUrl = readSmtpUrl(reader);
	const retentionDays = reader.integer("RINGBACK_RETENTION_DAYS", 180, 7, 36_500);
	const config: Config = {
		environment: kind,
		host,
		port,
		publicUrl: readPublicUrl(reader),
		metricsAddress: readMetricsAddress(reader),
		database,
		migrate: reader.choice("RINGBACK_MIGRATE", MIGRATE, "auto"),
		secretKey: readSecretKey(reader, database),
		brand: readBrand(reader),
		allowedPrivateRanges: readRanges(reader, "RINGBACK_ALLOWED_PRIVATE_RANGES"),
		trustedProxies: readRanges(reader, "RINGBACK_TRUSTED_PROXIES"),
		staffAuthenticator: reader.choice("RINGBACK_STAFF_AUTHENTICATOR", STAFF_AUTHENTICATOR, "optional"),
		trustedCa: readTrustedCa(reader),
		dnsServers: readDnsServers(reader),
		smtpUrl,
		mailFrom: readMailFrom(reader, smtpUrl),
		maxInFlightPerProgramme: reader.integer("RINGBACK_MAX_IN_FLIGHT_PER_PROGRAMME", 8, 1, 1_000),
		maxInFlight: reader.integer("RINGBACK_MAX_IN_FLIGHT", 512, 1, 10_000),
		retentionDays,
		archiving: readArchiving(reader, retentionDays),
		role: reader.choice("RINGBACK_ROLE", ROLES, "all"),
		accessLog: reader.choice("RINGBACK_ACCESS_LOG", ON_OR_OFF, "off") === "on",
		tracing: readTracing(reader),
		delivery: reader.choice("RINGBACK_DELIVERY", DELIVERY, "on"),
		drainMs: readDrainSeconds(reader, isProduction) * SECOND_MS,
		logLevel: reader.choice("LOG_LEVEL", LOG_LEVELS, "info"),
		serviceManager: readServiceManager(reader),
	};
	if (isProduction) requireForProduction(reader, config);
	// A misspelt setting that is silently ignored is found in production.
	const known = [...reader.names].filter((name) => name.startsWith("RINGBACK_"));
	for (const name of Object.keys(environment)) {
		const isKnown = known.includes(name) || OF_THE_SHOP.has(name) || name.startsWith("RINGBACK_TEST_");
		if (name.startsWith("RINGBACK_") && !isKnown) {
			reader.problem(name, `is not a setting. Known are ${known.join(", ")}.`);
		}
	}
	return reader.problems.length === 0 ? { ok: true, config } : { ok: false, problems: reader.problems };
}

/** systemd's own words, which it sets itself. */
function readServiceManager(reader: SettingReader): ServiceManager | null {
	const socket = reader.text("NOTIFY_SOCKET");
	const watchdogMicroseconds = reader.integer("WATCHDOG_USEC", 0, 0, Number.MAX_SAFE_INTEGER);
	if (socket === undefined) return null;
	return { socket, watchdogMs: watchdogMicroseconds === 0 ? null : watchdogMicroseconds / 1000 };
}

/** By hand nobody wants to wait for load balancers that are not there. */
function readDrainSeconds(reader: SettingReader, isProduction: boolean): number {
	const byDefault = isProduction ? PRODUCTION_DRAIN_SECONDS : 0;
	return reader.integer("RINGBACK_DRAIN_SECONDS", byDefault, 0, MOST_DRAIN_SECONDS);
}

/** Whether npm or npx started this process, as a script or a command: it is then to end with it. */
export function isStartedByNpm(environment: Environment = process.env): boolean {
	return environment["npm_lifecycle_event"] !== undefined;
}

/** For the shop's commands, which say themselves what is missing. */
export function shopEnvironment(environment: Environment = process.env): Environment {
	const names = [...OF_THE_SHOP, "RINGBACK_BRAND", "NO_COLOR"];
	return Object.fromEntries(names.map((name) => [name, environment[name]]));
}
