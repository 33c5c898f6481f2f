// The values of settings: what each may be, and the sentence about one that is wrong.

import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { SettingReader } from "./config-reader.ts";
import { type AddressRange, isAddress, parseRange } from "./domain/address.ts";
import { BRAND_RULE, isBrand } from "./domain/network.ts";
import { SEALING_KEY_BYTES } from "./domain/sealing.ts";
import type { DatabaseSetting } from "./store/open.ts";

export const MAX_PORT = 65_535;

export function readPublicUrl(reader: SettingReader): string | null {
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

/** Where the operator's own numbers are served. */
export interface ListenAddress {
	host: string;
	port: number;
	/** Nobody asked for this one: if another process has it, the service does without. */
	isDefault: boolean;
}

/** The port that exporters of metrics commonly take; loopback, because the numbers are nobody else's business. */
const DEFAULT_METRICS_ADDRESS: ListenAddress = { host: "127.0.0.1", port: 9464, isDefault: true };

export function readMetricsAddress(reader: SettingReader): ListenAddress | null {
	const text = reader.text("RINGBACK_METRICS_ADDRESS");
	if (text === undefined) return DEFAULT_METRICS_ADDRESS;
	if (text === "off") return null;
	const [, bracketed, name, port] = /^(?:\[([\da-f:.]+)\]|([a-z\d.-]+)):(\d{1,5})$/i.exec(text) ?? [];
	const host = bracketed ?? name;
	if (host !== undefined && Number(port) <= MAX_PORT) {
		return { host, port: Number(port), isDefault: false };
	}
	reader.problem(
		"RINGBACK_METRICS_ADDRESS",
		`must be an address and a port, such as 127.0.0.1:9464 or [::1]:9464, or off, not "${text}".`,
	);
	return null;
}

export function readSecretKey(reader: SettingReader, database: DatabaseSetting): Uint8Array | null {
	const text = reader.secret("RINGBACK_SECRET_KEY");
	if (text === undefined) {
		if (database.kind === "postgres" && !reader.hasSecret("RINGBACK_SECRET_KEY")) {
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

export function readBrand(reader: SettingReader): string | null {
	const text = reader.text("RINGBACK_BRAND");
	if (text === undefined || isBrand(text)) return text ?? null;
	reader.problem("RINGBACK_BRAND", BRAND_RULE);
	return null;
}

export function readRanges(reader: SettingReader, name: string): AddressRange[] {
	const ranges: AddressRange[] = [];
	for (const text of readList(reader, name) ?? []) {
		const range = parseRange(text);
		if (range !== undefined) ranges.push(range);
		else reader.problem(name, `has "${text}", which is no CIDR range such as 127.0.0.0/8.`);
	}
	return ranges;
}

function readList(reader: SettingReader, name: string): string[] | null {
	const text = reader.text(name);
	if (text === undefined) return null;
	return text.split(",").flatMap((part) => (part.trim() === "" ? [] : [part.trim()]));
}

export function readTrustedCa(reader: SettingReader): string | null {
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

export function readDnsServers(reader: SettingReader): string[] | null {
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
	if (isAddress(text)) return true;
	// Only an IPv6 address has brackets around it.
	const [, bracketed, plain = "", port] =
		/^(?:\[([^\]]*:[^\]]*)\]|([\d.]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
	return (
		isAddress(bracketed ?? plain) && (port === undefined || (Number(port) >= 1 && Number(port) <= MAX_PORT))
	);
}

export function readSmtpUrl(reader: SettingReader): string | null {
	const text = reader.secret("SMTP_URL");
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

export function readMailFrom(reader: SettingReader, smtpUrl: string | null): string | null {
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

const MAX_DAYS = 36_500;
const CONVERSION_DAYS = "RINGBACK_CONVERSION_RETENTION_DAYS";
const AUDIT_DAYS = "RINGBACK_AUDIT_RETENTION_DAYS";
/** People are told of what is in the audit log by mail, for days. */
const LEAST_AUDIT_DAYS = 30;

/** All null: nothing is ever archived. With a folder there is at least one number of days. */
export interface ArchivingSetting {
	folder: string | null;
	conversionDays: number | null;
	auditDays: number | null;
}

/** `retentionDays` is how long callbacks are kept: those of a conversion go before it. */
export function readArchiving(reader: SettingReader, retentionDays: number): ArchivingSetting {
	const conversionDays = reader.optionalInteger(CONVERSION_DAYS, 7, MAX_DAYS);
	const auditDays = reader.optionalInteger(AUDIT_DAYS, LEAST_AUDIT_DAYS, MAX_DAYS);
	const folder = reader.text("RINGBACK_ARCHIVE_FOLDER") ?? null;
	if (conversionDays !== null && conversionDays < retentionDays) {
		reader.problem(
			CONVERSION_DAYS,
			`must not be less than RINGBACK_RETENTION_DAYS, which is ${retentionDays}.`,
		);
	}
	const isSet = conversionDays !== null || auditDays !== null;
	if (isSet && folder === null) {
		reader.problem(
			"RINGBACK_ARCHIVE_FOLDER",
			`is needed with ${CONVERSION_DAYS} or ${AUDIT_DAYS}: what they remove is written there first.`,
		);
	}
	if (!isSet && folder !== null) {
		reader.problem("RINGBACK_ARCHIVE_FOLDER", `has no use without ${CONVERSION_DAYS} or ${AUDIT_DAYS}.`);
	}
	return { folder, conversionDays, auditDays };
}
