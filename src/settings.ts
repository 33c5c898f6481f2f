// All settings, one row for each setting, with its name, accepted values, default and meaning. config.ts
// reads the environment by these rows, and `npm run docs` generates the tables of docs/operations/settings.md
// from them.

import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { type AddressRange, isAddress, parseRange } from "#core/domain/address.ts";
import { BRAND_FORM, isBrand } from "#core/domain/network.ts";
import { STAFF_AUTHENTICATOR } from "#core/domain/roles.ts";
import { SEALING_KEY_BYTES } from "#core/domain/sealing.ts";
import { isLoopbackHost } from "#core/domain/warning.ts";
import { POSTGRES_DEFAULTS, splitHosts } from "#core/store/postgres/setting.ts";

interface Form<Value> {
	/**
	 * Description of the accepted values as Markdown. It follows the words "must be" in an error message and
	 * "Takes" on the settings page.
	 */
	takes: string;
	/** Parses the value. Returns undefined if the text is not accepted. */
	parse(text: string): Value | undefined;
}

/** Rules for when a setting is required, and for how its value is treated. */
interface Rules {
	/** Description of the default on the settings page, as Markdown. */
	fallbackText: string;
	/**
	 * True if messages must never contain the value. The value may then also be read from the file that
	 * `<name>_FILE` names.
	 */
	isSecret: boolean;
	/**
	 * Condition under which the setting is required in every environment, or null if there is no such
	 * condition. `inProduction` may still require the setting.
	 */
	neededWhen: string | null;
	/**
	 * Reason why the setting is required in production, or the value that it must have there. Null if
	 * production does not require it.
	 */
	inProduction: string | null;
}

export interface Setting<Value> extends Form<Value>, Rules {
	name: string;
	/**
	 * Value to use if the setting is missing or empty. An empty setting counts as missing, because compose
	 * files unset a setting that way.
	 */
	fallback: Value;
	meaning: string;
}

const MAX_PORT = 65_535;
/**
 * Minimum size of the connection pool. A transaction and a query that runs at the same time need a connection
 * each. With a single connection they would wait for each other forever.
 */
const LEAST_POOL = 2;
/** Maximum length of a button's label. A longer label would wrap several times on a phone. */
const MAX_LABEL_LENGTH = 60;
const NO_RANGES: readonly AddressRange[] = [];
const POSTGRES_EXAMPLE = "`postgres://user:password@host:5432/database`";

export interface ListenAddress {
	host: string;
	port: number;
	/**
	 * True if the operator did not choose this address. If another process uses the default address, the
	 * service runs without metrics.
	 */
	isDefault: boolean;
}

/**
 * Default address for metrics. The port is the usual port of metrics exporters. The host is loopback, because the
 * figures are internal.
 */
const METRICS_ADDRESS: ListenAddress = { host: "127.0.0.1", port: 9464, isDefault: true };

export const SETTINGS = {
	environment: row(
		"RINGBACK_ENV",
		oneOf(["development", "production"]),
		"development",
		"Set `production` for real shops: the service then starts only when everything they need is set, and lists what is missing.",
	),
	host: row(
		"HOST",
		anyText("an address of this machine, or `0.0.0.0` for all"),
		"127.0.0.1",
		"The address to listen on.",
	),
	port: row("PORT", wholeNumber(0, MAX_PORT), 8080, "The port to listen on; `0` is any free one."),
	publicUrl: row(
		"PUBLIC_URL",
		{
			takes:
				"the address people open, such as `https://ringback.example`, without a path: give the service a host name or a port of its own",
			parse: parseOrigin,
		},
		null,
		"The start of links in mails, one-time links and problem documents. With `https:` cookies are sent over TLS only.",
		{ fallbackText: "where it listens", inProduction: "the https: address that people open" },
	),
	clickUrl: row(
		"RINGBACK_CLICK_URL",
		{
			takes: "an address with a host name of its own, such as `https://go.network.example`, without a path",
			parse: parseOrigin,
		},
		null,
		"The start of partners' links. On its host name only `/c/<code>` is answered. See [A host for partners' links](proxy.md#a-host-for-partners-links).",
		{ fallbackText: "`PUBLIC_URL`" },
	),
	metricsAddress: row(
		"RINGBACK_METRICS_ADDRESS",
		{
			takes: "an address and a port, such as `127.0.0.1:9464` or `[::1]:9464`, or `off`",
			parse: parseListenAddress,
		},
		METRICS_ADDRESS,
		"Serves `/metrics` and `/health`. Keep it private: the numbers tell how much is sold. If the default port is taken, the service warns and runs without metrics; if an address you set is taken, it does not start.",
		{ fallbackText: "`127.0.0.1:9464`" },
	),
	databaseUrl: row(
		"DATABASE_URL",
		{ takes: `\`sqlite:PATH\`, which names a file, or ${POSTGRES_EXAMPLE}`, parse: parseDatabaseUrl },
		"sqlite:data/ringback.db",
		"The database: a SQLite file, or PostgreSQL 14 or later. Several servers of which one accepts writes are named as `postgres://user:password@one,two/database?target_session_attrs=read-write`; see [Failover](failover.md).",
		{
			isSecret: true,
			inProduction: `${POSTGRES_EXAMPLE}, or \`sqlite:PATH\` where a file on this machine is meant`,
		},
	),
	databaseDirectUrl: row(
		"RINGBACK_DATABASE_DIRECT_URL",
		{
			takes: `the address of the PostgreSQL server itself, ${POSTGRES_EXAMPLE}, where \`DATABASE_URL\` is a pooler's`,
			parse: (text) => (isPostgresUrl(text) ? text : undefined),
		},
		null,
		"Used for `LISTEN` and migrations. See [Behind PgBouncer](postgresql.md#behind-pgbouncer).",
		{ isSecret: true, neededWhen: "behind a pooler in transaction mode (PgBouncer)" },
	),
	databasePool: row(
		"RINGBACK_DATABASE_POOL",
		wholeNumber(LEAST_POOL, 500),
		POSTGRES_DEFAULTS.poolSize,
		"Connections of one process to PostgreSQL, besides the one that listens.",
	),
	migrate: row(
		"RINGBACK_MIGRATE",
		oneOf(["auto", "check"]),
		"auto",
		"`auto`: a process updates the schema when it starts. `check`: it refuses to start on an old schema; only `ringback migrate` changes it.",
	),
	secretKey: row(
		"RINGBACK_SECRET_KEY",
		{ takes: "64 hex digits (32 bytes), which `openssl rand -hex 32` makes", parse: parseKey },
		null,
		"Seals the signing secrets at rest. On SQLite it is kept beside the file (`PATH.key`, mode 600); on PostgreSQL every process has the same.",
		{ isSecret: true, fallbackText: "made at first start", neededWhen: "with PostgreSQL" },
	),
	formerSecretKey: row(
		"RINGBACK_FORMER_SECRET_KEY",
		{ takes: "the key that `RINGBACK_SECRET_KEY` was before", parse: parseKey },
		null,
		"Opens what the former key sealed, until `ringback rekey` is done. See [The sealing key](sealing-key.md).",
		{ isSecret: true },
	),
	brand: row(
		"RINGBACK_BRAND",
		{ takes: BRAND_FORM, parse: (text) => (isBrand(text) ? text : undefined) },
		null,
		"The brand in header names: `Acme` gives `X-Acme-…`. It overrides the brand that staff choose. Do not change it once a shop has an API key, because every receiver would refuse callbacks.",
		{ fallbackText: "chosen in the set-up, else `Service`" },
	),
	trustedProxies: row(
		"RINGBACK_TRUSTED_PROXIES",
		listOf("addresses or CIDR ranges such as `127.0.0.0/8`", parseRange),
		NO_RANGES,
		"The reverse proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed. See [Behind a proxy](proxy.md).",
		{ neededWhen: "behind a reverse proxy" },
	),
	allowedPrivateRanges: row(
		"RINGBACK_ALLOWED_PRIVATE_RANGES",
		listOf("addresses or CIDR ranges such as `127.0.0.0/8` and `::1`", parseRange),
		NO_RANGES,
		"**Development only, refused in production:** private addresses that callbacks may reach. `127.0.0.0/8,::1` allows shops on this machine, also as `localhost`. Every page and the log show that it is on.",
	),
	trustedCa: row(
		"RINGBACK_TRUSTED_CA",
		{
			takes: "the path of a PEM file with a certificate, which this account can read",
			parse: readCertificate,
		},
		null,
		"A certificate trusted for callbacks and for the identity provider, besides the authorities of Mozilla that Node contains. The certificates of the machine (`/etc/ssl/certs`) are not used.",
	),
	dnsServers: row(
		"RINGBACK_DNS_SERVERS",
		listOf("addresses of name servers such as `192.0.2.53` or `[2001:db8::53]:5353`", parseNameServer, 1),
		null,
		"The name servers for the hosts of Postback URLs.",
		{ fallbackText: "the system's" },
	),
	staffAuthenticator: row(
		"RINGBACK_STAFF_AUTHENTICATOR",
		oneOf(STAFF_AUTHENTICATOR),
		"optional",
		"`required`: staff must set up an authenticator before they can open anything else, and a new one when they turn it off.",
	),
	oidcIssuer: row(
		"RINGBACK_OIDC_ISSUER",
		{
			takes: "the `https:` address of an OpenID Connect provider, such as `https://login.network.example`",
			parse: parseIssuer,
		},
		null,
		"The identity provider with which staff can sign in. See [Sign in with the company's account](company-sign-in.md).",
	),
	oidcClientId: row(
		"RINGBACK_OIDC_CLIENT_ID",
		anyText("the ID that the provider gave to this service"),
		null,
		"The service's name at the provider.",
		{ neededWhen: "with `RINGBACK_OIDC_ISSUER`" },
	),
	oidcClientSecret: row(
		"RINGBACK_OIDC_CLIENT_SECRET",
		anyText("the secret that the provider gave to this service"),
		null,
		"The service's password at the provider.",
		{ isSecret: true, neededWhen: "with `RINGBACK_OIDC_ISSUER`" },
	),
	oidcLabel: row(
		"RINGBACK_OIDC_LABEL",
		{
			takes: `a text of at most ${MAX_LABEL_LENGTH} characters`,
			parse: (text) => (text.length <= MAX_LABEL_LENGTH ? text : undefined),
		},
		"Sign in with the company account",
		"The label of the button on the sign-in page.",
	),
	oidcFor: row(
		"RINGBACK_OIDC_FOR",
		oneOf(["staff", "everyone"]),
		"staff",
		"Who can sign in with the provider. `everyone`: shops' and partners' people can, too. Whoever administers the provider can then act as any of them, and so approve sales, which staff cannot.",
	),
	oidcStaff: row(
		"RINGBACK_OIDC_STAFF",
		oneOf(["optional", "required"]),
		"optional",
		"`required`: staff sign in with the provider, and their passwords are refused. Shops' and partners' people can use theirs.",
	),
	smtpUrl: row(
		"SMTP_URL",
		{
			takes: "an address like `smtp://user:password@mail.example:587` (`smtps://` for TLS from the start)",
			parse: parseSmtpUrl,
		},
		null,
		"The mail server. Without it no mail is sent. Mails wait in the database until the server accepts them: links while they work, changes for two days, notices for 30 days.",
		{
			isSecret: true,
			inProduction:
				"without mail owners do not hear that callbacks fail, or that a password or a key was changed",
		},
	),
	mailFrom: row(
		"MAIL_FROM",
		{
			takes: "an address such as `Ringback <ringback@network.example>`",
			parse: (text) => (/^[^\r\n]*[^\s@]+@[^\s@]+$/.test(text.replace(/>$/, "")) ? text : undefined),
		},
		null,
		"The sender of all mails, unless staff enter another name or address under Network.",
		{ neededWhen: "with `SMTP_URL`", inProduction: "the address that mails come from" },
	),
	role: row(
		"RINGBACK_ROLE",
		oneOf(["all", "web", "worker"]),
		"all",
		"`web` answers requests, `worker` sends callbacks and does the periodic work (its public port has only `/healthz` and `/readyz`), `all` does both.",
	),
	maxInFlightPerProgramme: row(
		"RINGBACK_MAX_IN_FLIGHT_PER_PROGRAMME",
		wholeNumber(1, 1_000),
		8,
		"Requests at once to one programme's shop, from all processes together. Use the same value everywhere.",
	),
	maxInFlight: row(
		"RINGBACK_MAX_IN_FLIGHT",
		wholeNumber(1, 10_000),
		512,
		"Requests to shops at once from one process.",
	),
	drainSeconds: row(
		"RINGBACK_DRAIN_SECONDS",
		wholeNumber(0, 300),
		null,
		"How long the service still answers after SIGTERM. See [What happens when it stops](upgrade.md#what-happens-when-it-stops).",
		{ fallbackText: "`5` in production, else `0`" },
	),
	retentionDays: row(
		"RINGBACK_RETENTION_DAYS",
		wholeNumber(7, 36_500),
		180,
		"Finished callbacks and other old records are removed after this. See [What is kept](limits.md#what-is-kept-for-how-long).",
	),
	backupDays: row(
		"RINGBACK_BACKUP_DAYS",
		{
			takes: "a whole number from 1 to 90, or `off`",
			parse: (text) => (text === "off" ? null : wholeNumber(1, 90).parse(text)),
		},
		3,
		"The service warns when the last backup is older than this, or when there has been none since the start. See [Backups by other programs](backups.md#backups-by-other-programs).",
	),
	statementYears: row(
		"RINGBACK_STATEMENT_YEARS",
		wholeNumber(0, 100),
		10,
		"Years for which the issued statements of an erased partner keep names, addresses and texts, after the year of the issue. Set what the law asks of you. See [Personal data](personal-data.md#what-stays-and-why).",
	),
	accessLog: row(
		"RINGBACK_ACCESS_LOG",
		oneOf(["on", "off"]),
		"off",
		"`on`: logs each request to the public port. See [Logs](watching.md#logs).",
	),
	logLevel: row(
		"LOG_LEVEL",
		oneOf(["info", "warn", "error", "silent"]),
		"info",
		"The least severe lines that are logged.",
	),
} as const;

/** Settings that only the shop's command uses. The service ignores them without a warning. */
export const SHOP_SETTINGS = [
	"RINGBACK_URL",
	"RINGBACK_API_KEY",
	"RINGBACK_API_KEY_FILE",
	"RINGBACK_SIGNING_SECRET",
	"RINGBACK_SIGNING_SECRET_FILE",
];

function row<Value, Fallback extends Value | null>(
	name: string,
	form: Form<Value>,
	fallback: Fallback,
	meaning: string,
	rules: Partial<Rules> = {},
): Setting<Value | Fallback> {
	const isPlain = typeof fallback === "string" || typeof fallback === "number";
	const fallbackText = isPlain ? `\`${fallback}\`` : "none";
	const usual: Rules = { fallbackText, isSecret: false, neededWhen: null, inProduction: null };
	return { name, ...form, fallback, meaning, ...usual, ...rules };
}

function anyText(takes: string): Form<string> {
	return { takes, parse: (text) => text };
}

function wholeNumber(least: number, most: number): Form<number> {
	return {
		takes: `a whole number from ${least} to ${most}`,
		parse(text) {
			const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
			return value >= least && value <= most ? value : undefined;
		},
	};
}

function oneOf<const Value extends string>(values: readonly Value[]): Form<Value> {
	return {
		takes: `one of ${values.map((value) => `\`${value}\``).join(", ")}`,
		parse: (text) => values.find((value) => value === text),
	};
}

function listOf<Part>(
	takes: string,
	parse: (part: string) => Part | undefined,
	least = 0,
): Form<readonly Part[]> {
	return {
		takes: `${takes}, separated by commas`,
		parse(text) {
			const texts = text.split(",").flatMap((part) => (part.trim() === "" ? [] : [part.trim()]));
			const parts = texts.map(parse).filter((part) => part !== undefined);
			return parts.length >= least && parts.length === texts.length ? parts : undefined;
		},
	};
}

/** Parses a base URL. A URL with a path is refused, because all links on pages begin at the root of the host. */
function parseOrigin(text: string): string | undefined {
	const url = URL.canParse(text) ? new URL(text) : undefined;
	const isOrigin = url !== undefined && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`;
	return isOrigin ? url.origin : undefined;
}

/**
 * Parses the address of an identity provider. Plain HTTP is accepted only for a provider on this machine. Anywhere
 * else, a man in the middle could sign in as anybody.
 */
function parseIssuer(text: string): string | undefined {
	const url = URL.canParse(text) ? new URL(text) : undefined;
	if (url === undefined || /[?#]/.test(text) || url.username !== "" || url.password !== "") return undefined;
	const isAccepted = url.protocol === "https:" || (url.protocol === "http:" && isLoopbackHost(url.host));
	return isAccepted ? text : undefined;
}

function parseListenAddress(text: string): ListenAddress | null | undefined {
	if (text === "off") return null;
	const [, bracketed, name, port] = /^(?:\[([\da-f:.]+)\]|([a-z\d.-]+)):(\d{1,5})$/i.exec(text) ?? [];
	const host = bracketed ?? name;
	if (host === undefined || Number(port) > MAX_PORT) return undefined;
	return { host, port: Number(port), isDefault: false };
}

/**
 * Parses DATABASE_URL. A database in memory is refused, because it would lose every conversion at the end of
 * the process.
 */
function parseDatabaseUrl(text: string): string | undefined {
	const isFile = /^sqlite:./.test(text) && text !== "sqlite::memory:";
	return isFile || isPostgresUrl(text) ? text : undefined;
}

export function isPostgresUrl(text: string): boolean {
	return splitHosts(text) !== undefined;
}

function parseKey(text: string): Uint8Array | undefined {
	const isKey = /^[0-9a-f]+$/i.test(text) && text.length === SEALING_KEY_BYTES * 2;
	return isKey ? Buffer.from(text, "hex") : undefined;
}

/**
 * Reads a certificate and checks it. TLS would ignore a damaged certificate silently, and every callback that
 * needs the certificate would fail.
 */
function readCertificate(path: string): string | undefined {
	try {
		const pem = readFileSync(path, "utf8");
		new X509Certificate(pem);
		return pem;
	} catch {
		// The file cannot be read, or is not a certificate. The error message names both possibilities.
		return undefined;
	}
}

function parseNameServer(text: string): string | undefined {
	// Only an IPv6 address has brackets.
	const [, bracketed, plain = text, port = "53"] =
		/^(?:\[([^\]]*:[^\]]*)\]|([\d.]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
	const isServer = isAddress(bracketed ?? plain) && Number(port) >= 1 && Number(port) <= MAX_PORT;
	return isServer ? text : undefined;
}

function parseSmtpUrl(text: string): string | undefined {
	const url = URL.canParse(text) ? new URL(text) : undefined;
	return url !== undefined && /^smtps?:$/.test(url.protocol) && url.hostname !== "" ? text : undefined;
}
