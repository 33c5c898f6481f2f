// Every setting: what it is when absent, what it takes, and what it says when it is wrong.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { makeCertificates } from "../demo/certificate.ts";
import { type Config, isStartedByNpm, readConfig, shopEnvironment } from "./config.ts";
import type { Environment } from "./config-reader.ts";
import { POSTGRES_DEFAULTS } from "./store/postgres-setting.ts";

const KEY = "0123456789abcdef".repeat(4);
const PASSWORD = "hunter2-do-not-print";
const POSTGRES = "postgres://ringback:secret@db.example:5432/ringback";
const DIRECT = "postgres://ringback:secret@server.example:5432/ringback";
const POOLED = { kind: "postgres", url: POSTGRES, directUrl: DIRECT } as const;

test("without any setting the service runs on this machine alone, on a file", () => {
	deepEqual(configOf({}), {
		environment: "development",
		host: "127.0.0.1",
		port: 8080,
		publicUrl: null,
		metricsAddress: { host: "127.0.0.1", port: 9464, isDefault: true },
		database: { kind: "sqlite", path: "data/ringback.db" },
		migrate: "auto",
		secretKey: null,
		brand: null,
		allowedPrivateRanges: [],
		trustedProxies: [],
		staffAuthenticator: "optional",
		trustedCa: null,
		dnsServers: null,
		smtpUrl: null,
		mailFrom: null,
		maxInFlightPerProgramme: 8,
		maxInFlight: 512,
		retentionDays: 180,
		archiving: { folder: null, conversionDays: null, auditDays: null },
		role: "all",
		accessLog: false,
		tracing: null,
		delivery: "on",
		drainMs: 0,
		logLevel: "info",
		serviceManager: null,
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
	test("takes what serving real shops takes, and drains for five seconds unless told otherwise", () => {
		const { environment, drainMs } = configOf(PRODUCTION);
		deepEqual([environment, drainMs], ["production", 5_000]);
		equal(configOf({ ...PRODUCTION, RINGBACK_DRAIN_SECONDS: "0" }).drainMs, 0);
	});

	test("lists all that is missing at once", () => {
		const problems = problemsOf({ RINGBACK_ENV: "production" });
		deepEqual(
			problems.map((problem) => problem.split(" ")[0]),
			["DATABASE_URL", "PUBLIC_URL", "SMTP_URL", "MAIL_FROM"],
		);
		for (const problem of problems) match(problem, /^\w+ is required with RINGBACK_ENV=production: /);
	});

	const cases: readonly [change: Environment, problem: RegExp][] = [
		[
			{ DATABASE_URL: undefined },
			/^DATABASE_URL is required .*: postgres:\/\/.*, or sqlite:PATH where a file on this machine is meant\.$/,
		],
		[{ DATABASE_URL: "mysql://db.example/x" }, /^DATABASE_URL must be sqlite:PATH or postgres:/],
		[{ PUBLIC_URL: "http://network.example" }, /^PUBLIC_URL must begin with https: .*a proxy with TLS/],
		[{ PUBLIC_URL: "network.example" }, /^PUBLIC_URL must be the address people open/],
		[{ SMTP_URL: undefined }, /^SMTP_URL is required /],
		[{ SMTP_URL: "mail.example" }, /^SMTP_URL must look like/],
		[{ MAIL_FROM: undefined }, /^MAIL_FROM is needed with SMTP_URL/],
		[
			{ RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8" },
			/^RINGBACK_ALLOWED_PRIVATE_RANGES must not be set with RINGBACK_ENV=production/,
		],
	];
	for (const [change, expected] of cases) {
		test(`says once what is wrong with ${JSON.stringify(change, (_, value) => value ?? null)}`, () => {
			const problems = problemsOf({ ...PRODUCTION, ...change });
			equal(problems.length, 1, problems.join("\n"));
			match(problems[0] ?? "", expected);
		});
	}
});

describe("a secret may be in a file", () => {
	const SECRETS = {
		DATABASE_URL: POSTGRES,
		RINGBACK_DATABASE_DIRECT_URL: DIRECT,
		RINGBACK_SECRET_KEY: KEY,
		SMTP_URL: `smtp://user:${PASSWORD}@mail.example`,
	} as const;
	const ALL: Environment = { ...SECRETS, MAIL_FROM: "rb@network.example" };

	for (const [name, value] of Object.entries(SECRETS)) {
		const fileName = `${name}_FILE`;

		test(`${fileName} says the same as ${name}, with or without a line break at its end`, (t) => {
			for (const end of ["", "\n", "\r\n"]) {
				const path = writeFile(t, `${value}${end}`);
				deepEqual(configOf({ ...ALL, [name]: undefined, [fileName]: path }), configOf(ALL));
			}
		});

		test(`${fileName} beside ${name} is a problem: nobody could say which is meant`, (t) => {
			const problems = problemsOf({ ...ALL, [fileName]: writeFile(t, value) });
			deepEqual(problems, [`${fileName} and ${name} are both set. Keep one of them.`]);
		});

		test(`${fileName} that leads to nothing, to a folder or to an empty file says so, once`, (t) => {
			const cases: readonly [path: string, problem: RegExp][] = [
				[
					"/nowhere/secret",
					/ names no file that can be read \(ENOENT\)\. .*a file that this account can read/,
				],
				[tmpdir(), / names no file that can be read \(EISDIR\)/],
				[writeFile(t, "\n"), / names a file that is empty\. /],
			];
			for (const [path, expected] of cases) {
				const [problem = "", ...more] = problemsOf({ ...ALL, [name]: undefined, [fileName]: path });
				match(problem, expected);
				ok(problem.startsWith(`${fileName} `));
				deepEqual(more, []);
			}
		});

		test(`${fileName} with the secret itself for a path does not repeat it`, () => {
			const problems = problemsOf({ ...ALL, [name]: undefined, [fileName]: value }).join("\n");
			match(problems, new RegExp(`^${fileName} names no file`));
			equal(problems.includes(value), false);
		});
	}
});

describe("a setting that looks like a misspelt DATABASE_URL stops the start", () => {
	for (const name of ["DATABASE_URI", "DATABASE", "DB_URL", "POSTGRES_URL", "DATABSE_URL", "database_url"]) {
		test(`${name}, while DATABASE_URL is not set`, () => {
			const problems = problemsOf({ [name]: POSTGRES });
			equal(problems.length, 1);
			match(
				problems[0] ?? "",
				new RegExp(
					`^${name} is not read, and DATABASE_URL is not set\\. .*DATABASE_URL=sqlite:data/ringback\\.db\\.$`,
				),
			);
			deepEqual(problemsOf({ [name]: "" }), [], "unset by a compose file");
			const chosen = { DATABASE_URL: "sqlite:x.db" };
			deepEqual(configOf({ ...chosen, [name]: POSTGRES }), configOf(chosen), "the right one wins");
		});
	}

	test("but not what psql reads, or what belongs to others", () => {
		const others = { PGHOST: "db.example", PGDATABASE: "x", TEST_DATABASE_URL: POSTGRES, MYSQL_URL: "x" };
		deepEqual(configOf(others), configOf({}));
	});
});

test("a process of npm's or npx's is known by what they set", () => {
	deepEqual([isStartedByNpm({ npm_lifecycle_event: "npx" }), isStartedByNpm({})], [true, false]);
});

describe("a good value is taken as it is meant", () => {
	const cases: readonly [title: string, environment: Environment, expected: Partial<Config>][] = [
		["HOST", { HOST: "0.0.0.0" }, { host: "0.0.0.0", publicUrl: null }],
		["an IPv6 HOST", { HOST: "::1", PORT: "81" }, { host: "::1", port: 81 }],
		["PORT", { PORT: "0" }, { port: 0 }],
		["the highest PORT", { PORT: "65535" }, { port: 65_535 }],
		["PUBLIC_URL", { PUBLIC_URL: "https://rb.example/" }, { publicUrl: "https://rb.example" }],
		[
			"RINGBACK_METRICS_ADDRESS",
			{ RINGBACK_METRICS_ADDRESS: "10.0.0.7:0" },
			{ metricsAddress: { host: "10.0.0.7", port: 0, isDefault: false } },
		],
		[
			"an IPv6 RINGBACK_METRICS_ADDRESS",
			{ RINGBACK_METRICS_ADDRESS: "[::1]:9464" },
			{ metricsAddress: { host: "::1", port: 9464, isDefault: false } },
		],
		["no metrics at all", { RINGBACK_METRICS_ADDRESS: "off" }, { metricsAddress: null }],
		["a SQLite path", { DATABASE_URL: "sqlite:/x/y.db" }, { database: { kind: "sqlite", path: "/x/y.db" } }],
		[
			"PostgreSQL with its key",
			{ DATABASE_URL: POSTGRES, RINGBACK_SECRET_KEY: KEY },
			{
				database: { kind: "postgres", url: POSTGRES, ...POSTGRES_DEFAULTS },
				secretKey: Buffer.from(KEY, "hex"),
			},
		],
		[
			"PostgreSQL behind a pooler: no statements by name unless told",
			{ DATABASE_URL: POSTGRES, RINGBACK_SECRET_KEY: KEY, RINGBACK_DATABASE_DIRECT_URL: DIRECT },
			{ database: { ...POOLED, poolSize: 10, preparesStatements: false } },
		],
		[
			"a pooler that keeps statements apart, and a larger pool",
			{
				DATABASE_URL: POSTGRES,
				RINGBACK_SECRET_KEY: KEY,
				RINGBACK_DATABASE_DIRECT_URL: DIRECT,
				RINGBACK_DATABASE_POOL: "40",
				RINGBACK_PREPARED_STATEMENTS: "on",
			},
			{ database: { ...POOLED, poolSize: 40, preparesStatements: true } },
		],
		["a key in capitals", { RINGBACK_SECRET_KEY: KEY.toUpperCase() }, { secretKey: Buffer.from(KEY, "hex") }],
		["RINGBACK_BRAND", { RINGBACK_BRAND: "Acme-2" }, { brand: "Acme-2" }],
		[
			"name servers with and without a port",
			{ RINGBACK_DNS_SERVERS: "192.0.2.1, 192.0.2.2:5353 ,2001:db8::1,[2001:db8::2]:53" },
			{ dnsServers: ["192.0.2.1", "192.0.2.2:5353", "2001:db8::1", "[2001:db8::2]:53"] },
		],
		[
			"SMTP_URL with MAIL_FROM",
			{ SMTP_URL: "smtps://u:p@mail.example:465", MAIL_FROM: "Ringback <rb@network.example>" },
			{ smtpUrl: "smtps://u:p@mail.example:465", mailFrom: "Ringback <rb@network.example>" },
		],
		[
			"RINGBACK_MAX_IN_FLIGHT_PER_PROGRAMME",
			{ RINGBACK_MAX_IN_FLIGHT_PER_PROGRAMME: "1000" },
			{ maxInFlightPerProgramme: 1_000 },
		],
		["RINGBACK_MAX_IN_FLIGHT", { RINGBACK_MAX_IN_FLIGHT: "1" }, { maxInFlight: 1 }],
		["RINGBACK_RETENTION_DAYS", { RINGBACK_RETENTION_DAYS: "7" }, { retentionDays: 7 }],
		["RINGBACK_MIGRATE", { RINGBACK_MIGRATE: "check" }, { migrate: "check" }],
		[
			"RINGBACK_CONVERSION_RETENTION_DAYS",
			{ RINGBACK_CONVERSION_RETENTION_DAYS: "180", RINGBACK_ARCHIVE_FOLDER: "/var/archive" },
			{ archiving: { folder: "/var/archive", conversionDays: 180, auditDays: null } },
		],
		[
			"RINGBACK_AUDIT_RETENTION_DAYS",
			{ RINGBACK_AUDIT_RETENTION_DAYS: "30", RINGBACK_ARCHIVE_FOLDER: "archive" },
			{ archiving: { folder: "archive", conversionDays: null, auditDays: 30 } },
		],
		["RINGBACK_DRAIN_SECONDS", { RINGBACK_DRAIN_SECONDS: "300" }, { drainMs: 300_000 }],
		["RINGBACK_ROLE", { RINGBACK_ROLE: "worker" }, { role: "worker" }],
		["RINGBACK_DELIVERY", { RINGBACK_DELIVERY: "paused" }, { delivery: "paused" }],
		[
			"RINGBACK_STAFF_AUTHENTICATOR",
			{ RINGBACK_STAFF_AUTHENTICATOR: "required" },
			{ staffAuthenticator: "required" },
		],
		["RINGBACK_ACCESS_LOG", { RINGBACK_ACCESS_LOG: "on" }, { accessLog: true }],
		["LOG_LEVEL", { LOG_LEVEL: "silent" }, { logLevel: "silent" }],
		["space around a value", { PORT: " 81 " }, { port: 81 }],
	];
	for (const [title, environment, expected] of cases) {
		test(title, () => deepEqual({ ...configOf(environment), ...expected }, configOf(environment)));
	}

	test("RINGBACK_ALLOWED_PRIVATE_RANGES", () => {
		const { allowedPrivateRanges } = configOf({ RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8, fd00::/8," });
		deepEqual(
			allowedPrivateRanges.map(({ text }) => text),
			["127.0.0.0/8", "fd00::/8"],
		);
	});

	test("RINGBACK_TRUSTED_PROXIES", () => {
		const { trustedProxies } = configOf({ RINGBACK_TRUSTED_PROXIES: "127.0.0.1, 10.0.0.0/24" });
		deepEqual(
			trustedProxies.map(({ text, prefixBits }) => [text, prefixBits]),
			[
				["127.0.0.1", 32],
				["10.0.0.0/24", 24],
			],
		);
	});

	test("RINGBACK_TRUSTED_CA", async (t) => {
		const { caPem } = await makeCertificates({ names: ["localhost"] });
		equal(configOf({ RINGBACK_TRUSTED_CA: writeFile(t, caPem) }).trustedCa, caPem);
	});
});

test("what a shop's commands read is nothing the service complains about, and is handed to them alone", () => {
	const shops = {
		RINGBACK_URL: "x",
		RINGBACK_API_KEY: "rbk_1",
		RINGBACK_API_KEY_FILE: "/run/secrets/key",
		RINGBACK_SIGNING_SECRET: PASSWORD,
		RINGBACK_SIGNING_SECRET_FILE: "/run/secrets/secret",
	};
	deepEqual(configOf(shops), configOf({}));
	deepEqual(shopEnvironment({ ...shops, RINGBACK_BRAND: "Acme", RINGBACK_SECRET_KEY: KEY, PATH: "/bin" }), {
		...shops,
		RINGBACK_BRAND: "Acme",
		NO_COLOR: undefined,
	});
});

describe("a wrong value is one problem that names the setting and says what it takes", () => {
	const cases: readonly [environment: Environment, problem: RegExp][] = [
		[{ PORT: "65536" }, /^PORT must be a whole number from 0 to 65535, not "65536"\.$/],
		[{ PORT: "-1" }, /^PORT must be .*not "-1"/],
		[{ PORT: "80.5" }, /^PORT must be .*not "80\.5"/],
		[{ PORT: "http" }, /^PORT must be .*not "http"/],
		[{ PUBLIC_URL: "ringback.example" }, /^PUBLIC_URL must be .*https:\/\/ringback\.example/],
		[{ PUBLIC_URL: "ftp://ringback.example" }, /^PUBLIC_URL must be/],
		[{ PUBLIC_URL: "https://ringback.example/?a=b" }, /^PUBLIC_URL must be/],
		[
			{ PUBLIC_URL: "https://a.example/rb" },
			/^PUBLIC_URL must be .*without a path, not "https:.*a host name or a port of its own/,
		],
		[{ PUBLIC_URL: "https://a.example//" }, /^PUBLIC_URL must be .*without a path/],
		[{ PUBLIC_URL: "https://me:pass@a.example" }, /^PUBLIC_URL must be/],
		[{ PUBLIC_URL: "https://ringback.example/#top" }, /^PUBLIC_URL must be/],
		[
			{ RINGBACK_METRICS_ADDRESS: "9464" },
			/^RINGBACK_METRICS_ADDRESS must be an address and a port, such as 127\.0\.0\.1:9464 .*or off, not "9464"\.$/,
		],
		[{ RINGBACK_METRICS_ADDRESS: "127.0.0.1:65536" }, /^RINGBACK_METRICS_ADDRESS must be/],
		[{ RINGBACK_METRICS_ADDRESS: "::1:9464" }, /^RINGBACK_METRICS_ADDRESS must be/],
		[{ RINGBACK_METRICS_ADDRESS: "http://127.0.0.1:9464" }, /^RINGBACK_METRICS_ADDRESS must be/],
		[{ DATABASE_URL: "mysql://db.example/ringback" }, /^DATABASE_URL must be sqlite:PATH or postgres:/],
		[{ DATABASE_URL: "sqlite:" }, /^DATABASE_URL must be sqlite:PATH/],
		[{ DATABASE_URL: "sqlite::memory:" }, /^DATABASE_URL must name a file/],
		[
			{ DATABASE_URL: "postgres://[nonsense", RINGBACK_SECRET_KEY: KEY },
			/^DATABASE_URL is not a valid Postgre/,
		],
		[{ DATABASE_URL: POSTGRES }, /^RINGBACK_SECRET_KEY is required with PostgreSQL.*openssl rand -hex 32$/],
		[
			{ RINGBACK_DATABASE_POOL: "1" },
			/^RINGBACK_DATABASE_POOL must be a whole number from 2 to 500, not "1"/,
		],
		[
			{ RINGBACK_PREPARED_STATEMENTS: "yes" },
			/^RINGBACK_PREPARED_STATEMENTS must be one of on, off, not "yes"\.$/,
		],
		[
			{ RINGBACK_DATABASE_DIRECT_URL: "server.example:5432" },
			/^RINGBACK_DATABASE_DIRECT_URL must be the address of the PostgreSQL server itself, postgres:/,
		],
		[
			{ RINGBACK_DATABASE_DIRECT_URL: DIRECT },
			/^RINGBACK_DATABASE_DIRECT_URL is set, but DATABASE_URL names no PostgreSQL\.$/,
		],
		[{ RINGBACK_SECRET_KEY: KEY.slice(1) }, /^RINGBACK_SECRET_KEY must be 64 hex digits.*openssl/],
		[{ RINGBACK_SECRET_KEY: "g".repeat(64) }, /^RINGBACK_SECRET_KEY must be 64 hex digits/],
		[{ RINGBACK_BRAND: "Two words" }, /^RINGBACK_BRAND must be 1 to 31 letters/],
		[{ RINGBACK_BRAND: "2Brand" }, /^RINGBACK_BRAND must be .* start with a letter/],
		[{ RINGBACK_BRAND: "a".repeat(32) }, /^RINGBACK_BRAND must be 1 to 31/],
		[{ RINGBACK_BRAND: "A\r\nX-Evil: 1" }, /^RINGBACK_BRAND must be/],
		[
			{ RINGBACK_ALLOWED_PRIVATE_RANGES: "10.0.0.0/8,everything" },
			/^RINGBACK_ALLOWED_PRIVATE_RANGES has "everything", which is no CIDR range/,
		],
		[
			{ RINGBACK_TRUSTED_PROXIES: "my-proxy" },
			/^RINGBACK_TRUSTED_PROXIES has "my-proxy", which is no CIDR range/,
		],
		[{ RINGBACK_TRUSTED_CA: "/nowhere/ca.pem" }, /^RINGBACK_TRUSTED_CA names \/nowhere\/ca\.pem, .* read\.$/],
		[{ RINGBACK_DNS_SERVERS: "ns.example" }, /^RINGBACK_DNS_SERVERS has "ns\.example", which is no address/],
		[{ RINGBACK_DNS_SERVERS: "192.0.2.1,192.0.2.2:99999" }, /^RINGBACK_DNS_SERVERS has "192\.0\.2\.2:99999"/],
		[{ RINGBACK_DNS_SERVERS: "[2001:db8::1" }, /^RINGBACK_DNS_SERVERS has "\[2001:db8::1"/],
		[{ RINGBACK_DNS_SERVERS: "," }, /^RINGBACK_DNS_SERVERS /],
		[{ SMTP_URL: "mail.example:587", MAIL_FROM: "a@b.example" }, /^SMTP_URL must look like smtp:/],
		[{ SMTP_URL: "https://mail.example", MAIL_FROM: "a@b.example" }, /^SMTP_URL must look like smtp:/],
		[{ SMTP_URL: "smtp://", MAIL_FROM: "a@b.example" }, /^SMTP_URL must look like smtp:/],
		[{ SMTP_URL: "smtp://mail.example" }, /^MAIL_FROM is needed with SMTP_URL/],
		[{ MAIL_FROM: "Ringback" }, /^MAIL_FROM must be an address .*not "Ringback"/],
		[{ MAIL_FROM: "a@b.example\r\nBcc: c@d.example" }, /^MAIL_FROM must be an address/],
		[
			{ RINGBACK_MAX_IN_FLIGHT_PER_PROGRAMME: "0" },
			/^RINGBACK_MAX_IN_FLIGHT_PER_PROGRAMME must be .* 1 to 1000,/,
		],
		[{ RINGBACK_MAX_IN_FLIGHT: "10001" }, /^RINGBACK_MAX_IN_FLIGHT must be .* 1 to 10000,/],
		[{ RINGBACK_RETENTION_DAYS: "6" }, /^RINGBACK_RETENTION_DAYS must be .* 7 to 36500,/],
		[{ RINGBACK_MIGRATE: "never" }, /^RINGBACK_MIGRATE must be one of auto, check, not "never"\.$/],
		[
			{ RINGBACK_CONVERSION_RETENTION_DAYS: "179", RINGBACK_ARCHIVE_FOLDER: "x" },
			/^RINGBACK_CONVERSION_RETENTION_DAYS must not be less than RINGBACK_RETENTION_DAYS, which is 180\.$/,
		],
		[
			{ RINGBACK_AUDIT_RETENTION_DAYS: "29", RINGBACK_ARCHIVE_FOLDER: "x" },
			/^RINGBACK_AUDIT_RETENTION_DAYS must be .* 30 to 36500,/,
		],
		[{ RINGBACK_CONVERSION_RETENTION_DAYS: "900" }, /^RINGBACK_ARCHIVE_FOLDER is needed with /],
		[{ RINGBACK_AUDIT_RETENTION_DAYS: "900" }, /^RINGBACK_ARCHIVE_FOLDER is needed with /],
		[{ RINGBACK_ARCHIVE_FOLDER: "x" }, /^RINGBACK_ARCHIVE_FOLDER has no use without /],
		[{ RINGBACK_ENV: "prod" }, /^RINGBACK_ENV must be one of development, production, not "prod"\.$/],
		[{ RINGBACK_DRAIN_SECONDS: "301" }, /^RINGBACK_DRAIN_SECONDS must be .* 0 to 300,/],
		[{ RINGBACK_ROLE: "boss" }, /^RINGBACK_ROLE must be one of all, web, worker, not "boss"\.$/],
		[
			{ RINGBACK_STAFF_AUTHENTICATOR: "yes" },
			/^RINGBACK_STAFF_AUTHENTICATOR must be one of optional, required, not "yes"\.$/,
		],
		[{ RINGBACK_ACCESS_LOG: "yes" }, /^RINGBACK_ACCESS_LOG must be one of on, off, not "yes"\.$/],
		[{ RINGBACK_DELIVERY: "off" }, /^RINGBACK_DELIVERY must be one of on, paused, not "off"\.$/],
		[{ LOG_LEVEL: "loud" }, /^LOG_LEVEL must be one of info, warn, error, silent, not "loud"\.$/],
		[{ RINGBACK_BRANT: "Acme" }, /^RINGBACK_BRANT is not a setting\. Known are .*RINGBACK_BRAND/],
	];
	for (const [environment, expected] of cases) {
		test(JSON.stringify(environment), () => {
			const problems = problemsOf(environment);
			equal(problems.length, 1, problems.join("\n"));
			match(problems[0] ?? "", expected);
		});
	}

	test("a RINGBACK_TRUSTED_CA that holds no certificate, or a damaged one", async (t) => {
		const { caPem } = await makeCertificates({ names: ["localhost"] });
		const damaged = caPem.replace(/\n.{20}/, "\nAAAA");
		for (const text of ["no certificate at all", damaged, ""]) {
			const [problem = "", ...more] = problemsOf({ RINGBACK_TRUSTED_CA: writeFile(t, text) });
			match(problem, /^RINGBACK_TRUSTED_CA names .*, which holds no PEM certificate\.$/);
			deepEqual(more, []);
		}
	});
});

test("everything that is wrong is reported at once", () => {
	const names = problemsOf({
		PORT: "x",
		PUBLIC_URL: "x",
		DATABASE_URL: "x",
		RINGBACK_SECRET_KEY: "x",
		RINGBACK_BRAND: "!",
		RINGBACK_ALLOWED_PRIVATE_RANGES: "x,y",
		RINGBACK_TRUSTED_CA: "/nowhere",
		RINGBACK_TRUSTED_PROXIES: "x",
		RINGBACK_DNS_SERVERS: "x",
		SMTP_URL: "x",
		MAIL_FROM: "x",
		RINGBACK_MAX_IN_FLIGHT_PER_PROGRAMME: "x",
		RINGBACK_MAX_IN_FLIGHT: "x",
		RINGBACK_RETENTION_DAYS: "x",
		RINGBACK_ROLE: "x",
		LOG_LEVEL: "x",
		RINGBACK_COLOUR: "x",
	}).map((problem) => problem.split(" ")[0]);
	deepEqual(names.toSorted(), [
		"DATABASE_URL",
		"LOG_LEVEL",
		"MAIL_FROM",
		"PORT",
		"PUBLIC_URL",
		"RINGBACK_ALLOWED_PRIVATE_RANGES",
		"RINGBACK_ALLOWED_PRIVATE_RANGES",
		"RINGBACK_BRAND",
		"RINGBACK_COLOUR",
		"RINGBACK_DNS_SERVERS",
		"RINGBACK_MAX_IN_FLIGHT",
		"RINGBACK_MAX_IN_FLIGHT_PER_PROGRAMME",
		"RINGBACK_RETENTION_DAYS",
		"RINGBACK_ROLE",
		"RINGBACK_SECRET_KEY",
		"RINGBACK_TRUSTED_CA",
		"RINGBACK_TRUSTED_PROXIES",
		"SMTP_URL",
	]);
});

test("an empty or blank value counts as absent, for every setting", () => {
	for (const blank of ["", "  "]) {
		deepEqual(configOf(Object.fromEntries(readSettings().map((name) => [name, blank]))), configOf({}));
	}
});

test("other people's variables, and those of our own test runs, are not our concern", () => {
	deepEqual(configOf({ RINGBACK_TEST_POSTGRES_URL: "x", RINGBACKISH: "x", PATH: "/bin" }), configOf({}));
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

test("the operations guide lists exactly the settings that are read", () => {
	const page = readFileSync(new URL("../docs/operations/settings.md", import.meta.url), "utf8");
	const documented = [...page.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name);
	deepEqual(documented.toSorted(), readSettings().toSorted());
});

/** The names that readConfig asks for: every one it reads is a property of the environment it was given. */
function readSettings(): string[] {
	const asked = new Set<string>();
	const spy = new Proxy<Environment>(
		{},
		{
			get(_target, name) {
				asked.add(String(name));
				return undefined;
			},
		},
	);
	readConfig(spy);
	return [...asked];
}

function configOf(environment: Environment): Config {
	const read = readConfig(environment);
	if (!read.ok) throw new Error(read.problems.join("\n"));
	return read.config;
}

function problemsOf(environment: Environment): readonly string[] {
	const read = readConfig(environment);
	return read.ok ? [] : read.problems;
}

function writeFile(t: TestContext, text: string): string {
	const folder = mkdtempSync(join(tmpdir(), "ringback-config-"));
	t.after(() => rmSync(folder, { recursive: true }));
	const path = join(folder, "ca.pem");
	writeFileSync(path, text);
	return path;
}
