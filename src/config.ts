// Reads the environment, as the only file that does. It turns the rows of settings.ts into a typed Config, or reports
// all problems at once.

import { readFileSync } from "node:fs";
import type { ServiceManager } from "#core/domain/process.ts";
import { SECOND_MS } from "#core/domain/time.ts";
import type { WarningSettings } from "#core/domain/warning.ts";
import type { DatabaseSetting } from "#core/store/open.ts";
import { isPostgresUrl, SETTINGS, type Setting, SHOP_SETTINGS } from "./settings.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

type Values = { readonly [Key in keyof typeof SETTINGS]: (typeof SETTINGS)[Key]["fallback"] };

/** Names of settings that are combined into other fields of Config. */
type Part = "databaseUrl" | "databaseDirectUrl" | "databasePool" | "drainSeconds" | "accessLog";

/** The settings of a process, which settings.ts describes. A field is null if its setting is not set. */
export interface Config extends Omit<Values, Part> {
	database: DatabaseSetting;
	drainMs: number;
	accessLog: boolean;
	/** Socket of systemd, or null if systemd did not start this process or does not want notifications. */
	serviceManager: ServiceManager | null;
	givenSettings: readonly string[];
}

export type RoleSetting = Config["role"];

export type ConfigResult = { ok: true; config: Config } | { ok: false; problems: readonly string[] };

export const ALL_SETTINGS: readonly Setting<unknown>[] = Object.values(SETTINGS);
const IN_PRODUCTION = "with RINGBACK_ENV=production";
/**
 * Default drain time in production. Load balancers check every one or two seconds and react to the second or
 * third failed check. Outside production there is no drain time, because nobody wants to wait.
 */
const PRODUCTION_DRAIN_SECONDS = 5;

export function readConfig(environment: Environment = process.env): ConfigResult {
	const reader = new SettingReader(environment);
	// The cast restores the type of each value, which Object.fromEntries loses.
	const values = Object.fromEntries(
		Object.entries(SETTINGS).map(([key, setting]) => [key, reader.read<unknown>(setting)]),
	) as Values;
	findContradictions(reader, values);
	findProviderContradictions(reader, values);
	findUnknown(reader, environment);
	if (reader.problems.size > 0) {
		return { ok: false, problems: [...reader.problems].map(([name, sentence]) => `${name} ${sentence}`) };
	}
	const { databaseUrl, databaseDirectUrl, databasePool, drainSeconds, ...rest } = values;
	const isProduction = rest.environment === "production";
	return {
		ok: true,
		config: {
			...rest,
			database: isPostgresUrl(databaseUrl)
				? {
						kind: "postgres",
						url: databaseUrl,
						directUrl: databaseDirectUrl,
						poolSize: databasePool,
						// Statements are not prepared behind a connection pooler. Older poolers may run a statement in a
						// session in which it was not prepared.
						preparesStatements: databaseDirectUrl === null,
					}
				: { kind: "sqlite", path: databaseUrl.slice("sqlite:".length) },
			accessLog: values.accessLog === "on",
			drainMs: (drainSeconds ?? (isProduction ? PRODUCTION_DRAIN_SECONDS : 0)) * SECOND_MS,
			serviceManager: readServiceManager(environment),
			givenSettings: ALL_SETTINGS.map(({ name }) => name).filter((name) => reader.isSet(name)),
		},
	};
}

function plain(markdown: string): string {
	return markdown.replaceAll("`", "");
}

class SettingReader {
	/**
	 * The first problem of each setting by name. Later problems are not stored, because they usually follow
	 * from the first.
	 */
	readonly problems = new Map<string, string>();
	readonly #environment: Environment;

	constructor(environment: Environment) {
		this.#environment = environment;
	}

	problem(name: string, sentence: string): void {
		if (!this.problems.has(name)) this.problems.set(name, sentence);
	}

	/** Returns whether the setting is present, even if its value or its file is invalid. */
	isSet(name: string): boolean {
		return this.text(name) !== undefined || this.text(`${name}_FILE`) !== undefined;
	}

	read<Value>({ name, takes, parse, fallback, isSecret }: Setting<Value>): Value {
		const text = isSecret ? this.#secret(name) : this.text(name);
		if (text === undefined) return fallback;
		const value = parse(text);
		if (value !== undefined) return value;
		const form = plain(takes);
		this.problem(name, isSecret ? `must be ${form}.` : `must be ${form}, not ${JSON.stringify(text)}.`);
		return fallback;
	}

	text(name: string): string | undefined {
		return this.#environment[name]?.trim() || undefined;
	}

	/**
	 * Returns the value, or the content of the file that `<name>_FILE` names, which is how service managers
	 * pass secrets. No message ever contains the value or the path, because somebody may have entered the
	 * secret instead of the path.
	 */
	#secret(name: string): string | undefined {
		const text = this.text(name);
		const path = this.text(`${name}_FILE`);
		if (path === undefined) return text;
		if (text === undefined) return this.#readFile(`${name}_FILE`, path);
		this.problem(`${name}_FILE`, `and ${name} are both set. Keep one of them.`);
		return text;
	}

	#readFile(name: string, path: string): string | undefined {
		const cure =
			"It must be the path of a file that this account can read, with the value in it and nothing else.";
		try {
			// A final line break is removed, because editors and `echo` add one.
			const text = readFileSync(path, "utf8").replace(/\r?\n$/, "");
			if (text.trim() !== "") return text;
			this.problem(name, `names a file that is empty. ${cure}`);
		} catch (error) {
			const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
			this.problem(name, `names no file that can be read (${code}). ${cure}`);
		}
		return undefined;
	}
}

function findContradictions(reader: SettingReader, values: Values): void {
	const { environment, publicUrl, clickUrl, allowedPrivateRanges, databaseUrl } = values;
	const isProduction = environment === "production";
	for (const { name, inProduction } of isProduction ? ALL_SETTINGS : []) {
		if (inProduction !== null && !reader.isSet(name)) {
			reader.problem(name, `is required ${IN_PRODUCTION}: ${plain(inProduction)}.`);
		}
	}
	if (isProduction && publicUrl?.startsWith("https:") === false) {
		reader.problem(
			"PUBLIC_URL",
			`must begin with https: ${IN_PRODUCTION}. Put a proxy with TLS in front: passwords, keys and secrets pass here.`,
		);
	}
	if (isProduction && clickUrl?.startsWith("https:") === false) {
		reader.problem("RINGBACK_CLICK_URL", `must begin with https: ${IN_PRODUCTION}.`);
	}
	if (clickUrl !== null && !reader.problems.has("PUBLIC_URL")) {
		// Only host names are compared, because some proxies do not pass on the port.
		const isOwnName = publicUrl !== null && new URL(publicUrl).hostname !== new URL(clickUrl).hostname;
		if (!isOwnName) {
			reader.problem(
				"RINGBACK_CLICK_URL",
				"needs a host name of its own: set PUBLIC_URL to the address people open, with another host name.",
			);
		}
	}
	if (isProduction && allowedPrivateRanges.length > 0) {
		reader.problem(
			"RINGBACK_ALLOWED_PRIVATE_RANGES",
			`must not be set ${IN_PRODUCTION}: any shop could make the service call machines of your own network.`,
		);
	}
	if (isPostgresUrl(databaseUrl) && !reader.isSet("RINGBACK_SECRET_KEY")) {
		reader.problem(
			"RINGBACK_SECRET_KEY",
			"is required with PostgreSQL, the same for every process. Make one with: openssl rand -hex 32",
		);
	}
	const { secretKey, formerSecretKey } = values;
	if (secretKey !== null && formerSecretKey !== null && Buffer.from(secretKey).equals(formerSecretKey)) {
		reader.problem(
			"RINGBACK_FORMER_SECRET_KEY",
			"is the same key as RINGBACK_SECRET_KEY. Remove it, or set RINGBACK_SECRET_KEY to the new key.",
		);
	}
	// An operator who sets the direct address of a PostgreSQL server would otherwise believe that the service
	// uses that server.
	const isDatabaseRead = ["DATABASE_URL", "DATABASE_URL_FILE"].every((name) => !reader.problems.has(name));
	if (values.databaseDirectUrl !== null && !isPostgresUrl(databaseUrl) && isDatabaseRead) {
		reader.problem("RINGBACK_DATABASE_DIRECT_URL", "is set, but DATABASE_URL names no PostgreSQL.");
	}
	if (values.smtpUrl !== null && !reader.isSet("MAIL_FROM")) {
		reader.problem("MAIL_FROM", "is needed with SMTP_URL: the address that notices come from.");
	}
}

function findProviderContradictions(reader: SettingReader, values: Values): void {
	const { environment, oidcIssuer, oidcStaff, staffAuthenticator } = values;
	const needed = ["RINGBACK_OIDC_CLIENT_ID", "RINGBACK_OIDC_CLIENT_SECRET"];
	if (!reader.isSet("RINGBACK_OIDC_ISSUER")) {
		for (const name of [...needed, "RINGBACK_OIDC_LABEL", "RINGBACK_OIDC_FOR", "RINGBACK_OIDC_STAFF"]) {
			if (!reader.isSet(name)) continue;
			reader.problem(name, "is set, but RINGBACK_OIDC_ISSUER is not. Set that as well, or remove this.");
		}
		return;
	}
	for (const name of needed) {
		if (reader.isSet(name)) continue;
		reader.problem(name, "is needed with RINGBACK_OIDC_ISSUER. Register this service at the provider.");
	}
	if (environment === "production" && oidcIssuer?.startsWith("http:") === true) {
		reader.problem("RINGBACK_OIDC_ISSUER", `must begin with https: ${IN_PRODUCTION}.`);
	}
	if (oidcStaff === "required" && staffAuthenticator === "required") {
		reader.problem(
			"RINGBACK_STAFF_AUTHENTICATOR",
			"must not be required with RINGBACK_OIDC_STAFF=required. Staff then sign in with the provider, which asks for their second factor.",
		);
	}
}

/** Reports unknown settings, because a misspelt one would otherwise be noticed only in production. */
function findUnknown(reader: SettingReader, environment: Environment): void {
	const names = ALL_SETTINGS.flatMap(({ name, isSecret }) => (isSecret ? [name, `${name}_FILE`] : [name]));
	const ownSettings = names.filter((name) => name.startsWith("RINGBACK_"));
	const harmless = new Set([...ownSettings, ...SHOP_SETTINGS]);
	for (const name of Object.keys(environment)) {
		if (/^RINGBACK_(?!TEST_)/.test(name) && !harmless.has(name)) {
			reader.problem(name, `is not a setting. Known are ${ownSettings.join(", ")}.`);
		}
	}
}

function readServiceManager(environment: Environment): ServiceManager | null {
	const socket = environment["NOTIFY_SOCKET"] || null;
	const watchdogMs = Number(environment["WATCHDOG_USEC"] ?? 0) / 1000;
	return socket === null ? null : { socket, watchdogMs: watchdogMs > 0 ? watchdogMs : null };
}

export function warningSettings(config: Config): WarningSettings {
	return {
		publicUrl: config.publicUrl,
		trustedProxies: config.trustedProxies,
		hasMail: config.smtpUrl !== null,
		allowsPrivateRanges: config.allowedPrivateRanges.length > 0,
		isOnFile: config.database.kind === "sqlite",
		backupDays: config.backupDays,
	};
}

/**
 * Returns the base URL of links and mails. It is PUBLIC_URL, or by default the address on which the service
 * listens. `port` is the real port, once it is known.
 */
export function publicUrlAt({ publicUrl, host }: Pick<Config, "publicUrl" | "host">, port: number): string {
	if (publicUrl !== null) return publicUrl;
	const isAnywhere = host === "0.0.0.0" || host === "::";
	const name = host.includes(":") ? `[${host}]` : host;
	return `http://${isAnywhere ? "localhost" : name}:${port}`;
}
