// Every setting: its default, what it accepts, and the message about a wrong value.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { POSTGRES_DEFAULTS } from "#core/store/postgres/setting.ts";
import { makeCertificates } from "../demo/certificate.ts";
import { ALL_SETTINGS, type Config, type Environment, readConfig } from "./config.ts";

const KEY = "0123456789abcdef".repeat(4);
const FORMER_KEY = "ab".repeat(32);
const PASSWORD = "hunter2-do-not-print";
const POSTGRES = "postgres://ringback:secret@db.example:5432/ringback";
const DIRECT = "postgres://ringback:secret@server.example:5432/ringback";

const PROVIDER = {
	RINGBACK_OIDC_ISSUER: "https://login.network.example/realms/network",
	RINGBACK_OIDC_CLIENT_ID: "ringback",
	RINGBACK_OIDC_CLIENT_SECRET: PASSWORD,
};

test("without any setting the service runs on this machine alone, on a SQLite file", () => {
	deepEqual(configOf({}), {
		environment: "development",
		host: "127.0.0.1",
		port: 8080,
		publicUrl: null,
		clickUrl: null,
		metricsAddress: { host: "127.0.0.1", port: 9464, isDefault: true },
		database: { kind: "sqlite", path: "data/ringback.db" },
		migrate: "auto",
		secretKey: null,
		formerSecretKey: null,
		brand: null,
		allowedPrivateRanges: [],
		trustedProxies: [],
		staffAuthenticator: "optional",
		oidcIssuer: null,
		oidcClientId: null,
		oidcClientSecret: null,
		oidcLabel: "Sign in with the company account",
		oidcFor: "staff",
		oidcStaff: "optional",
		trustedCa: null,
		dnsServers: null,
		smtpUrl: null,
		mailFrom: null,
		maxInFlightPerProgramme: 8,
		maxInFlight: 512,
		backupDays: 3,
		retentionDays: 180,
		statementYears: 10,
		role: "all",
		accessLog: false,
		drainMs: 0,
		logLevel: "info",
		serviceManager: null,
		givenSettings: [],
	} satisfies Config);
});

const PRODUCTION: Environment = {
	RINGBACK_ENV: "production",
	DATABASE_URL: "sqlite:/var/lib/ringback/ringback.db",
	PUBLIC_URL: "https://network.example",
	SMTP_URL: "smtps://u:p@mail.example:465",
	MAIL_FROM: "rb@network.example",
};

describe("RINGBACK_ENV=production", () => {
	test("accepts the settings of a real installation, and drains for five seconds by default", () => {
		const { environment, drainMs } = configOf(PRODUCTION);
		deepEqual([environment, drainMs], ["production", 5_000]);
		equal(configOf({ ...PRODUCTION, RINGBACK_DRAIN_SECONDS: "0" }).drainMs, 0);
	});

	test("lists everything that is missing at once", () => {
		const problems = problemsOf({ RINGBACK_ENV: "production" });
		deepEqual(namesIn(problems), ["DATABASE_URL", "MAIL_FROM", "PUBLIC_URL", "SMTP_URL"]);
		for (const problem of problems) match(problem, /^\w+ is required with RINGBACK_ENV=production: /);
	});

	const cases: readonly [change: Environment, problem: RegExp][] = [
		[
			{ DATABASE_URL: undefined },
			/^DATABASE_URL is required .*: postgres:\/\/.*, or sqlite:PATH where a file on this machine is meant\.$/,
		],
		[{ DATABASE_URL: "mysql://db.example/x" }, /^DATABASE_URL must be sqlite:PATH/],
		[{ PUBLIC_URL: "http://network.example" }, /^PUBLIC_URL must begin with https: .*a proxy with TLS/],
		[{ PUBLIC_URL: "network.example" }, /^PUBLIC_URL must be the address people open/],
		[{ RINGBACK_CLICK_URL: "http://go.example" }, /^RINGBACK_CLICK_URL must begin with https: with/],
		[{ PUBLIC_URL: undefined, RINGBACK_CLICK_URL: "https://go.example" }, /^PUBLIC_URL is required /],
		[{ SMTP_URL: undefined }, /^SMTP_URL is required /],
		[{ SMTP_URL: "mail.example" }, /^SMTP_URL must be an address like smtp:/],
		[{ MAIL_FROM: undefined }, /^MAIL_FROM is required /],
		[
			{ RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8" },
			/^RINGBACK_ALLOWED_PRIVATE_RANGES must not be set with RINGBACK_ENV=production/,
		],
		[
			{ ...PROVIDER, RINGBACK_OIDC_ISSUER: "http://127.0.0.1:3000" },
			/^RINGBACK_OIDC_ISSUER must begin with https: with RINGBACK_ENV=production\.$/,
		],
	];
	for (const [change, expected] of cases) {
		test(`reports once what is wrong with ${JSON.stringify(change, (_, value) => value ?? null)}`, () =>
			matchOne(problemsOf({ ...PRODUCTION, ...change }), expected));
	}
});

describe("a secret may be in a file", () => {
	const SECRETS = {
		DATABASE_URL: POSTGRES,
		RINGBACK_DATABASE_DIRECT_URL: DIRECT,
		RINGBACK_SECRET_KEY: KEY,
		RINGBACK_FORMER_SECRET_KEY: FORMER_KEY,
		SMTP_URL: `smtp://user:${PASSWORD}@mail.example`,
		RINGBACK_OIDC_CLIENT_SECRET: "another-secret",
	} as const;
	const ALL: Environment = { ...PROVIDER, ...SECRETS, MAIL_FROM: "rb@network.example" };

	test("these are the secrets", () => {
		const secrets = ALL_SETTINGS.filter(({ isSecret }) => isSecret).map(({ name }) => name);
		deepEqual(secrets.toSorted(), Object.keys(SECRETS).toSorted());
	});

	for (const [name, value] of Object.entries(SECRETS)) {
		const fileName = `${name}_FILE`;

		test(`${fileName} has the same effect as ${name}, with or without a line break at its end`, (t) => {
			for (const end of ["", "\n", "\r\n"]) {
				const path = writeFile(t, `${value}${end}`);
				deepEqual(configOf({ ...ALL, [name]: undefined, [fileName]: path }), configOf(ALL));
			}
		});

		test(`an unusable ${fileName} is reported once, without repeating its value`, (t) => {
			const cases: readonly [path: string, problem: RegExp][] = [
				["/nowhere/secret", / names no file that can be read \(ENOENT\)\. .*that this account can read/],
				[tmpdir(), / names no file that can be read \(EISDIR\)/],
				[writeFile(t, "\n"), / names a file that is empty\. /],
				[value, / names no file/],
			];
			for (const [path, expected] of cases) {
				const problems = problemsOf({ ...ALL, [name]: undefined, [fileName]: path });
				matchOne(problems, expected);
				ok(problems[0]?.startsWith(`${fileName} `));
				equal(problems.join().includes(path), false);
			}
			const both = problemsOf({ ...ALL, [fileName]: writeFile(t, value) });
			deepEqual(both, [`${fileName} and ${name} are both set. Keep one of them.`]);
		});
	}
});

test("variables of other programs, of our test runs and of the shop's command are ignored", () => {
	const shops = {
		RINGBACK_URL: "x",
		RINGBACK_API_KEY: "rbk_1",
		RINGBACK_API_KEY_FILE: "/run/secrets/key",
		RINGBACK_SIGNING_SECRET: PASSWORD,
		RINGBACK_SIGNING_SECRET_FILE: "/run/secrets/secret",
	};
	const others = { PGHOST: "db.example", PGDATABASE: "x", TEST_DATABASE_URL: POSTGRES, MYSQL_URL: "x" };
	const more = { RINGBACK_TEST_POSTGRES_URL: "x", RINGBACKISH: "x", PATH: "/bin" };
	deepEqual(configOf({ ...shops, ...others, ...more }), configOf({}));
});

test("systemd is recognized by the variables that it sets", () => {
	const socket = "/run/systemd/notify";
	deepEqual(configOf({ NOTIFY_SOCKET: socket }).serviceManager, { socket, watchdogMs: null });
	deepEqual(configOf({ NOTIFY_SOCKET: socket, WATCHDOG_USEC: "30000000" }).serviceManager, {
		socket,
		watchdogMs: 30_000,
	});
});

describe("a valid value is parsed as it is meant", () => {
	const withPostgres = { DATABASE_URL: POSTGRES, RINGBACK_SECRET_KEY: KEY };
	const cases: readonly [environment: Environment, expected: Partial<Config>][] = [
		[{ HOST: "0.0.0.0" }, { host: "0.0.0.0", publicUrl: null }],
		[
			{ HOST: "::1", PORT: " 81 " },
			{ host: "::1", port: 81 },
		],
		[{ PORT: "0" }, { port: 0 }],
		[{ PORT: "65535" }, { port: 65_535 }],
		[{ PUBLIC_URL: "https://rb.example/" }, { publicUrl: "https://rb.example" }],
		[
			{ PUBLIC_URL: "https://rb.example", RINGBACK_CLICK_URL: "https://GO.rb.example/" },
			{ clickUrl: "https://go.rb.example" },
		],
		[
			{ RINGBACK_METRICS_ADDRESS: "10.0.0.7:0" },
			{ metricsAddress: { host: "10.0.0.7", port: 0, isDefault: false } },
		],
		[
			{ RINGBACK_METRICS_ADDRESS: "[::1]:9464" },
			{ metricsAddress: { host: "::1", port: 9464, isDefault: false } },
		],
		[{ RINGBACK_METRICS_ADDRESS: "off" }, { metricsAddress: null }],
		[{ DATABASE_URL: "sqlite:/x/y.db" }, { database: { kind: "sqlite", path: "/x/y.db" } }],
		[
			withPostgres,
			{
				database: { kind: "postgres", url: POSTGRES, ...POSTGRES_DEFAULTS },
				secretKey: Buffer.from(KEY, "hex"),
			},
		],
		[
			{ ...withPostgres, RINGBACK_DATABASE_DIRECT_URL: DIRECT, RINGBACK_DATABASE_POOL: "40" },
			{
				database: {
					kind: "postgres",
					url: POSTGRES,
					directUrl: DIRECT,
					poolSize: 40,
					preparesStatements: false,
				},
			},
		],
		[{ RINGBACK_SECRET_KEY: KEY.toUpperCase() }, { secretKey: Buffer.from(KEY, "hex") }],
		[{ RINGBACK_FORMER_SECRET_KEY: KEY }, { formerSecretKey: Buffer.from(KEY, "hex") }],
		[{ RINGBACK_BRAND: "Acme-2" }, { brand: "Acme-2" }],
		[
			{ RINGBACK_DNS_SERVERS: "192.0.2.1, 192.0.2.2:5353 ,2001:db8::1,[2001:db8::2]:53" },
			{ dnsServers: ["192.0.2.1", "192.0.2.2:5353", "2001:db8::1", "[2001:db8::2]:53"] },
		],
		[
			{ SMTP_URL: "smtps://u:p@mail.example:465", MAIL_FROM: "Ringback <rb@network.example>" },
			{ smtpUrl: "smtps://u:p@mail.example:465", mailFrom: "Ringback <rb@network.example>" },
		],
		[{ RINGBACK_MAX_IN_FLIGHT_PER_PROGRAMME: "1000" }, { maxInFlightPerProgramme: 1_000 }],
		[{ RINGBACK_MAX_IN_FLIGHT: "1" }, { maxInFlight: 1 }],
		[{ RINGBACK_RETENTION_DAYS: "7" }, { retentionDays: 7 }],
		[{ RINGBACK_BACKUP_DAYS: "off" }, { backupDays: null }],
		[{ RINGBACK_STATEMENT_YEARS: "0" }, { statementYears: 0 }],
		[{ RINGBACK_MIGRATE: "check" }, { migrate: "check" }],
		[{ RINGBACK_DRAIN_SECONDS: "300" }, { drainMs: 300_000 }],
		[{ RINGBACK_ROLE: "worker" }, { role: "worker" }],
		[{ RINGBACK_STAFF_AUTHENTICATOR: "required" }, { staffAuthenticator: "required" }],
		[
			{
				...PROVIDER,
				RINGBACK_OIDC_LABEL: "Sign in with Acme",
				RINGBACK_OIDC_FOR: "everyone",
				RINGBACK_OIDC_STAFF: "required",
			},
			{
				oidcIssuer: PROVIDER.RINGBACK_OIDC_ISSUER,
				oidcClientId: "ringback",
				oidcClientSecret: PASSWORD,
				oidcLabel: "Sign in with Acme",
				oidcFor: "everyone",
				oidcStaff: "required",
			},
		],
		[{ ...PROVIDER, RINGBACK_OIDC_ISSUER: "http://localhost:3000" }, { oidcIssuer: "http://localhost:3000" }],
		[{ RINGBACK_ACCESS_LOG: "on" }, { accessLog: true }],
		[{ LOG_LEVEL: "silent" }, { logLevel: "silent" }],
		// A template may leave only the comma of a list if the variables for its parts are empty.
		[{ RINGBACK_TRUSTED_PROXIES: "," }, { trustedProxies: [] }],
	];
	for (const [environment, expected] of cases) {
		test(Object.keys(environment).join(), () =>
			deepEqual({ ...configOf(environment), ...expected }, configOf(environment)),
		);
	}

	test("ranges of addresses", () => {
		const { allowedPrivateRanges, trustedProxies } = configOf({
			RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8, fd00::/8,",
			RINGBACK_TRUSTED_PROXIES: "127.0.0.1, 10.0.0.0/24",
		});
		deepEqual(
			[...allowedPrivateRanges, ...trustedProxies].map(({ text, prefixBits }) => [text, prefixBits]),
			[
				["127.0.0.0/8", 8],
				["fd00::/8", 8],
				["127.0.0.1", 32],
				["10.0.0.0/24", 24],
			],
		);
	});

	test("a certificate file for RINGBACK_TRUSTED_CA, unless it is empty or damaged", async (t) => {
		const { caPem } = await makeCertificates({ names: ["localhost"] });
		equal(configOf({ RINGBACK_TRUSTED_CA: writeFile(t, caPem) }).trustedCa, caPem);
		for (const text of ["no certificate at all", caPem.replace(/\n.{20}/, "\nAAAA"), ""]) {
			const RINGBACK_TRUSTED_CA = writeFile(t, text);
			matchOne(problemsOf({ RINGBACK_TRUSTED_CA }), /^RINGBACK_TRUSTED_CA must be .* with a certificate, /);
		}
	});
});

describe("a wrong value is one problem that names the setting, what it accepts and what was given", () => {
	/** In `problem`, the word `Name` is replaced by the name of the setting. */
	const cases: readonly [name: string, values: readonly string[], problem: RegExp, beside?: Environment][] = [
		[
			"PORT",
			["65536", "-1", "80.5", "http"],
			/^Name must be a whole number from 0 to 65535, not "[-\w.]+"\.$/,
		],
		[
			"PUBLIC_URL",
			[
				"ringback.example",
				"ftp://ringback.example",
				"https://ringback.example/?a=b",
				"https://a.example/rb",
				"https://a.example//",
				"https://me:pass@a.example",
				"https://ringback.example/#top",
			],
			/^Name must be the address .*https:\/\/ringback\.example, without a path: .*a port of its own, not "/,
		],
		[
			"RINGBACK_CLICK_URL",
			["go.rb.example", "https://go.rb.example/c"],
			/^Name must be an address with a host name of its own, such as .*, without a path, not "/,
			{ PUBLIC_URL: "https://rb.example" },
		],
		[
			"RINGBACK_CLICK_URL",
			["https://rb.example", "https://rb.example:8443"],
			/^Name needs a host name of its own: set PUBLIC_URL .* with another host name\.$/,
			{ PUBLIC_URL: "https://rb.example" },
		],
		["RINGBACK_CLICK_URL", ["https://go.rb.example"], /^Name needs .*: set PUBLIC_URL to the address people/],
		[
			"RINGBACK_METRICS_ADDRESS",
			["9464", "127.0.0.1:65536", "::1:9464", "http://127.0.0.1:9464"],
			/^Name must be an address and a port, such as 127\.0\.0\.1:9464 .*or off, not "/,
		],
		[
			"DATABASE_URL",
			["mysql://db.example/ringback", "sqlite:", "sqlite::memory:", "postgres://[nonsense"],
			/^Name must be sqlite:PATH, which names a file, or postgres:\/\/user:password@host:5432\/database\.$/,
		],
		["DATABASE_URL", [POSTGRES], /^RINGBACK_SECRET_KEY is required with PostgreSQL.*openssl rand -hex 32$/],
		["RINGBACK_DATABASE_POOL", ["1", "501"], /^Name must be a whole number from 2 to 500, not/],
		[
			"RINGBACK_DATABASE_DIRECT_URL",
			["server.example:5432"],
			/^Name must be the address of the PostgreSQL server itself, postgres:/,
		],
		["RINGBACK_DATABASE_DIRECT_URL", [DIRECT], /^Name is set, but DATABASE_URL names no PostgreSQL\.$/],
		[
			"RINGBACK_FORMER_SECRET_KEY",
			[KEY.slice(1), "g".repeat(64)],
			/^Name must be the key that RINGBACK_SECRET_KEY was before\.$/,
		],
		[
			"RINGBACK_FORMER_SECRET_KEY",
			[KEY],
			/^Name is the same key as RINGBACK_SECRET_KEY\. Remove it/,
			{ RINGBACK_SECRET_KEY: KEY },
		],
		["RINGBACK_SECRET_KEY", [KEY.slice(1), "g".repeat(64)], /^Name must be 64 hex digits.*openssl/],
		["RINGBACK_BRAND", ["Two words", "2Brand", "a".repeat(32)], /^Name must be 1 to 31 letters.* a letter,/],
		["RINGBACK_BRAND", ["A\r\nX-Evil: 1"], /^Name must be .*, not "A\\r\\nX-Evil: 1"\.$/],
		["RINGBACK_ALLOWED_PRIVATE_RANGES", ["10.0.0.0/8,everything"], /^Name must be .* CIDR ranges/],
		["RINGBACK_TRUSTED_PROXIES", ["my-proxy"], /^Name must be .* CIDR ranges .*, not "my-proxy"\.$/],
		["RINGBACK_TRUSTED_CA", ["/nowhere/ca.pem"], /^Name must be the path of .*, not "\/nowhere\/ca\.pem"\.$/],
		[
			"RINGBACK_DNS_SERVERS",
			["ns.example", "192.0.2.1,192.0.2.2:99999", "[2001:db8::1", ","],
			/^Name must be addresses of name servers such as 192\.0\.2\.53 /,
		],
		[
			"SMTP_URL",
			["mail.example:587", "https://mail.example", "smtp://"],
			/^Name must be an address like smtp:/,
			{ MAIL_FROM: "a@b.example" },
		],
		["SMTP_URL", ["smtp://mail.example"], /^MAIL_FROM is needed with SMTP_URL/],
		[
			"MAIL_FROM",
			["Ringback", "a@b.example\r\nBcc: c@d.example"],
			/^Name must be an address such as .* not "/,
		],
		["RINGBACK_MAX_IN_FLIGHT_PER_PROGRAMME", ["0"], /^Name must be .* 1 to 1000,/],
		["RINGBACK_MAX_IN_FLIGHT", ["10001"], /^Name must be .* 1 to 10000,/],
		["RINGBACK_BACKUP_DAYS", ["0", "91", "never"], /^Name must be a whole number from 1 to 90, or off, /],
		["RINGBACK_RETENTION_DAYS", ["6"], /^Name must be .* 7 to 36500,/],
		["RINGBACK_STATEMENT_YEARS", ["101"], /^Name must be .* 0 to 100,/],
		["RINGBACK_MIGRATE", ["never"], /^Name must be one of auto, check, not "never"\.$/],
		["RINGBACK_ENV", ["prod"], /^Name must be one of development, production, not "prod"\.$/],
		["RINGBACK_DRAIN_SECONDS", ["301"], /^Name must be .* 0 to 300,/],
		["RINGBACK_ROLE", ["boss"], /^Name must be one of all, web, worker, not "boss"\.$/],
		["RINGBACK_STAFF_AUTHENTICATOR", ["yes"], /^Name must be one of optional, required, not "yes"\.$/],
		[
			"RINGBACK_OIDC_ISSUER",
			[
				"login.network.example",
				"http://login.network.example",
				"https://me:pass@login.network.example",
				"https://login.network.example/?realm=network",
			],
			/^Name must be the https: address of an OpenID Connect provider, such as .*, not "/,
			PROVIDER,
		],
		[
			"RINGBACK_OIDC_ISSUER",
			["https://login.network.example"],
			/^RINGBACK_OIDC_CLIENT_ID is needed with RINGBACK_OIDC_ISSUER\. Register this service/,
			{ RINGBACK_OIDC_CLIENT_SECRET: PASSWORD },
		],
		[
			"RINGBACK_OIDC_ISSUER",
			["https://login.network.example"],
			/^RINGBACK_OIDC_CLIENT_SECRET is needed with RINGBACK_OIDC_ISSUER/,
			{ RINGBACK_OIDC_CLIENT_ID: "ringback" },
		],
		["RINGBACK_OIDC_CLIENT_ID", ["ringback"], /^Name is set, but RINGBACK_OIDC_ISSUER is not\./],
		["RINGBACK_OIDC_CLIENT_SECRET", [PASSWORD], /^Name is set, but RINGBACK_OIDC_ISSUER is not\./],
		["RINGBACK_OIDC_LABEL", ["Sign in"], /^Name is set, but RINGBACK_OIDC_ISSUER is not\./],
		["RINGBACK_OIDC_LABEL", ["a".repeat(61)], /^Name must be a text of at most 60 characters, /, PROVIDER],
		["RINGBACK_OIDC_FOR", ["everyone"], /^Name is set, but RINGBACK_OIDC_ISSUER is not\./],
		["RINGBACK_OIDC_FOR", ["shops"], /^Name must be one of staff, everyone, not "shops"\.$/, PROVIDER],
		["RINGBACK_OIDC_STAFF", ["required"], /^Name is set, but RINGBACK_OIDC_ISSUER is not\./],
		["RINGBACK_OIDC_STAFF", ["yes"], /^Name must be one of optional, required, not "yes"\.$/, PROVIDER],
		[
			"RINGBACK_OIDC_STAFF",
			["required"],
			/^RINGBACK_STAFF_AUTHENTICATOR must not be required with RINGBACK_OIDC_STAFF=required\. /,
			{ ...PROVIDER, RINGBACK_STAFF_AUTHENTICATOR: "required" },
		],
		["RINGBACK_ACCESS_LOG", ["yes"], /^Name must be one of on, off, not "yes"\.$/],
		["LOG_LEVEL", ["loud"], /^Name must be one of info, warn, error, silent, not "loud"\.$/],
		["RINGBACK_BRANT", ["Acme"], /^Name is not a setting\. Known are .*RINGBACK_BRAND/],
	];
	for (const [name, values, expected, others] of cases) {
		for (const value of values) {
			test(`${name}=${JSON.stringify(value)}`, () => {
				const problems = problemsOf({ ...others, [name]: value });
				matchOne(
					problems.map((problem) => problem.replace(new RegExp(`^${name}\\b`), "Name")),
					expected,
				);
			});
		}
	}

	test("every setting has a case except those that accept any text", () => {
		const anything = ["HOST"];
		const missing = ALL_SETTINGS.filter(({ name }) => cases.every(([other]) => other !== name));
		deepEqual(
			missing.map(({ name }) => name),
			anything,
		);
	});
});

test("all problems are reported at once", () => {
	// All of these settings accept any text, and so accept "!".
	const anything = ["HOST", "RINGBACK_OIDC_CLIENT_ID", "RINGBACK_OIDC_CLIENT_SECRET", "RINGBACK_OIDC_LABEL"];
	const all = [...ALL_SETTINGS.map(({ name }) => name), "RINGBACK_COLOUR"];
	const problems = problemsOf(Object.fromEntries(all.map((name) => [name, "!"])));
	deepEqual(namesIn(problems), all.filter((name) => !anything.includes(name)).toSorted());
});

test("an empty or blank value counts as missing, for every setting", () => {
	for (const blank of ["", "  "]) {
		const settings = ALL_SETTINGS.flatMap(({ name, isSecret }) =>
			isSecret ? [name, `${name}_FILE`] : [name],
		);
		deepEqual(configOf(Object.fromEntries(settings.map((name) => [name, blank]))), configOf({}));
	}
});

test("no problem repeats a password or a key", () => {
	const environments: readonly Environment[] = [
		{ SMTP_URL: `http://user:${PASSWORD}@mail.example`, MAIL_FROM: "x" },
		{ SMTP_URL: `smtp://user:${PASSWORD}@mail.example` },
		{ DATABASE_URL: `mysql://user:${PASSWORD}@db.example/ringback` },
		{ DATABASE_URL: `postgres://user:${PASSWORD}@[nonsense` },
		{ DATABASE_URL: `postgres://user:${PASSWORD}@db.example/ringback` },
		{ RINGBACK_DATABASE_DIRECT_URL: `http://user:${PASSWORD}@db.example/ringback` },
		{ RINGBACK_SECRET_KEY: PASSWORD },
	];
	for (const environment of environments) {
		const problems = problemsOf(environment).join("\n");
		ok(problems.length > 0);
		equal(problems.includes(PASSWORD), false, problems);
	}
});

test("the settings page names every setting, and which of them may be in a file", () => {
	const page = readFileSync(new URL("../docs/operations/settings.md", import.meta.url), "utf8");
	const documented = [...page.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name = ""]) => name);
	const missing = ALL_SETTINGS.filter(({ name }) => !documented.includes(name));
	deepEqual(missing, []);
	for (const { name, isSecret } of ALL_SETTINGS) equal(documented.includes(`${name}_FILE`), isSecret, name);
});

function configOf(environment: Environment): Config {
	const read = readConfig(environment);
	if (!read.ok) throw new Error(read.problems.join("\n"));
	return read.config;
}

function problemsOf(environment: Environment): readonly string[] {
	const read = readConfig(environment);
	return read.ok ? [] : read.problems;
}

function namesIn(problems: readonly string[]): string[] {
	return problems.map((problem) => problem.split(" ")[0] ?? "").toSorted();
}

function matchOne(problems: readonly string[], expected: RegExp): void {
	equal(problems.length, 1, problems.join("\n"));
	match(problems[0] ?? "", expected);
}

function writeFile(t: TestContext, text: string): string {
	const folder = mkdtempSync(join(tmpdir(), "ringback-config-"));
	t.after(() => rmSync(folder, { recursive: true }));
	const path = join(folder, "ca.pem");
	writeFileSync(path, text);
	return path;
}
