// The settings: the only reader of the environment. Gives a typed Config, or every problem at once.

import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { isIP, isIPv4, isIPv6 } from "node:net";
import { type AddressRange, parseRange } from "./domain/address.ts";
import { SEALING_KEY_BYTES } from "./domain/sealing.ts";
import type { DatabaseSetting } from "./store/open.ts";

export type RoleSetting = "all" | "web" | "worker";
const ROLES: readonly RoleSetting[] = ["all", "web", "worker"];
const LOG_LEVELS = ["info", "warn", "error", "silent"] as const;

export interface Config {
	host: string;
	port: number;
	/** Null: where the service turns out to listen. */
	publicUrl: string | null;
	database: DatabaseSetting;
	/** Null: made and kept beside the SQLite file. */
	secretKey: Uint8Array | null;
	brand: string;
	allowedPrivateRanges: readonly AddressRange[];
	/** Whose X-Forwarded-For is believed. */
	trustedProxies: readonly AddressRange[];
	/** PEM text, besides the certificates the system trusts. */
	trustedCa: string | null;
	dnsServers: readonly string[] | null;
	smtpUrl: string | null;
	/** Always there when `smtpUrl` is. */
	mailFrom: string | null;
	maxInFlightPerProgramme: number;
	maxInFlight: number;
	retentionDays: number;
	role: RoleSetting;
	logLevel: (typeof LOG_LEVELS)[number];
}

export type ConfigResult = { ok: true; config: Config } | { ok: false; problems: readonly string[] };

const KNOWN = new Set([
	"RINGBACK_SECRET_KEY",
	"RINGBACK_BRAND",
	"RINGBACK_ALLOWED_PRIVATE_RANGES",
	"RINGBACK_TRUSTED_PROXIES",
	"RINGBACK_TRUSTED_CA",
	"RINGBACK_DNS_SERVERS",
	"RINGBACK_MAX_IN_FLIGHT_PER_PROGRAMME",
	"RINGBACK_MAX_IN_FLIGHT",
	"RINGBACK_RETENTION_DAYS",
	"RINGBACK_ROLE",
]);

/** What the shop's commands read, besides the brand. The service has no use for them, and nothing against them. */
const OF_THE_SHOP = new Set(["RINGBACK_URL", "RINGBACK_API_KEY", "RINGBACK_SIGNING_SECRET"]);

export type Environment = Readonly<Record<string, string | undefined>>;

export function readConfig(environment: Environment = process.env): ConfigResult {
	const reader = new Reader(environment);
	const host = reader.text("HOST") ?? "127.0.0.1";
	const port = reader.integer("PORT", 8080, 0, 65_535);
	const database = readDatabase(reader);
	const smtpUrl = readSmtpUrl(reader);
	const config: Config = {
		host,
		port,
		publicUrl: readPublicUrl(reader),
		database,
		secretKey: readSecretKey(reader, database),
		brand: readBrand(reader),
		allowedPrivateRanges: readRanges(reader, "RINGBACK_ALLOWED_PRIVATE_RANGES"),
		trustedProxies: readRanges(reader, "RINGBACK_TRUSTED_PROXIES"),
		trustedCa: readTrustedCa(reader),
		dnsServers: readDnsServers(reader),
		smtpUrl,
		mailFrom: readMailFrom(reader, smtpUrl),
		maxInFlightPerProgramme: reader.integer("RINGBACK_MAX_IN_FLIGHT_PER_PROGRAMME", 8, 1, 1_000),
		maxInFlight: reader.integer("RINGBACK_MAX_IN_FLIGHT", 512, 1, 10_000),
		retentionDays: reader.integer("RINGBACK_RETENTION_DAYS", 180, 7, 36_500),
		role: reader.choice("RINGBACK_ROLE", ROLES, "all"),
		logLevel: reader.choice("LOG_LEVEL", LOG_LEVELS, "info"),
	};
	// A misspelt setting that is silently ignored is found in production.
	for (const name of Object.keys(environment)) {
		const isKnown = KNOWN.has(name) || OF_THE_SHOP.has(name) || name.startsWith("RINGBACK_TEST_");
		if (name.startsWith("RINGBACK_") && !isKnown) {
			reader.problem(name, `is not a setting. Known are ${[...KNOWN].join(", ")}.`);
		}
	}
	return reader.problems.length === 0 ? { ok: true, config } : { ok: false, problems: reader.problems };
}

/** For the shop's commands, which say themselves what is missing. */
export function shopEnvironment(environment: Environment = process.env): Environment {
	const names = [...OF_THE_SHOP, "RINGBACK_BRAND", "NO_COLOR"];
	return Object.fromEntries(names.map((name) => [name, environment[name]]));
}

class Reader {
	readonly problems: string[] = [];
	readonly #environment: Environment;

	constructor(environment: Environment) {
		this.#environment = environment;
	}

	problem(name: string, sentence: string): void {
		this.problems.push(`${name} ${sentence}`);
	}

	/** An empty value counts as absent: that is how compose files unset things. */
	text(name: string): string | undefined {
		const value = this.#environment[name]?.trim();
		return value === "" ? undefined : value;
	}

	integer(name: string, fallback: number, least: number, most: number): number {
		const text = this.text(name);
		if (text === undefined) return fallback;
		const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
		if (value >= least && value <= most) return value;
		this.problem(name, `must be a whole number from ${least} to ${most}, not "${text}".`);
		return fallback;
	}

	choice<Value extends string>(name: string, values: readonly Value[], fallback: Value): Value {
		const text = this.text(name);
		if (text === undefined) return fallback;
		const value = values.find((known) => known === text);
		if (value === undefined) this.problem(name, `must be one of ${values.join(", ")}, not "${text}".`);
		return value ?? fallback;
	}
}

function readDatabase(reader: Reader): DatabaseSetting {
	const text = reader.text("DATABASE_URL") ?? "sqlite:data/ringback.db";
	if (/^postgres(ql)?:\/\//.test(text)) {
		if (URL.canParse(text)) return { kind: "postgres", url: text };
		reader.problem(
			"DATABASE_URL",
			"is not a valid PostgreSQL URL: postgres://user:password@host:5432/database.",
		);
	} else if (text === "sqlite::memory:") {
		reader.problem("DATABASE_URL", "must name a file: a database in memory would forget every conversion.");
	} else if (/^sqlite:./.test(text)) {
		return { kind: "sqlite", path: text.slice("sqlite:".length) };
	} else {
		reader.problem("DATABASE_URL", "must be sqlite:PATH or postgres://user:password@host:5432/database.");
	}
	return { kind: "sqlite", path: "data/ringback.db" };
}

function readPublicUrl(reader: Reader): string | null {
	const text = reader.text("PUBLIC_URL");
	if (text === undefined) return null;
	const url = URL.canParse(text) ? new URL(text) : undefined;
	// Every link of the pages begins at the root: below a path they would all lead nowhere.
	if (url !== undefined && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) {
		return url.origin;
	}
	reader.problem(
		"PUBLIC_URL",
		`must be the address people open, such as https://ringback.example, without a path, not "${text}". Give the service a host name or a port of its own.`,
	);
	return null;
}

function readSecretKey(reader: Reader, database: DatabaseSetting): Uint8Array | null {
	const text = reader.text("RINGBACK_SECRET_KEY");
	if (text === undefined) {
		if (database.kind === "postgres") {
			reader.problem(
				"RINGBACK_SECRET_KEY",
				"is required with PostgreSQL, the same for every process. Make one with: openssl rand -hex 32",
			);
		}
		return null;
	}
	if (/^[0-9a-fA-F]+$/.test(text) && text.length === SEALING_KEY_BYTES * 2) return Buffer.from(text, "hex");
	reader.problem(
		"RINGBACK_SECRET_KEY",
		"must be 64 hex digits (32 bytes). Make one with: openssl rand -hex 32",
	);
	return null;
}

function readBrand(reader: Reader): string {
	const text = reader.text("RINGBACK_BRAND") ?? "Service";
	// It becomes part of header names: RFC 9110 tokens, without the odd ones.
	if (/^[A-Za-z][A-Za-z0-9-]{0,30}$/.test(text)) return text;
	reader.problem(
		"RINGBACK_BRAND",
		"must be 1 to 31 letters, digits or hyphens and start with a letter, such as Acme.",
	);
	return "Service";
}

function readRanges(reader: Reader, name: string): AddressRange[] {
	const ranges: AddressRange[] = [];
	for (const text of readList(reader, name) ?? []) {
		const range = parseRange(text);
		if (range !== undefined) ranges.push(range);
		else reader.problem(name, `has "${text}", which is no CIDR range such as 127.0.0.0/8.`);
	}
	return ranges;
}

function readList(reader: Reader, name: string): string[] | null {
	const text = reader.text(name);
	if (text === undefined) return null;
	return text.split(",").flatMap((part) => (part.trim() === "" ? [] : [part.trim()]));
}

function readTrustedCa(reader: Reader): string | null {
	const path = reader.text("RINGBACK_TRUSTED_CA");
	if (path === undefined) return null;
	let pem: string;
	try {
		pem = readFileSync(path, "utf8");
	} catch {
		reader.problem("RINGBACK_TRUSTED_CA", `names ${path}, which cannot be read.`);
		return null;
	}
	try {
		// TLS passes over a damaged certificate in silence; every callback to that shop would then fail.
		new X509Certificate(pem);
		return pem;
	} catch {
		reader.problem("RINGBACK_TRUSTED_CA", `names ${path}, which holds no PEM certificate.`);
		return null;
	}
}

function readDnsServers(reader: Reader): string[] | null {
	const servers = readList(reader, "RINGBACK_DNS_SERVERS");
	if (servers?.length === 0) reader.problem("RINGBACK_DNS_SERVERS", "lists no name server.");
	for (const text of servers ?? []) {
		if (isNameServer(text)) continue;
		reader.problem(
			"RINGBACK_DNS_SERVERS",
			`has "${text}", which is no address such as 192.0.2.53 or [2001:db8::53]:5353.`,
		);
	}
	return servers;
}

function isNameServer(text: string): boolean {
	if (isIP(text) !== 0) return true;
	const [, bracketed, plain, port] = /^(?:\[(.+)\]|([\d.]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
	const isAddress = bracketed === undefined ? isIPv4(plain ?? "") : isIPv6(bracketed);
	return isAddress && (port === undefined || (Number(port) >= 1 && Number(port) <= 65_535));
}

function readSmtpUrl(reader: Reader): string | null {
	const text = reader.text("SMTP_URL");
	if (text === undefined) return null;
	if (URL.canParse(text) && /^smtps?:$/.test(new URL(text).protocol) && new URL(text).hostname !== "")
		return text;
	// The value is not repeated: it holds a password.
	reader.problem(
		"SMTP_URL",
		"must look like smtp://user:password@mail.example:587 (smtps:// for TLS from the start).",
	);
	return null;
}

function readMailFrom(reader: Reader, smtpUrl: string | null): string | null {
	const text = reader.text("MAIL_FROM");
	if (text !== undefined && !/^[^\r\n]*[^\s@]+@[^\s@]+$/.test(text.replace(/>$/, ""))) {
		reader.problem(
			"MAIL_FROM",
			`must be an address such as Ringback <ringback@network.example>, not "${text}".`,
		);
	}
	if (text === undefined && smtpUrl !== null) {
		reader.problem("MAIL_FROM", "is needed with SMTP_URL: the address that notices come from.");
	}
	return text ?? null;
}
